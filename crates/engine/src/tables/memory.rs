//! How much memory rows may take, and where those go that do not fit.

use crate::project::Project;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

/// The default where the system does not report its free memory.
const OTHERWISE: u64 = 2_000_000_000;
/// With less than this, a file would be written to for every few rows: better to try.
const LEAST_FREE: u64 = 256_000_000;

/// About what the program takes before it has read a row, but no more than half of all.
const OWN: u64 = 150_000_000;

/// How much memory rows may take, and where those go that do not fit.
#[derive(Debug, Clone)]
pub(crate) struct Memory {
    /// All of it, in bytes. Of what the program does not need itself ([`OWN`]), two fifths are for rows that wait (and
    /// for a chunk of each part that is not full yet), the rest is for reading and for the part that is being summed
    /// up.
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
    /// As the project says, or half of what is free; temporary files stand beside the ledger, which is a folder that
    /// can be written to and where there is room, or else where the system has them (which is often memory).
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
        let rows = self.bytes - OWN.min(self.bytes / 2);
        usize::try_from(rows / 5 * 2 / parts as u64).unwrap_or(usize::MAX)
    }
}

/// How much memory is free, as Linux tells it: of the machine, or of the group of processes that this one is in,
/// whichever is less.
fn free() -> Option<u64> {
    let machine = available(&read_to_string("/proc/meminfo").ok()?)?;
    let told = |name: &str| read_to_string(format!("/sys/fs/cgroup/memory.{name}")).unwrap_or_default();
    let group = left(&told("max"), &told("current"), &told("stat"));
    Some(group.map_or(machine, |group| machine.min(group)).max(LEAST_FREE))
}

/// What a group of processes may still take: what it has not, and what it has of files that it read and does not use.
fn left(max: &str, current: &str, stat: &str) -> Option<u64> {
    let number = |text: &str| text.trim().parse::<u64>().ok();
    let files = stat.lines().find_map(|line| number(line.strip_prefix("inactive_file ")?)).unwrap_or(0);
    Some(number(max)?.saturating_sub(number(current)?.saturating_sub(files)))
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
        let stat = "anon 5\nfile 700\ninactive_file 600\nactive_file 100\n";
        assert_eq!(left("1000\n", "900\n", stat), Some(700));
        assert_eq!((left("max\n", "900\n", stat), left("1000\n", "", stat)), (None, None));
        assert_eq!((left("1000\n", "300\n", stat), left("500\n", "900\n", "")), (Some(1000), Some(0)));
        #[cfg(target_os = "linux")]
        assert!(free().is_some_and(|bytes| bytes > 1_000_000));
    }
}
