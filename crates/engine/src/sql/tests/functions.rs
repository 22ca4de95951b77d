//! All that is said of each function, over a list of probes, as one text to be read: what is accepted where, what is
//! known of the value, what it is as a formula of released numbers, where it is NULL, and which engines it is written
//! for.

use super::TableFolder;
use crate::sql::above::derivation::Derivation;
use crate::sql::analyse::describe::Describer;
use crate::sql::functions;
use crate::sql::text::{Engine, job};
use crate::sql::{QuerySource, above, text as window};
use crate::tables::Backend;
use datafusion::arrow::array::{ArrayRef, Float64Array, Int64Array, StringArray};
use datafusion::arrow::datatypes::DataType;
use datafusion::arrow::util::display::array_value_to_string;
use std::collections::BTreeMap;
use std::fmt::Write;
use std::sync::Arc;

const PROJECT: &str = r#"
[dataset.t]
source = "t.csv"
[dataset.t.columns]
i = { type = "int" }
j = { type = "int", lower = 0, upper = 120 }
k = { type = "int", lower = -5, upper = 7 }
f = { type = "float" }
x = { type = "float", lower = 0, upper = 1000, granularity = 0.5 }
y = { type = "float", lower = -3, upper = 4 }
z = { type = "float", lower = 0.5, upper = 8 }
u = { type = "category" }
v = { type = "category", values = ["a", "bb", "ccc"] }
c = { type = "bool" }
d = { type = "date", lower = "2013-01-01", upper = "2014-02-03" }
s = { type = "timestamp", lower = "2013-01-01T00:00:00", upper = "2014-02-03T04:05:06" }
[dataset.o]
source = "o.csv"
owner = "person"
max_rows_per_owner = 3
[dataset.o.columns]
j = { type = "int", lower = 0, upper = 120 }
x = { type = "float", lower = -2, upper = 1000, granularity = 0.5 }
u = { type = "category" }
d = { type = "date", lower = "2013-01-01", upper = "2014-02-03" }
"#;

/// Every function that is documented or handled somewhere, by all names that people write, and some functions that are
/// not.
const FUNCTIONS: &str = "abs btrim trim ceil ceiling character_length char_length length coalesce nvl ifnull nvl2 concat \
    concat_ws ends_with exp floor greatest least left ln log10 log log2 lower ltrim mod nullif power pow replace right \
    round rtrim signum sign sqrt cbrt starts_with strpos position instr substr substring trunc upper sin cos tan repeat \
    lpad rpad date_part datepart date_trunc datetrunc to_char version random now foo initcap reverse iszero \
    octet_length ascii chr md5 arrow_cast";

const ARGUMENTS: [&str; 52] = [
    "",
    "i",
    "j",
    "k",
    "f",
    "x",
    "y",
    "z",
    "u",
    "v",
    "c",
    "d",
    "s",
    "NULL",
    "'4'",
    "2.5",
    "j, 2",
    "j, -20",
    "x, 2",
    "x, -2",
    "x, j",
    "y, 2",
    "y, -1",
    "y, 0.5",
    "z, y",
    "z, -1",
    "u, 'a'",
    "u, u",
    "v, 'bb'",
    "u, 2",
    "u, -1",
    "u, 1000001",
    "v, j",
    "2, x",
    "x, NULL",
    "i, 1",
    "f, 2",
    "d, d",
    "'month', d",
    "'day', s",
    "'dow', s",
    "'nonsense', d",
    "v, ''",
    "u, 1, 2",
    "u, -1, 3",
    "u, 2, -1",
    "v, 'a', 'bcd'",
    "v, '', 'x'",
    "u, 'a', v",
    "j, k, 3",
    "x, y, 2.5",
    "u, 3, 'ab'",
];

/// Arguments over released numbers: a key, a count and a sum.
const RELEASED: [&str; 20] = [
    "",
    "n",
    "x",
    "u",
    "n, 2",
    "n, -1",
    "n, n",
    "x, 2",
    "x, n",
    "2, x",
    "n, x",
    "u, n",
    "u, 2",
    "u, u",
    "n, x, 3",
    "u, 'x', 'yy'",
    "u, u, u",
    "u, n, u",
    "'month', u",
    "u, 1, n",
];

const AGGREGATES: &str = "count sum avg mean min max median approx_median percentile_cont approx_percentile_cont \
    quantile_cont variance var var_samp var_sample var_pop var_population stddev stddev_samp stddev_pop covar covar_samp \
    covar_pop corr regr_slope regr_intercept regr_r2 regr_count regr_avgx bool_and array_agg string_agg first_value \
    approx_distinct foo";

const AGGREGATED: [&str; 14] =
    ["*", "", "j", "x", "f", "u", "c", "d", "DISTINCT x", "x, 0.25", "x, 0.25, 100", "x, j", "j, 2", "x ORDER BY j"];

fn words(listed: &'static str) -> impl Iterator<Item = &'static str> {
    listed.split_whitespace()
}

/// What is said of several things, each sentence once.
#[derive(Default)]
struct Sentences(BTreeMap<String, Vec<String>>);

impl Sentences {
    fn note(&mut self, of: &str, sentence: String) {
        self.0.entry(sentence).or_default().push(if of.is_empty() { "()".to_string() } else { of.to_string() });
    }

    fn text(self) -> String {
        self.0.into_iter().map(|(sentence, of)| format!("    {}: {sentence}\n", of.join(" | "))).collect()
    }
}

const COUNT_OF_ROWS: &str = "a count of rows";

/// On private rows: what is known of the value, and as what it runs.
fn on_rows(tables: &TableFolder, sql: &str) -> (String, Option<String>) {
    let cut = match tables.cut(sql) {
        Ok(cut) => cut,
        Err(error) => return (error.to_string(), None),
    };
    let source = QuerySource::new(sql, true);
    let describer = Describer { schema: cut.below.plan.schema(), columns: &cut.below.columns, source: &source };
    let Some(runs) = cut.query.measures.first().and_then(|measure| measure.expression.clone()) else {
        return (COUNT_OF_ROWS.to_string(), None);
    };
    let known = describer.expression(&runs).unwrap();
    let said = format!(
        "{runs}: {} {:?} null={} step={:?} bytes={} size={} of {:?}",
        describer.kind(&runs).unwrap(),
        known.interval,
        known.null,
        known.granularity,
        known.bytes,
        known.size,
        known.attributes
    );
    let mut written = String::new();
    for (name, engine) in Engine::NAMED {
        let text = job(&cut, &tables.project, engine, "s", |_| "mark".to_string());
        let of =
            text.map_or_else(|no| no.to_string(), |all| all.concat().matches("scumble_value_0").count().to_string());
        write!(written, "{name} {of}, ").unwrap();
    }
    let plain = window::statements(&cut, &tables.project);
    write!(written, "DataFusion {}", plain.map_or_else(|no| no.to_string(), |all| all.len().to_string())).unwrap();
    (said, Some(written))
}

/// Above the aggregate: the formula, and the values on some released numbers.
fn of_released(tables: &TableFolder, sql: &str) -> String {
    let cut = match tables.cut(sql) {
        Ok(cut) => cut,
        Err(error) => return error.to_string(),
    };
    let backend = Backend::without_data(&tables.project).unwrap();
    let kinds = [DataType::Utf8, DataType::Int64, DataType::Float64];
    let outputs = above::outputs(&cut.plan, &cut.aggregate).unwrap();
    let derived = Derivation::new(&outputs[1].expression, &cut.aggregate, &kinds, &backend);
    let formula = derived.map_or_else(|error| error.to_string(), |derived| format!("{:?}", derived.formula));
    let long = "é".repeat(400_000);
    let columns: [ArrayRef; 3] = [
        Arc::new(StringArray::from(vec!["", "a1", "xaxb", &long])),
        Arc::new(Int64Array::from(vec![0, -3, i64::MAX, 900_000])),
        Arc::new(Float64Array::from(vec![0.0, -2.5, 1e300, f64::NAN])),
    ];
    let values = match above::run(&cut.plan, &cut.aggregate, &columns, &backend) {
        Ok(answer) => {
            let column = answer.batch.column(1);
            let shown = (0..column.len()).map(|row| array_value_to_string(column, row).unwrap());
            let short = |text: String| if text.len() > 40 { format!("{} bytes", text.len()) } else { text };
            shown.map(short).collect::<Vec<_>>().join("; ")
        }
        Err(error) => error.to_string(),
    };
    format!("{formula} [{values}]")
}

/// The list of all functions is left out of refusals: a new one would change each of them.
fn taken(name: &str, text: String) {
    let text = text.replace(&functions::answered(), "these are: …");
    let mut settings = insta::Settings::clone_current();
    settings.set_prepend_module_to_snapshot(false);
    settings.set_omit_expression(true);
    settings.bind(|| insta::assert_snapshot!(name, text));
}

#[test]
fn of_each_function_the_same_is_said_everywhere() {
    let tables = TableFolder::of(PROJECT, &[]);
    let mut text = String::new();
    for name in words(FUNCTIONS) {
        let (mut rows, mut texts, mut above) = (Sentences::default(), Sentences::default(), Sentences::default());
        for arguments in ARGUMENTS {
            let called = format!("{name}({arguments})");
            let (mut said, mut written) = on_rows(&tables, &format!("SELECT COUNT({called}) AS n FROM t"));
            // What is never NULL is a count of rows; NULLIF may be NULL, as far as types tell.
            if said == COUNT_OF_ROWS {
                let of_some = format!("SELECT COUNT(NULLIF({called}, NULL)) AS n FROM t");
                (said, written) = on_rows(&tables, &of_some);
            }
            rows.note(arguments, said);
            written.into_iter().for_each(|written| texts.note(arguments, written));
        }
        for arguments in RELEASED {
            let of = "SELECT u, COUNT(*) AS n, SUM(x) AS x FROM t GROUP BY u";
            let said = of_released(&tables, &format!("SELECT u, {name}({arguments}) AS r FROM ({of}) q"));
            // What these give is another value each time.
            let is_fixed = !["random", "now"].contains(&name);
            above
                .note(arguments, if is_fixed { said } else { said.split(" [").next().unwrap_or_default().to_string() });
        }
        let (rows, texts, above) = (rows.text(), texts.text(), above.text());
        write!(text, "{name}\n  on private rows\n{rows}  written for\n{texts}  of released numbers\n{above}").unwrap();
    }
    taken("functions", text);
}

#[test]
fn of_each_aggregate_the_same_is_said_everywhere() {
    let tables = TableFolder::of(PROJECT, &[]);
    let mut text = String::new();
    for name in words(AGGREGATES) {
        let mut all = Sentences::default();
        for arguments in AGGREGATED {
            for sql in [
                format!("SELECT {name}({arguments}) AS a FROM t"),
                format!("SELECT {name}({arguments}) FILTER (WHERE j > 3) AS a FROM o"),
                format!("SELECT SUM(m) AS a FROM (SELECT person, {name}({arguments}) AS m FROM o GROUP BY person) q"),
                format!("SELECT DISTINCT {name}({arguments}) AS a FROM t"),
            ] {
                let said = match tables.cut(&sql) {
                    Ok(cut) => {
                        let query = &cut.query;
                        let measured = query.measures.iter().map(|one| format!("{:?} {:?}", one.what, one.range));
                        let measured: Vec<String> = measured.collect();
                        let inner = cut.per_owner.as_ref().map(|first| first.described());
                        let ranked: Vec<_> = query.quantiles.iter().map(|one| one.rank).collect();
                        let ends: Vec<_> = query.ranked.iter().map(|one| one.grid).collect();
                        format!("{:?} of {measured:?} {ranked:?} {ends:?} {inner:?}", query.aggregates)
                    }
                    Err(error) => error.to_string(),
                };
                all.note(&sql, said);
            }
        }
        for within in ["0.9", "0.9 DESC", "j"] {
            let (fraction, order) = within.split_once(' ').unwrap_or((within, ""));
            let sql = format!("SELECT {name}({fraction}) WITHIN GROUP (ORDER BY x {order}) AS a FROM t");
            let said = tables.cut(&sql).map_or_else(|no| no.to_string(), |cut| format!("{:?}", cut.query.quantiles));
            all.note(&sql, said);
        }
        write!(text, "{name}\n{}", all.text()).unwrap();
    }
    taken("aggregates", text);
}
