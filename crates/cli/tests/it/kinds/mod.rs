//! Kinds of release, each as a user runs it.

mod anonymized_histogram;
mod conjunctions;
mod fitted_tables;
mod graphs;
mod learning;
mod most_frequent;
mod records;
mod schemas;
mod small_tables;
mod stable_counts;
mod wide;
mod wide_keys;
