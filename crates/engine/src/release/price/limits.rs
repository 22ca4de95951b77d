//! What an optimal mechanism could have done: a release's expected error beside the least error that any mechanism can
//! promise at the same privacy.

use super::noise::Noise;
use crate::budget::{Odometer, rounded_up};
use crate::error::Result;
use crate::release::floor::Floor;
use crate::release::output::BETA;
use crate::sql::analyse::query::{Computation, GroupKey, Measure, Summand};
use crate::sql::{PrivateQuery, above};
use datafusion::logical_expr::{Expr, LogicalPlan};
use scumble::event::Event;
use scumble::quantity::{Beta, Delta, Epsilon, Exact, Omega, Probability, Rho};
use scumble::scope::Scope;
use scumble_adversary::limits::groups::OwnerGuarantee;
use scumble_adversary::limits::{count, fingerprinting, packing, tables, tcdp};

/// zCDP is tCDP of every order: a large one gives the limit of zCDP itself for up to this many owners.
const LARGE_ORDER: f64 = 1e4;

/// What the limits of many counts at once are about.
const LARGEST: &str = "largest error of all counts, with probability 95%";
/// Up to so many values of a key are known to occur one by one (see [`crate::sql`]).
const FEW_VALUES: usize = 1 << 18;

/// The privacy of a whole release in one scope, in the notion of its noise.
enum Privacy {
    Pure { epsilon: Epsilon, delta: Delta },
    Concentrated(Rho),
}

impl Privacy {
    /// None where the noise is mixed, or a δ comes with Gaussian noise: no limit is known to us there.
    fn of(events: &[Event], noises: &[Noise], scope: &Scope) -> Result<Option<Self>> {
        let spent = Odometer::of(events, scope)?;
        if noises.iter().all(|noise| matches!(noise, Noise::Laplace(..))) {
            let Some(epsilon) = spent.pure_sum() else { return Ok(None) };
            let delta = Delta::new(spent.delta().to_f64_up().min(1.0))?;
            return Ok(Some(Self::Pure { epsilon: Epsilon::new(epsilon.to_f64_up())?, delta }));
        }
        let gaussian = noises.iter().all(|noise| matches!(noise, Noise::Gaussian(..)));
        match spent.rho(&Exact::zero()) {
            Some(rho) if gaussian => Ok(Some(Self::Concentrated(Rho::new(rho.to_f64_up())?))),
            _ => Ok(None),
        }
    }

    /// The same without knowledge of the noise: the sum of the events, as ε if all have one, otherwise as ρ.
    fn by_sums(events: &[Event], scope: &Scope) -> Result<Option<Self>> {
        let spent = Odometer::of(events, scope)?;
        if let Some(epsilon) = spent.pure_sum() {
            let delta = Delta::new(spent.delta().to_f64_up().min(1.0))?;
            return Ok(Some(Self::Pure { epsilon: Epsilon::new(epsilon.to_f64_up())?, delta }));
        }
        let rho = spent.rho(&Exact::zero()).map(|rho| Rho::new(rho.to_f64_up())).transpose()?;
        Ok(rho.map(Self::Concentrated))
    }

    fn guarantee(&self) -> OwnerGuarantee {
        match self {
            Self::Pure { epsilon, delta } => OwnerGuarantee::Approximate { epsilon: *epsilon, delta: *delta },
            Self::Concentrated(rho) => OwnerGuarantee::Concentrated(*rho),
        }
    }

    fn standard_error_lower(&self) -> f64 {
        match self {
            Self::Pure { epsilon, delta } => count::standard_error_lower(*epsilon, *delta),
            Self::Concentrated(rho) => count::concentrated_standard_error_lower(*rho),
        }
    }

    fn histogram_error_lower(&self, cells: u64) -> Result<Option<f64>> {
        Ok(match self {
            Self::Pure { epsilon, delta } if delta.get() == 0.0 => Some(count::histogram_error_lower(*epsilon, cells)?),
            Self::Pure { .. } => None,
            Self::Concentrated(rho) => Some(tcdp::histogram_error_lower(*rho, Omega::new(LARGE_ORDER)?, cells as f64)?),
        })
    }

    fn words(&self) -> String {
        match self {
            Self::Pure { epsilon, delta } if delta.get() == 0.0 => format!("epsilon {}", rounded_up(epsilon.get())),
            Self::Pure { epsilon, delta } => {
                format!("epsilon {}, delta {}", rounded_up(epsilon.get()), rounded_up(delta.get()))
            }
            Self::Concentrated(rho) => format!("rho {}", rounded_up(rho.get())),
        }
    }
}

/// The limits of counts below each of many thresholds; `expected` is this release's own error with probability 95%.
///
/// Packing (Vadhan 2017, 7.5.13, corrected): tables in which m owners have one value, whichever it is, are all near the
/// empty one and must be answered differently, so no mechanism is within (m* − 1)/2 owners with probability 95%. And
/// [`apart`].
pub(crate) fn of_thresholds(
    events: &[Event],
    noise: &Noise,
    points: u64,
    rows: u64,
    expected: f64,
) -> Result<Vec<Floor>> {
    let Some(presence) = Privacy::of(events, std::slice::from_ref(noise), &Scope::Presence)? else {
        return Ok(Vec::new());
    };
    let mut limits = Vec::new();
    if let Privacy::Pure { epsilon, delta } = &presence
        && epsilon.get() > 0.0
        && let Some(changes) = packing::least_changes(*epsilon, *delta, points as f64, Probability::new(1.0 - BETA)?)?
    {
        limits.push(Floor {
            column: "count".to_string(),
            error: LARGEST.into(),
            expected,
            least: changes.saturating_sub(1) as f64 / 2.0 * rows as f64,
            about: format!("presence, {}, by packing", presence.words()),
        });
    }
    limits.extend(apart("count", (&presence, ""), rows as f64, expected)?);
    Ok(limits)
}

/// The limit by the least singular value of counts where an owner can be in one of them alone and moves it by `moved`:
/// each is a group of owners who are there or not (survey 7.5.2, with groups). For such counts it says no more than the
/// limit of a single one, which is the strongest that these matrices have.
fn apart(column: &str, (presence, all): (&Privacy, &str), moved: f64, expected: f64) -> Result<Option<Floor>> {
    let found = tables::apart(&presence.guarantee(), Probability::new(BETA)?)?;
    Ok((found.count_error_at_least > 0.0).then(|| Floor {
        column: column.to_string(),
        error: LARGEST.into(),
        expected,
        least: found.count_error_at_least * moved,
        about: format!(
            "presence, {}{all}, by the least singular value, for {} present or absent",
            presence.words(),
            owners(found.group)
        ),
    }))
}

fn owners(number: u64) -> String {
    if number == 1 { "one owner".to_string() } else { format!("{number} owners") }
}

/// Tables of columns, those of each column by itself among them, as counts of owners.
pub(crate) struct AllTables<'a> {
    /// The numbers of values of all columns.
    pub sizes: &'a [u32],
    /// How many owners there are, where that is public.
    pub people: Option<u64>,
    /// What the counts are called.
    pub column: &'a str,
    /// The standard errors of a cell of each column's own table, where they do not depend on the data.
    pub single_errors: Option<Vec<f64>>,
    /// A bound of the largest error of all cells that fails with this probability, where it does not depend on the
    /// data.
    pub largest_error: &'a dyn Fn(f64) -> Option<f64>,
}

/// The limits of tables of counts over some columns. Each owner has one value in each column, and every combination may
/// occur, so that owners can be made whose values in columns with at least two of them are as the proofs need them.
///
/// Where the number of owners is public, nobody comes or goes: then only the person scope promises anything, and tables
/// of so many owners are looked at.
pub(crate) fn of_tables(events: &[Event], tables: &AllTables<'_>) -> Result<Vec<Floor>> {
    let columns = tables.sizes.iter().filter(|size| **size >= 2).count();
    let scope = if tables.people.is_some() { Scope::Person } else { Scope::Presence };
    let (Some(own), Some(person)) = (Privacy::by_sums(events, &scope)?, Privacy::by_sums(events, &Scope::Person)?)
    else {
        return Ok(Vec::new());
    };
    let floor = |error: &'static str, expected: Option<f64>, least: f64, about: String| Floor {
        column: tables.column.to_string(),
        error: error.into(),
        expected: expected.unwrap_or(f64::INFINITY),
        least,
        about,
    };
    let of = tables.people.map_or(String::new(), |people| format!(", for tables of {people} owners"));
    let mut limits = Vec::new();
    let singular = tables::marginals(columns, &own.guarantee(), Probability::new(BETA)?, tables.people)?;
    if singular.count_error_at_least > 0.0 {
        let (who, kinds) = (if tables.people.is_some() { "person" } else { "presence" }, singular.kinds);
        let kinds = if kinds == 1 { String::new() } else { format!(" of each of {kinds} kinds") };
        let about = format!(
            "{who}, {}{of}, by the least singular value, for {}{kinds} present or absent",
            own.words(),
            owners(singular.group)
        );
        limits.push(floor(LARGEST, (tables.largest_error)(BETA), singular.count_error_at_least, about));
    }
    if let Some(least) = found_by_its_tables(&person, tables)? {
        let about = format!("person, {}{of}, by packing: any of all records must be found", person.words());
        let half = (tables.largest_error)(0.5);
        limits.push(floor("largest error of all counts, in half of the runs", half, least, about));
    }
    let fingerprinting = match columns {
        0 => None,
        _ => fingerprinting::best_count_error_lower(columns as u64, &person.guarantee(), tables.people)?,
    };
    if let Some((least, epsilon, delta)) = fingerprinting {
        let at = match delta.get() {
            0.0 => String::new(),
            _ => format!(" (epsilon {} at delta {})", rounded_up(epsilon.get()), rounded_up(delta.get())),
        };
        let about = format!("person, {}{at}{of}, by fingerprinting of {columns} columns", person.words());
        let mean = tables
            .single_errors
            .as_ref()
            .map(|errors| (errors.iter().map(|error| error * error).sum::<f64>() / errors.len().max(1) as f64).sqrt());
        limits.push(floor("root mean square error of one count of each column", mean, least, about));
    }
    Ok(limits)
}

/// Half of the owners with equal records who are needed before their record can be read off the columns' own tables
/// (Bun, Dwork, Rothblum, Steinke 2018, Corollary 27: its proof asks of a histogram only that the one occupied cell is
/// found; here that is a record). None where nothing follows.
fn found_by_its_tables(person: &Privacy, tables: &AllTables<'_>) -> Result<Option<f64>> {
    let records: f64 = tables.sizes.iter().map(|size| f64::from(*size)).product();
    let Privacy::Concentrated(rho) = person else { return Ok(None) };
    // Refused where ρ is 0 or so small that nothing can be found: then there is no number to print.
    let Ok(least) = tcdp::histogram_error_lower(*rho, Omega::new(LARGE_ORDER)?, records) else { return Ok(None) };
    // More owners than there are have nobody to be.
    let least = tables.people.map_or(least, |people| least.min(people as f64 / 2.0));
    Ok(Some(least).filter(|least| *least > 0.0))
}

/// The limits of a query's counts and sums: of those for which some table has owners who move them by all that the plan
/// allows. What a plan allows is proven from above, and may never be reached (a condition that no row fulfils, a
/// difference that is always 0): then there is no limit to print.
pub(crate) fn of_query(cut: &PrivateQuery, noises: &[Noise], events: &[Event]) -> Result<Vec<Floor>> {
    let mut limits = Vec::new();
    let (Some(presence), Some(person)) =
        (Privacy::of(events, noises, &Scope::Presence)?, Privacy::of(events, noises, &Scope::Person)?)
    else {
        return Ok(limits);
    };
    let query = &cut.query;
    if !reads_all_rows(&cut.aggregate.input) || !query.keys.iter().all(has_values) {
        return Ok(limits);
    }
    let mut singular = Vec::new();
    for output in above::outputs(&cut.plan, &cut.aggregate)? {
        let (measure, step) = match output.direct.and_then(|aggregate| query.aggregates.get(aggregate)) {
            Some(Computation::Count(measure)) => (*measure, 1.0),
            Some(Computation::Sum { steps, step }) => (*steps, *step),
            _ => continue,
        };
        let (Some(noise), Some(event)) = (noises.get(measure), events.get(measure)) else { continue };
        if !query.measures.get(measure).is_some_and(is_reached) {
            continue;
        }
        // Tables in which each owner moves the cell by all that is allowed are counts of such owners.
        let moved = event.moves().shifts(&Scope::Presence).iter().map(|shift| shift.by.get()).fold(0.0, f64::max);
        let column = output.name;
        let all = if noises.len() + query.quantiles.len() > 1 {
            ", all of the release's cost spent on this column"
        } else {
            ""
        };
        let single = presence.standard_error_lower();
        limits.push(Floor {
            column: column.clone(),
            error: "standard error of each cell".into(),
            expected: noise.standard_deviation() * step,
            least: single * moved * step,
            about: format!("presence, {}{all}", presence.words()),
        });
        let counts =
            matches!(query.measures.get(measure).map(|measure| measure.what), Some(Summand::Owners | Summand::Rows));
        if let (true, Some(cells)) = (counts, query.cells()) {
            let largest = noise.maximum(cells as f64, Beta::new(BETA)?) * step;
            singular.extend(apart(&column, (&presence, all), moved * step, largest)?);
        }
        let are_all_reached = counts && query.keys.iter().all(|key| is_column(&key.expression));
        if let (true, Some(cells)) = (are_all_reached, query.cells().filter(|cells| *cells > 2))
            && let Some(least) = person.histogram_error_lower(cells)?
            // Over few cells this says less than what holds for a single one.
            && least > single
        {
            limits.push(Floor {
                column,
                error: "largest error of all cells, in half of the runs".into(),
                expected: noise.maximum(cells as f64, Beta::new(0.5)?) * step,
                least: least * moved * step,
                about: format!("person, {}{all}", person.words()),
            });
        }
    }
    limits.extend(singular);
    Ok(limits)
}

/// Whether all rows of one table are read as they are.
fn reads_all_rows(plan: &LogicalPlan) -> bool {
    match plan {
        LogicalPlan::TableScan(scan) => scan.filters.is_empty() && scan.fetch.is_none(),
        LogicalPlan::SubqueryAlias(alias) => reads_all_rows(&alias.input),
        _ => false,
    }
}

/// Whether some row has this key: it is a column, or its values are known one by one.
fn has_values(key: &GroupKey) -> bool {
    is_column(&key.expression) || key.domain.as_ref().is_some_and(|values| (1..=FEW_VALUES).contains(&values.len()))
}

/// Whether some row contributes as much as any may: rows, owners, and the values of a column by itself.
fn is_reached(measure: &Measure) -> bool {
    match measure.what {
        Summand::Owners | Summand::Rows => true,
        Summand::Present | Summand::Steps { .. } => measure.expression.as_ref().is_some_and(is_column),
        Summand::Different | Summand::Squares { .. } => false,
    }
}

fn is_column(expression: &Expr) -> bool {
    matches!(expression, Expr::Column(_))
}
