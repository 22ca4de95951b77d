//! Private learners.
