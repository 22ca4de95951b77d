//! Work whose panics are not shown: on private rows, whose values a message might quote, and on files that somebody has
//! damaged.

use crate::error::Result;
use crate::stop::Interruption;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind, set_hook, take_hook};
use std::sync::Once;
use std::sync::atomic::{AtomicUsize, Ordering};

/// How many pieces of such work are under way in this process.
static AT_WORK: AtomicUsize = AtomicUsize::new(0);

/// While it lives, panics on any thread of this process print nothing. Any thread, because the backend reads rows on
/// its own.
struct Silence;

impl Silence {
    fn begin() -> Self {
        static INSTALL: Once = Once::new();
        INSTALL.call_once(|| {
            let usual = take_hook();
            set_hook(Box::new(move |panic| {
                if AT_WORK.load(Ordering::SeqCst) == 0 {
                    usual(panic);
                }
            }));
        });
        AT_WORK.fetch_add(1, Ordering::SeqCst);
        Self
    }
}

impl Drop for Silence {
    fn drop(&mut self) {
        AT_WORK.fetch_sub(1, Ordering::SeqCst);
    }
}

/// The result of work on private rows, or nothing, whether it failed or panicked. What it owns is dropped in silence
/// too.
pub(crate) fn guarded<T>(work: impl FnOnce() -> Result<T>) -> Option<T> {
    in_silence(work).ok()?.ok()
}

/// What the work gives, or nothing if it panicked: libraries that read files panic where lengths and types in them make
/// no sense. An interruption goes on unwinding.
pub(crate) fn caught<T>(work: impl FnOnce() -> T) -> Option<T> {
    match in_silence(work) {
        Ok(given) => Some(given),
        Err(panic) if panic.is::<Interruption>() => resume_unwind(panic),
        Err(_) => None,
    }
}

fn in_silence<T>(work: impl FnOnce() -> T) -> std::thread::Result<T> {
    let _silence = Silence::begin();
    // Nothing that the work has changed is looked at again after a panic.
    catch_unwind(AssertUnwindSafe(work))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::error::Error;

    #[test]
    fn a_panic_an_error_and_a_result() {
        assert_eq!(guarded(|| Ok(7)), Some(7));
        assert_eq!(guarded(|| -> Result<()> { Err(Error::input("a value: 41")) }), None);
        assert_eq!(guarded(|| -> Result<()> { panic!("a value: 41") }), None);
        let on_another_thread = || -> Result<()> {
            std::thread::spawn(|| panic!("a value: 41")).join().map_err(|_| Error::machine("it panicked"))
        };
        assert_eq!(guarded(on_another_thread), None);
        assert_eq!(caught(|| 7), Some(7));
        assert_eq!(caught(|| -> u8 { panic!("a length: 41") }), None);
        let stopped = || -> u8 { resume_unwind(Box::new(Interruption)) };
        assert!(
            catch_unwind(|| caught(stopped)).is_err_and(|panic| panic.is::<Interruption>()),
            "a file is not to blame"
        );
        assert_eq!(guarded(|| Ok(stopped())), None, "behind a charge it is a failure like every other");
    }
}
