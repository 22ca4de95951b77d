//! The program itself: first steps, flags, exit statuses, its own pages.

mod docs;
mod flags;
mod guide;
mod help;
mod how_to;
mod names;
mod readme;
mod releases;
mod site;
mod tidy;
