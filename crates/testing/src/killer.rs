//! Kills a process at a single system call. The library that does it is written in C and loaded before the program.

use std::fs;
use std::os::unix::process::ExitStatusExt;
use std::path::{Path, PathBuf};
use std::process::{Command, ExitStatus};
use std::sync::OnceLock;

/// The library, compiled once for a test's process; `None` where there is no C compiler.
pub fn killer() -> Option<&'static Path> {
    static KEPT: OnceLock<Option<(tempfile::TempDir, PathBuf)>> = OnceLock::new();
    let made = KEPT.get_or_init(|| {
        let folder = tempfile::tempdir().unwrap();
        let (source, library) = (folder.path().join("killer.c"), folder.path().join("killer.so"));
        fs::write(&source, include_str!("killer.c")).unwrap();
        let compiled = Command::new("cc")
            .args(["-shared", "-fPIC", "-O1", "-w", "-U_FORTIFY_SOURCE", "-o"])
            .args([&library, &source])
            .arg("-ldl")
            .output();
        if !compiled.is_ok_and(|output| output.status.success()) {
            eprintln!("NOT TESTED: no C compiler, so nothing is killed at single system calls");
            return None;
        }
        Some((folder, library))
    });
    made.as_ref().map(|(_, library)| library.as_path())
}

/// Has this command killed at its n-th call that changes a file or sends a message; at none for 0.
pub fn killed_at(command: &mut Command, call: u64) -> &mut Command {
    if let Some(killer) = killer() {
        command.env("LD_PRELOAD", killer).env("KILL_AT", call.to_string());
    }
    command
}

/// Whether a process ended by being killed.
pub fn was_killed(status: ExitStatus) -> bool {
    status.signal() == Some(9)
}
