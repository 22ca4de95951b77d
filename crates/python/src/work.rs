//! Work beside the interpreter: other threads of Python run meanwhile, and Ctrl-C is heard.

use crate::failure::Failure;
use pyo3::prelude::*;
use scumble_engine::Stop;
use std::sync::mpsc::{RecvTimeoutError, channel};
use std::time::Duration;

/// How often a signal is looked for.
const GLANCE: Duration = Duration::from_millis(50);
/// As the backend has for its own threads: deep queries are planned by recursion.
const STACK: usize = 16 << 20;

/// The result of the work, which runs on a thread of its own. On a signal `stop` is called, and where it says so the
/// end of the work is waited for; otherwise nobody waits: work without effects may end unseen.
fn done<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
    stop: impl Fn() -> bool,
) -> PyResult<T> {
    let (sender, mut receiver) = channel();
    let thread = std::thread::Builder::new().stack_size(STACK).spawn(move || drop(sender.send(work())));
    thread.map_err(|error| Failure::machine(format!("no thread could be started ({error})")))?;
    let mut interrupted = None;
    loop {
        let (back, result) = py.detach(move || {
            let result = receiver.recv_timeout(GLANCE);
            (receiver, result)
        });
        receiver = back;
        match (result, interrupted.is_some()) {
            (Ok(_), true) | (Err(RecvTimeoutError::Disconnected), true) => break,
            (Ok(result), false) => return result.map_err(PyErr::from),
            (Err(RecvTimeoutError::Disconnected), false) => {
                return Err(Failure::machine("scumble failed because of a mistake of its own: please report it").into());
            }
            (Err(RecvTimeoutError::Timeout), true) => {}
            (Err(RecvTimeoutError::Timeout), false) => {
                if let Err(signal) = py.check_signals() {
                    if !stop() {
                        return Err(signal);
                    }
                    interrupted = Some(signal);
                }
            }
        }
    }
    Err(interrupted.unwrap_or_else(|| Failure::machine("the work ended without a result").into()))
}

/// Work without effects: after a signal nobody waits for it.
pub fn computed<T: Send + 'static>(
    py: Python<'_>,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    done(py, work, || false)
}

/// Work that may charge a ledger: on a signal it is asked to stop, and its end is waited for, so that the ledger says
/// what happened before the exception does.
pub fn charged<T: Send + 'static>(
    py: Python<'_>,
    stop: Stop,
    work: impl FnOnce() -> Result<T, Failure> + Send + 'static,
) -> PyResult<T> {
    done(py, work, move || {
        stop.ask();
        true
    })
}
