//! How much memory rows may take, and where those go that do not fit.

use crate::project::Project;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// What is taken where nobody said how much, and the system does not tell what is free.
const OTHERWISE: u64 = 2_000_000_000;

/// How much memory rows may take, and where those go that do not fit.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    /// All of it, in bytes. Half of it is for rows that wait, the other half for reading and for the part that is being summed up.
    pub bytes: u64,
    /// Folders for the temporary file, the first that can be written to.
    pub folders: Vec<PathBuf>,
    /// The temporary file is as large as this at most: for tests of a full disk.
    #[cfg(test)]
    pub disk: u64,
}

impl Default for Memory {
    fn default() -> Self {
        Self {
            bytes: OTHERWISE,
            folders: vec![std::env::temp_dir()],
            #[cfg(test)]
            disk: u64::MAX,
        }
    }
}

impl Memory {
    /// As the project says, or half of what is free; temporary files stand beside the ledger, which is a folder that can be written to and where
    /// there is room, or else where the system has them (which is often memory).
    pub fn of(project: &Project) -> Self {
        let beside = project.ledger().parent().map_or_else(PathBuf::new, Path::to_path_buf);
        let beside = if beside.as_os_str().is_empty() { PathBuf::from(".") } else { beside };
        Self {
            bytes: project.memory.unwrap_or_else(|| free().map_or(OTHERWISE, |free| free / 2)),
            folders: vec![beside, std::env::temp_dir()],
            #[cfg(test)]
            disk: u64::MAX,
        }
    }

    /// How many bytes each of this many parts may hold.
    pub fn share(&self, parts: usize) -> usize {
        usize::try_from(self.bytes / 2 / parts as u64).unwrap_or(usize::MAX)
    }
}

/// How much memory is free, as Linux tells it: of the machine, or of the group of processes that this one is in, whichever is less.
fn free() -> Option<u64> {
    let machine = available(&read_to_string("/proc/meminfo").ok()?)?;
    let number = |name: &str| read_to_string(format!("/sys/fs/cgroup/memory.{name}")).ok()?.trim().parse::<u64>().ok();
    match (number("max"), number("current")) {
        (Some(most), Some(taken)) => Some(machine.min(most.saturating_sub(taken))),
        _ => Some(machine),
    }
}

/// `MemAvailable`, in bytes.
fn available(meminfo: &str) -> Option<u64> {
    let line = meminfo.lines().find_map(|line| line.strip_prefix("MemAvailable:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_linux_tells_is_read() {
        let told = "MemTotal:       24593220 kB\nMemFree:        21590892 kB\nMemAvailable:   23077508 kB\n";
        assert_eq!(available(told), Some(23_077_508 * 1024));
        assert_eq!(available("MemTotal: 1 kB\n"), None);
        #[cfg(target_os = "linux")]
        assert!(free().is_some_and(|bytes| bytes > 1_000_000));
    }
}
