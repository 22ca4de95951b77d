//! The aggregates.

/// What there is to know of an aggregate.
pub(crate) struct SqlAggregate {
    /// Its name in the plan.
    pub name: &'static str,
    /// The names under which messages list it.
    pub listed: &'static [&'static str],
    /// Names of it in queries that messages do not list.
    pub unlisted: &'static [&'static str],
    /// A name that the planner does not know, and one that it does.
    pub renamed: Option<(&'static str, &'static str)>,
    /// What it asks for.
    pub statistic: SqlStatistic,
    /// Whether it is answered in a sub-query that makes one row for each owner.
    pub per_owner: bool,
}

/// What an aggregate asks for.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum SqlStatistic {
    Count,
    Sum,
    Mean,
    /// A variance or its root, of the sample or of the population.
    Spread {
        sample: bool,
        root: bool,
    },
    Least,
    Largest,
    Median,
    /// A quantile that is written out, in this many arguments at most.
    Fraction(usize),
    /// What two columns have in common.
    Pair(PairStatistic),
}

/// A statistic of two columns.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum PairStatistic {
    /// Of the sample or of the population.
    Covariance {
        sample: bool,
    },
    Correlation,
    /// How much y grows with x.
    Slope,
    /// y where x is 0.
    Intercept,
    /// The square of the correlation.
    Determination,
}

impl SqlAggregate {
    const fn new(name: &'static str, listed: &'static [&'static str], statistic: SqlStatistic) -> Self {
        Self { name, listed, unlisted: &[], renamed: None, statistic, per_owner: false }
    }

    const fn also_per_owner(self) -> Self {
        Self { per_owner: true, ..self }
    }

    /// By its name in the plan.
    pub fn named(name: &str) -> Option<&'static Self> {
        ALL.iter().find(|aggregate| aggregate.name == name)
    }

    /// The name that the planner knows instead of one that it does not.
    pub fn renamed(name: &str) -> Option<&'static str> {
        let mut renamed = ALL.iter().filter_map(|aggregate| aggregate.renamed);
        renamed.find(|(unknown, _)| *unknown == name.to_lowercase()).map(|(_, known)| known)
    }

    /// The name in the plan of one that is written so.
    pub fn planned_name(written: &str) -> Option<&'static str> {
        let is_so = |name: &&str| name.eq_ignore_ascii_case(written);
        let named = ALL.iter().find(|one| one.listed.iter().chain(one.unlisted).any(is_so));
        named.map(|one| one.name)
    }

    /// All of them, as messages list them.
    pub fn answered() -> String {
        in_words(ALL.iter().flat_map(|aggregate| aggregate.listed).copied().collect())
    }

    /// Those that are answered in a sub-query that makes one row for each owner.
    pub fn answered_per_owner() -> String {
        in_words(ALL.iter().filter(|one| one.per_owner).filter_map(|one| one.listed.first()).copied().collect())
    }

    /// Whether messages list one under this name.
    pub fn is_listed(name: &str) -> bool {
        let mut listed = ALL.iter().flat_map(|aggregate| aggregate.listed);
        listed.any(|listed| listed.eq_ignore_ascii_case(name))
    }

    /// Those that rank numbers, and could be meant to rank dates: the least and the largest date are answered.
    pub fn of_ranks() -> impl Iterator<Item = &'static str> {
        let ranks = |one: &&Self| matches!(one.statistic, SqlStatistic::Median | SqlStatistic::Fraction(_));
        ALL.iter().filter(ranks).filter(|one| !one.listed.is_empty()).map(|one| one.name)
    }
}

impl PairStatistic {
    /// Whether the squares of x are needed, and those of y.
    pub fn squares(self) -> (bool, bool) {
        match self {
            Self::Covariance { .. } => (false, false),
            Self::Slope | Self::Intercept => (true, false),
            Self::Correlation | Self::Determination => (true, true),
        }
    }
}

/// Names in a sentence.
fn in_words(names: Vec<&str>) -> String {
    match &names[..] {
        [names @ .., last] if !names.is_empty() => format!("{} and {last}", names.join(", ")),
        names => names.concat(),
    }
}

const fn spread(sample: bool, root: bool) -> SqlStatistic {
    SqlStatistic::Spread { sample, root }
}

const fn pair(name: &'static str, listed: &'static [&'static str], statistic: PairStatistic) -> SqlAggregate {
    SqlAggregate::new(name, listed, SqlStatistic::Pair(statistic))
}

/// In the order in which messages list them.
const ALL: &[SqlAggregate] = &[
    SqlAggregate::new("count", &["COUNT", "COUNT(DISTINCT …)"], SqlStatistic::Count).also_per_owner(),
    SqlAggregate::new("sum", &["SUM"], SqlStatistic::Sum).also_per_owner(),
    SqlAggregate::new("avg", &["AVG"], SqlStatistic::Mean).also_per_owner(),
    SqlAggregate::new("min", &["MIN"], SqlStatistic::Least).also_per_owner(),
    SqlAggregate::new("max", &["MAX"], SqlStatistic::Largest).also_per_owner(),
    SqlAggregate::new("median", &["MEDIAN"], SqlStatistic::Median),
    SqlAggregate::new("approx_median", &[], SqlStatistic::Median),
    SqlAggregate::new("percentile_cont", &["PERCENTILE_CONT"], SqlStatistic::Fraction(2)),
    SqlAggregate::new("approx_percentile_cont", &["APPROX_PERCENTILE_CONT"], SqlStatistic::Fraction(3)),
    SqlAggregate {
        renamed: Some(("variance", "var_samp")),
        unlisted: &["VAR_SAMPLE"],
        ..SqlAggregate::new("var", &["VARIANCE", "VAR_SAMP"], spread(true, false))
    },
    SqlAggregate { unlisted: &["VAR_POPULATION"], ..SqlAggregate::new("var_pop", &["VAR_POP"], spread(false, false)) },
    SqlAggregate::new("stddev", &["STDDEV", "STDDEV_SAMP"], spread(true, true)),
    SqlAggregate::new("stddev_pop", &["STDDEV_POP"], spread(false, true)),
    pair("covar_samp", &["COVAR_SAMP"], PairStatistic::Covariance { sample: true }),
    pair("covar_pop", &["COVAR_POP"], PairStatistic::Covariance { sample: false }),
    pair("corr", &["CORR"], PairStatistic::Correlation),
    pair("regr_slope", &["REGR_SLOPE"], PairStatistic::Slope),
    pair("regr_intercept", &["REGR_INTERCEPT"], PairStatistic::Intercept),
    pair("regr_r2", &["REGR_R2"], PairStatistic::Determination),
];
