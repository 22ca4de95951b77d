//! The demo's synthetic population and project: made up, so that its seed is no secret.

use crate::error::{Error, Result};
use scumble::noise::{BitSource, InsecureSeededSource};
use std::fmt::Write;
use std::fs;
use std::path::{Path, PathBuf};

/// How many people the demo makes up.
const PEOPLE: usize = 20_000;

/// The bounds that the project file declares: nobody is beyond them, so that no number is off by what they cut.
const MOST_INCOME: f64 = 200_000.0;
const MOST_COST: f64 = 1000.0;

const STATES: [&str; 8] = ["north", "coast", "hills", "plain", "lakes", "delta", "woods", "islands"];
const CLINICS: [&str; 6] = ["general", "heart", "children", "eyes", "surgery", "rare diseases"];

const PROJECT: &str = include_str!("demo/scumble.toml");

/// Writes the population and the project file into a folder; gives the project file's path.
pub fn write(folder: &Path) -> Result<PathBuf> {
    let failed =
        |error: std::io::Error| Error::machine(format!("the demo cannot be written to {} ({error})", folder.display()));
    fs::create_dir_all(folder).map_err(failed)?;
    let (people, visits) = population();
    fs::write(folder.join("people.csv"), people).map_err(failed)?;
    fs::write(folder.join("visits.csv"), visits).map_err(failed)?;
    let project = folder.join("scumble.toml");
    fs::write(&project, PROJECT).map_err(failed)?;
    Ok(project)
}

struct Dice(InsecureSeededSource);

impl Dice {
    fn unit(&mut self) -> f64 {
        (self.0.next_u64() >> 11) as f64 / (1u64 << 53) as f64
    }

    /// About normal, by twelve uniform numbers.
    fn normal(&mut self, mean: f64, deviation: f64) -> f64 {
        let sum: f64 = (0..12).map(|_| self.unit()).sum();
        mean + deviation * (sum - 6.0)
    }

    /// An index, each twice as rare as the one before, roughly.
    fn skewed(&mut self, choices: usize) -> usize {
        ((self.unit().powi(2)) * choices as f64) as usize
    }
}

fn population() -> (String, String) {
    let mut dice = Dice(InsecureSeededSource::new(20_260_101));
    let mut people = String::from("age,sex,state,income,disease,employer\n");
    let mut visits = String::from("person_id,clinic,cost\n");
    for person in 0..PEOPLE {
        let age = (dice.unit() + dice.unit() * 0.6) / 1.6 * 98.0;
        let sex = ["f", "m", "x"][match dice.unit() {
            draw if draw < 0.5 => 0,
            draw if draw < 0.99 => 1,
            _ => 2,
        }];
        let state = STATES[dice.skewed(STATES.len())];
        let working = age > 18.0 && age < 67.0;
        let income = (dice.normal(10.4, 0.45).exp() * if working { 1.0 } else { 0.5 }).min(MOST_INCOME);
        let disease = match dice.unit() {
            draw if draw < 0.04 => "flu",
            draw if draw < 0.10 => "asthma",
            draw if draw < 0.10 + 0.15 * age / 100.0 => "diabetes",
            draw if draw > 0.996 => "hiv",
            _ => "none",
        };
        // A power law: a few employers of hundreds, many of one or two.
        let employer = if working { format!("e{:.0}", (dice.unit() * 8.5).exp()) } else { String::new() };
        let _ = writeln!(people, "{age:.0},{sex},{state},{income:.2},{disease},{employer}");
        let often = if disease == "none" { 2.0 } else { 6.0 };
        for _ in 0..(dice.unit() * often) as usize {
            let clinic = CLINICS[dice.skewed(CLINICS.len())];
            let _ = writeln!(visits, "{person},{clinic},{:.2}", dice.normal(5.0, 0.8).exp().min(MOST_COST));
        }
    }
    (people, visits)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::project::{Domain, Project};
    use std::collections::HashMap;

    /// The demo's "general clinic" was 30 standard errors off: the bounds cut off what an error bar does not know of.
    /// Nothing is cut now.
    #[test]
    fn the_bounds_of_the_demo_cut_nothing() {
        let folder = tempfile::tempdir().unwrap();
        let project = Project::open(&write(folder.path()).unwrap()).unwrap();
        let bounding = project.tables["visits"].bounding;
        let (people, visits) = population();
        let mut rows: HashMap<&str, HashMap<&str, u64>> = HashMap::new();
        for line in visits.lines().skip(1) {
            let fields: Vec<&str> = line.split(',').collect();
            *rows.entry(fields[0]).or_default().entry(fields[1]).or_default() += 1;
        }
        let most = |count: fn(&HashMap<&str, u64>) -> u64| rows.values().map(count).max();
        assert!(most(|clinics| clinics.values().sum()) <= bounding.rows);
        assert!(most(|clinics| clinics.len() as u64) <= bounding.groups);
        assert!(most(|clinics| clinics.values().copied().max().unwrap_or(0)) <= bounding.rows_per_group);
        for (table, text) in [("people", &people), ("visits", &visits)] {
            let names: Vec<&str> = text.lines().next().unwrap().split(',').collect();
            for line in text.lines().skip(1) {
                for (name, value) in names.iter().zip(line.split(',')) {
                    let within = match project.tables[table].column(name).map(|column| &column.domain) {
                        Some(Domain::Int { bounds: Some((low, high)) }) => {
                            (*low..=*high).contains(&value.parse().unwrap())
                        }
                        Some(Domain::Float { bounds: Some((low, high)), .. }) => {
                            (*low..=*high).contains(&value.parse().unwrap())
                        }
                        Some(Domain::Category { values: Some(values) }) => values.iter().any(|listed| listed == value),
                        _ => true,
                    };
                    assert!(within, "{table}: {name} is {value}");
                }
            }
        }
    }
}
