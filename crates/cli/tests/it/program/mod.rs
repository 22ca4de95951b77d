//! The program itself: first steps, flags, exit statuses, its own pages.

mod commands;
mod docs;
mod examples;
mod flags;
mod guide;
mod help;
mod how_to;
mod names;
mod page_examples;
mod readme;
mod releases;
mod screen;
mod show;
mod site;
mod tidy;
mod tree;
mod try_it;
