//! Tables in files: how they are read, and what is said where they cannot be.

mod hints;
mod init;
mod layouts;
mod long;
mod reading;
mod real_tables;
