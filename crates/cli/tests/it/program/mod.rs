//! The program itself: first steps, flags, exit statuses, its own pages.

mod commands;
mod docs;
mod examples;
mod flags;
mod guide;
mod help;
mod how_to;
mod names;
mod readme;
mod releases;
mod show;
mod site;
mod tidy;
mod tree;
