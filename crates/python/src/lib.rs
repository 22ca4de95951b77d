//! The native half of the Python package `scumble`: texts and bytes in, texts and bytes out.
//!
//! The classes that people use are in `python/scumble`, in Python. What crosses the border is JSON, rows in Arrow's IPC
//! format, and integers that are copied into an array of Python's: so that no reference into memory that Python may
//! change is held while the interpreter is free to run, and no `unsafe` is needed. Nothing is computed here that the
//! engine or the core does not compute for the program too.

// Asked for in Cargo.toml for their features alone.
extern crate form_urlencoded as _;
extern crate rustix as _;
extern crate smallvec as _;
extern crate subtle as _;
extern crate tokio as _;

mod attack;
mod calculators;
mod chart;
mod failure;
mod limits;
mod noise;
mod plan;
mod session;
mod shown;
mod work;

/// What Python imports as `scumble._native`.
#[pyo3::pymodule]
mod _native {
    use pyo3::prelude::*;

    #[pymodule_export]
    use crate::attack::{membership, reconstruct};
    #[pymodule_export]
    use crate::calculators::{account, attacker, audit_counts, audit_one_run, audit_outputs, calibrate, curve, event};
    #[pymodule_export]
    use crate::chart::{bars, lines};
    #[pymodule_export]
    use crate::limits::limit;
    #[pymodule_export]
    use crate::noise::Noise;
    #[pymodule_export]
    use crate::session::{Frame, Project, kinds};
    #[pymodule_export]
    use crate::shown::with_margin;

    #[pymodule_init]
    fn init(module: &Bound<'_, PyModule>) -> PyResult<()> {
        module.add("version", env!("CARGO_PKG_VERSION"))
    }
}
