//! The check, and that what it passes is what is read.
