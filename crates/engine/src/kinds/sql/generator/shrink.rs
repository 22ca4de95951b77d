//! A failing case, made small enough to be read.

use super::check::{Case, CaseOutcome, Failure, FailureClass, check};
use super::expression::literal;
use super::query::RandomQuery;
use super::world::World;
use datafusion::prelude::SessionContext;

/// How many simpler cases are tried.
const TRIES: usize = 200;

/// A failing case, shrunk and written down.
pub(crate) fn story(case: Case, failure: Failure, context: &SessionContext) -> String {
    let (case, failure) = shrunk(case, failure, context);
    shown(&case, &failure)
}

/// The simplest case found that fails in the same class.
fn shrunk(mut case: Case, mut failure: Failure, context: &SessionContext) -> (Case, Failure) {
    let mut tries = 0;
    'again: loop {
        for simpler in simpler(&case, failure.class) {
            tries += 1;
            if tries > TRIES {
                return (case, failure);
            }
            if let CaseOutcome::Failed(same) = check(&simpler, context)
                && same.class == failure.class
            {
                (case, failure) = (simpler, same);
                continue 'again;
            }
        }
        return (case, failure);
    }
}

fn simpler(case: &Case, class: FailureClass) -> Vec<Case> {
    let mut all = Vec::new();
    if case.neighbours.len() > 1 {
        all.extend(case.neighbours.iter().map(|one| Case { neighbours: vec![one.clone()], ..case.clone() }));
    }
    if !case.neighbours.is_empty() && class != FailureClass::Moves {
        all.push(Case { neighbours: Vec::new(), ..case.clone() });
    }
    if case.answered && class != FailureClass::Above {
        all.push(Case { answered: false, ..case.clone() });
    }
    if case.windows && class != FailureClass::Windows {
        all.push(Case { windows: false, ..case.clone() });
    }
    all.extend(case.query.simpler().into_iter().map(|query: RandomQuery| Case { query, ..case.clone() }));
    let rows = |case: &Case| {
        case.rows.iter().chain(case.neighbours.iter().flat_map(|one| &one.rows)).flatten().cloned().collect::<Vec<_>>()
    };
    for row in rows(case) {
        let mut copy = case.clone();
        let lists = copy.rows.iter_mut().chain(copy.neighbours.iter_mut().flat_map(|one| &mut one.rows));
        lists.for_each(|list| list.retain(|other| other.tag != row.tag));
        all.push(copy);
    }
    all
}

/// The case as a project that a reader can try.
fn shown(case: &Case, failure: &Failure) -> String {
    let mut text = format!("{:?}: {}\n{}\n", failure.class, failure.how, case.query.text(&case.world));
    let used = case.query.from.tables();
    let declared = used.iter().map(|table| case.world.tables[*table].clone()).collect();
    text.push_str(&World { tables: declared, key_sets: case.world.key_sets }.text());
    text.push_str(&format!("hash key {:?}\n", case.key));
    text.push_str(&tables(case, &case.rows));
    for neighbour in &case.neighbours {
        text.push_str(&format!("neighbour in {:?}:\n{}", neighbour.scope, tables(case, &neighbour.rows)));
    }
    text
}

fn tables(case: &Case, rows: &super::world::WorldRows) -> String {
    let mut text = String::new();
    for table in case.query.from.tables() {
        let (table, rows) = (&case.world.tables[table], &rows[table]);
        let names: Vec<&str> =
            table.owner_column().into_iter().chain(table.columns.iter().map(|column| column.name.as_str())).collect();
        text.push_str(&format!("  {}: {}\n", table.name, names.join(" | ")));
        for row in rows {
            let owner = table.owner_column().map(|_| &row.owner);
            let values: Vec<String> = owner.into_iter().chain(&row.values).map(literal).collect();
            text.push_str(&format!("    {}\n", values.join(" | ")));
        }
    }
    text
}
