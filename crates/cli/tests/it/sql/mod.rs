//! Queries: what is answered, how exactly, and what is refused.

mod advice;
mod dates_and_bins;
mod expressions;
mod grouping_sets;
mod intervals;
mod joint_noise;
mod outputs;
mod page;
mod per_owner;
mod samples;
mod union_all;
