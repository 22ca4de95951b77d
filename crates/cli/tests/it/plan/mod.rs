//! Plans, and the project file that they are made from.

mod lines;
mod names;
mod project_file;
mod scopes;
mod statements;
