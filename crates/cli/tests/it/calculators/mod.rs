//! Commands that compute from events, claims and published numbers: no project, no table.

mod account;
mod anonymized_histogram;
mod attack;
mod attacker;
mod audit;
mod compare_noise;
mod limits;
mod noise;
mod per_attribute;
mod reproduce;
