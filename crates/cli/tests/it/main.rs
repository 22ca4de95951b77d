//! The program as a user runs it. One binary for all files: each of its own would be linked, and run, one after the other.

mod account;
mod anonymized_histogram;
mod anonymized_histogram_kind;
mod attacker;
mod attackers_in_projects;
mod bounding_report;
mod compare_noise;
mod engine;
mod fitted_tables;
mod flags;
mod honest_answers;
mod kinds;
mod noise;
mod per_attribute;
mod project_file;
mod readme;
mod report_in_a_browser;
mod reproduce;
mod second_opinion;
mod support;
mod tables_as_they_are;
mod tidy;
mod true_again_answers;
mod true_again_files;
mod true_again_ledger;
mod true_again_sql;
