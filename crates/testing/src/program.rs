//! A program that is run as users run it, and what its output must be.

use std::io::Write;
use std::process::{Command, Output, Stdio};

/// Runs the command with this document on its standard input.
pub fn run_on(command: &mut Command, document: &str) -> Output {
    let piped = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped());
    let mut child = piped.spawn().unwrap();
    // A refusal may come before all of the input is read.
    let _ = child.stdin.take().unwrap().write_all(document.as_bytes());
    child.wait_with_output().unwrap()
}

/// What a run that must have succeeded printed.
pub fn printed(output: Output) -> String {
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    String::from_utf8(output.stdout).unwrap()
}

/// A run that must have been refused with this status, in one sentence with these words, with nothing on stdout; gives
/// the sentence.
pub fn refused(output: &Output, status: i32, words: &str) -> String {
    let sentence = String::from_utf8_lossy(&output.stderr).into_owned();
    assert_eq!(output.status.code(), Some(status), "{sentence}");
    assert!(output.stdout.is_empty(), "{sentence}");
    assert!(sentence.contains(words), "said: {sentence}\n not: {words}");
    assert_eq!(sentence.trim_end().lines().count(), 1, "{sentence}");
    sentence
}
