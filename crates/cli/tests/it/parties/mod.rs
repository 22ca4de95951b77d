//! Protocols in which no single party is trusted with all data.

mod local;
mod local_page;
mod processes;
