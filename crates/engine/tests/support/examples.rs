//! What tests know of each kind: one file in `tests/kinds`, read here. A new kind is one more file there; the tests go
//! over the registry, and fail for a kind without one.

use scumble_engine::kinds::registry::KINDS;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use std::path::Path;
use std::sync::LazyLock;

/// The examples of all kinds.
pub static EXAMPLES: LazyLock<Vec<KindExamples>> = LazyLock::new(|| KINDS.iter().map(|kind| read(kind.name)).collect());

/// The examples of a kind.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct KindExamples {
    #[serde(skip)]
    pub kind: &'static str,
    /// Releases whose costs are compared with what was asked, and which are replayed.
    pub cost: Vec<CostExample>,
    /// Releases of large tables.
    pub large: Vec<LargeExample>,
    /// Releases with strings as owners, keys, values and conditions wherever the kind takes them.
    pub strings: Vec<StringsExample>,
    /// Releases whose intervals are counted.
    pub covered: Vec<CoveredExample>,
    /// Releases that show that the kind publishes no interval.
    pub without: Vec<PlainExample>,
}

/// One release, which columns it reads, and how it is calibrated.
#[derive(Debug, Clone, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
pub struct CostExample {
    /// Its place among those of all kinds: golden files are numbered by it. New ones come last.
    pub order: Order,
    pub fields: String,
    /// Why the calibration is not continuous, so that no tightness is asked for; empty where it is.
    pub loose: String,
    /// Whether keys or values are selected privately, which takes a δ.
    pub selects: bool,
    /// Whether the noise is pure (so that a cost of ε alone is met without δ); otherwise ε takes the budget's δ.
    pub pure: Yes,
    pub rho: Yes,
    pub attributes: Vec<String>,
    /// Whether it takes a cost for each of these.
    pub each: bool,
}

/// A release, and the least that its plan must say, in bytes; none where its public sizes make it hold next to nothing.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct LargeExample {
    pub fields: String,
    pub least: u64,
}

/// A release with its cost.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct StringsExample {
    #[serde(default)]
    pub order: Order,
    pub fields: String,
}

/// A release of tiny tables, and what is true of them: what the release says at another cost, the number beside each
/// key, or counts that the band of an anonymized histogram is around, everywhere at once.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoveredExample {
    #[serde(default)]
    pub order: Order,
    pub fields: String,
    /// ε = 1 where it does not say.
    pub cost: Option<String>,
    pub true_at: Option<String>,
    pub counts: Option<Vec<(String, f64)>>,
    pub band: Option<Vec<u64>>,
    /// The columns that name a row; all other columns with intervals are compared.
    #[serde(default)]
    pub keys: Vec<String>,
}

/// A release and its cost.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct PlainExample {
    pub fields: String,
    pub cost: String,
}

/// A place in an order; the last one where nothing is said.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Deserialize)]
pub struct Order(u32);

impl Default for Order {
    fn default() -> Self {
        Self(u32::MAX)
    }
}

/// True where nothing is said.
#[derive(Debug, Clone, Copy, Deserialize)]
pub struct Yes(pub bool);

impl Default for Yes {
    fn default() -> Self {
        Self(true)
    }
}

/// Examples of all kinds in their order, each with its kind.
pub fn in_order<T: 'static>(
    part: fn(&KindExamples) -> &[T],
    order: fn(&T) -> Order,
) -> Vec<(&'static str, &'static T)> {
    let of_kind = |one: &'static KindExamples| part(one).iter().map(|example| (one.kind, example));
    let mut all: Vec<_> = EXAMPLES.iter().flat_map(of_kind).collect();
    all.sort_by_key(|(_, example)| order(example));
    all
}

/// The kinds without an example of some sort.
pub fn kinds_without(part: fn(&KindExamples) -> bool) -> Vec<&'static str> {
    EXAMPLES.iter().filter(|one| !part(one)).map(|one| one.kind).collect()
}

fn read(kind: &'static str) -> KindExamples {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(format!("tests/kinds/{kind}.toml"));
    let text = std::fs::read_to_string(&path);
    let text = text.unwrap_or_else(|_| panic!("kind {kind} has no examples: write {}", path.display()));
    KindExamples { kind, ..parsed(&path, &text) }
}

fn parsed<T: DeserializeOwned>(path: &Path, text: &str) -> T {
    toml::from_str(text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}
