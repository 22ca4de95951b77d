//! What is not left behind when somebody presses Ctrl-C: temporary folders, and the runs of a command.

use crate::failure::say;
use std::collections::BTreeSet;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};
use std::sync::{Mutex, MutexGuard, Once, PoisonError};

static FOLDERS: Mutex<BTreeSet<PathBuf>> = Mutex::new(BTreeSet::new());
static GROUPS: Mutex<BTreeSet<u32>> = Mutex::new(BTreeSet::new());

/// The status of a program that Ctrl-C has ended, as shells have it.
const STATUS: i32 = 130;

/// A temporary folder that goes with its value, and with the program.
pub struct ScratchFolder(tempfile::TempDir);

impl ScratchFolder {
    /// One in memory where the machine has a place for that: what is written there need not outlive anything.
    pub fn new() -> std::io::Result<Self> {
        watch();
        let mut builder = tempfile::Builder::new();
        builder.prefix("scumble-");
        let folder = builder.tempdir_in("/dev/shm").or_else(|_| builder.tempdir())?;
        locked(&FOLDERS).insert(folder.path().to_path_buf());
        Ok(Self(folder))
    }

    /// Where it is.
    pub fn path(&self) -> &Path {
        self.0.path()
    }
}

impl Drop for ScratchFolder {
    fn drop(&mut self) {
        locked(&FOLDERS).remove(self.0.path());
    }
}

/// A group of processes that is ended with the program.
pub struct ProcessGroup(u32);

impl ProcessGroup {
    /// The group of a process that was started as the first of one.
    pub fn of(process: u32) -> Self {
        watch();
        locked(&GROUPS).insert(process);
        Self(process)
    }

    /// Ends all of it.
    pub fn stop(&self) {
        kill(self.0);
    }
}

impl Drop for ProcessGroup {
    fn drop(&mut self) {
        locked(&GROUPS).remove(&self.0);
    }
}

fn kill(group: u32) {
    let group = format!("-{group}");
    let _ = Command::new("kill").args(["-9", "--", &group]).stdout(Stdio::null()).stderr(Stdio::null()).status();
}

fn locked<T>(one: &Mutex<T>) -> MutexGuard<'_, T> {
    one.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Waits for Ctrl-C (and for SIGTERM) on a thread of its own, from the first call on. Where no thread can be had, the
/// program ends as any other does.
fn watch() {
    static ONCE: Once = Once::new();
    ONCE.call_once(|| {
        let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_all().build() else { return };
        // Listening begins here and not in the thread, so that nothing is missed that comes at once.
        let signals = {
            let _inside = runtime.enter();
            stop_signal()
        };
        std::thread::spawn(move || {
            runtime.block_on(signals);
            locked(&GROUPS).iter().for_each(|group| kill(*group));
            for folder in locked(&FOLDERS).iter() {
                let _ = std::fs::remove_dir_all(folder);
            }
            say("interrupted: nothing is left behind");
            std::process::exit(STATUS);
        });
    });
}

/// More than are opened to hear a signal.
#[cfg(unix)]
const SPARE_FILES: usize = 8;

/// A file that is longer than the system lets files be ends a process by a signal, in the middle of its work. With
/// somebody who hears the signal, writing fails instead, and that is said in a sentence.
pub fn outlive_long_files() {
    #[cfg(unix)]
    {
        use tokio::signal::unix::{SignalKind, signal};
        // Where there are hardly any files to be had, listening is a panic.
        let spare: Result<Vec<_>, _> = (0..SPARE_FILES).map(|_| std::fs::File::open("/dev/null")).collect();
        if spare.map(drop).is_err() {
            return;
        }
        let kind = SignalKind::from_raw(rustix::process::Signal::XFSZ.as_raw());
        if let Ok(runtime) = tokio::runtime::Builder::new_current_thread().enable_io().build() {
            // The handler stays for as long as the process does.
            drop(runtime.block_on(async { signal(kind) }));
        }
    }
}

/// Ends with the first signal that asks the program to stop. Listens from the call on, not from the first poll on.
#[cfg(unix)]
fn stop_signal() -> impl Future<Output = ()> {
    use tokio::signal::unix::{Signal, SignalKind, signal};
    let [interrupt, terminate] = [SignalKind::interrupt(), SignalKind::terminate()].map(|kind| signal(kind).ok());
    let one = |signal: Option<Signal>| async {
        match signal {
            Some(mut signal) => drop(signal.recv().await),
            None => std::future::pending().await,
        }
    };
    async move {
        tokio::select! { () = one(interrupt) => {}, () = one(terminate) => {} }
    }
}

/// Ends with the first signal that asks the program to stop.
#[cfg(not(unix))]
fn stop_signal() -> impl Future<Output = ()> {
    async { drop(tokio::signal::ctrl_c().await) }
}
