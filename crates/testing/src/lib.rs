//! What tests of several crates share. It knows the core and no other crate, so that the engine's own unit tests can
//! use it; what needs a project or the program stands beside the tests of the engine (`tests/support`) and of the
//! program (`tests/it/support.rs`).

mod folder;
pub mod golden;
#[cfg(unix)]
pub mod killer;
pub mod laws;
pub mod other_engines;
pub mod postgres;
pub mod program;
pub mod projects;
pub mod tables;

pub use folder::Folder;

/// How much a test does: `few` for a reader who wants to see the tests pass in minutes, `many` where `SCUMBLE_THOROUGH`
/// is set, as in `.ci/run --thorough`.
pub fn effort<T>(few: T, many: T) -> T {
    if std::env::var_os("SCUMBLE_THOROUGH").is_some() { many } else { few }
}
