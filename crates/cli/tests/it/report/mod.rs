//! The report, and what it says of each release.

mod attackers;
mod bounding;
mod contents;
mod guessing;
pub mod in_a_browser;
mod second_opinion;
