//! Room on the stack for what calls itself as often as a query is deep: the parser, the planner, and whatever prints,
//! copies or drops what they make.
//!
//! A stack that overflows ends the process, and no handler catches that. So two things hold together: [`crate::sql`]
//! refuses a text whose parse could be deeper than its limits, before it is parsed, and what is within the limits runs
//! where there is room for it, whatever thread asks.

/// Room for the deepest query that is parsed at all. A debug build takes up to 100 KB for a level of it; only what is
/// touched takes memory.
const ROOM: usize = 256 << 20;

/// Runs work on a stack of its own.
pub fn with_room<T>(work: impl FnOnce() -> T) -> T {
    stacker::grow(ROOM, work)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Calls itself with a kilobyte for each level.
    fn deep(levels: usize) -> usize {
        let held = std::hint::black_box([levels as u8; 1024]);
        if levels == 0 { 0 } else { deep(levels - 1) + usize::from(held[levels % 1024] == levels as u8) }
    }

    #[test]
    fn a_small_thread_has_room_too_and_a_panic_comes_through() {
        let small = std::thread::Builder::new().stack_size(64 << 10);
        let levels = small.spawn(|| with_room(|| deep(20_000))).unwrap().join().unwrap();
        assert_eq!(levels, 20_000);
        let thrown = std::panic::catch_unwind(|| with_room(|| std::panic::resume_unwind(Box::new(7))));
        assert_eq!(thrown.map(|()| 0).unwrap_err().downcast_ref::<i32>(), Some(&7));
    }
}
