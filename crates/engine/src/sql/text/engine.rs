//! The engines that SQL is written for, and the few words that each has its own for.

use datafusion::sql::sqlparser::ast;
use datafusion::sql::sqlparser::keywords::ALL_KEYWORDS;
use datafusion::sql::unparser::dialect::Dialect;

/// An engine that a private plan is written for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Engine {
    /// DataFusion in this process, with `scumble_sha256`: for tests, and for the text that the ledger holds.
    Embedded,
    /// PostgreSQL, from version 11 on.
    Postgres,
    /// DuckDB.
    DuckDb,
    /// Apache Spark, from version 3 on.
    Spark,
    /// Google BigQuery.
    BigQuery,
    /// DataFusion as executors of Apache Ballista have it, without functions of ours.
    Ballista,
}

impl Engine {
    /// Those that a job is written for, by name.
    pub const NAMED: [(&'static str, Self); 5] = [
        ("postgres", Self::Postgres),
        ("duckdb", Self::DuckDb),
        ("datafusion", Self::Ballista),
        ("spark", Self::Spark),
        ("bigquery", Self::BigQuery),
    ];

    /// The engine of this name.
    pub fn named(name: &str) -> Option<Self> {
        Self::NAMED.iter().find(|(known, _)| *known == name).map(|(_, engine)| *engine)
    }

    /// What must be true of it besides what is true of all.
    pub fn demands(self) -> &'static [&'static str] {
        match self {
            Self::Embedded => &[],
            Self::Ballista => &["The engine is Apache DataFusion 55 or later."],
            Self::Postgres => &[
                "The server is PostgreSQL 11 or later, and its database has the encoding UTF8.",
                "Run all statements in one transaction: BEGIN ISOLATION LEVEL REPEATABLE READ READ ONLY.",
                "Save each result with \\copy (…) TO 'FILE.csv' WITH (FORMAT csv, HEADER).",
            ],
            Self::DuckDb => &[
                "Run all statements in one transaction.",
                "Save each result with COPY (…) TO 'FILE.csv' (HEADER), or TO 'FILE.parquet'.",
            ],
            Self::Spark => &[
                "spark.sql.ansi.enabled is true: then what overflows fails and is not another number.",
                "The tables do not change between the statements.",
                "Save each result as Parquet; as CSV with .option(\"header\", true).option(\"escape\", \"\\\"\").option(\"emptyValue\", \"\\\"\\\"\").",
            ],
            Self::BigQuery => &[
                "No number is NaN: BigQuery compares it with nothing, and the statement would fail.",
                "The tables are in the default dataset of the job, and do not change between the statements.",
                "Save each result as CSV with a header, or as Parquet.",
            ],
        }
    }

    /// An expression as a text.
    pub(crate) fn text(self, expression: &str) -> String {
        let kind = match self {
            Self::Spark | Self::BigQuery => "STRING",
            _ => "VARCHAR",
        };
        format!("CAST({expression} AS {kind})")
    }

    /// The SHA-256 of a text, in hexadecimal small letters.
    pub(crate) fn sha256(self, text: &str) -> String {
        match self {
            Self::Embedded => format!("scumble_sha256({text})"),
            Self::Postgres => format!("encode(sha256(convert_to({text}, 'UTF8')), 'hex')"),
            Self::DuckDb => format!("sha256({text})"),
            Self::Ballista => format!("encode(sha256({text}), 'hex')"),
            Self::Spark => format!("sha2({text}, 256)"),
            Self::BigQuery => format!("TO_HEX(SHA256({text}))"),
        }
    }

    /// A rank: the first 16 digits, or the eight bytes that they stand for, which have the same order.
    pub(crate) fn rank(self, text: &str) -> String {
        match self {
            Self::Postgres => format!("substr(sha256(convert_to({text}, 'UTF8')), 1, 8)"),
            _ => self.rank_text(text),
        }
    }

    /// A rank that becomes part of a text: its 16 digits.
    pub(crate) fn rank_text(self, text: &str) -> String {
        match self {
            Self::Postgres => format!("encode({}, 'hex')", self.rank(text)),
            _ => format!("LEFT({}, 16)", self.sha256(text)),
        }
    }

    /// A sum of whole numbers that no number of rows makes too large.
    pub(crate) fn sum(self, value: &str) -> String {
        let kind = match self {
            // Its sum of whole numbers of 64 bits is one of any length.
            Self::Postgres => return format!("COALESCE(SUM({value}), 0)"),
            Self::BigQuery => "BIGNUMERIC",
            _ => "DECIMAL(38, 0)",
        };
        format!("COALESCE(SUM(CAST({value} AS {kind})), 0)")
    }
}

impl Dialect for Engine {
    /// As DataFusion's default dialect quotes. That one compiles a regular expression for each name that it writes,
    /// which took half of the time in which a release was planned.
    fn identifier_quote_style(&self, name: &str) -> Option<char> {
        let mut bytes = name.bytes();
        let is_plain = bytes.next().is_some_and(|first| first.is_ascii_lowercase() || first == b'_')
            && bytes.all(|byte| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'_');
        let upper = name.to_uppercase();
        let is_keyword = upper != "ID" && ALL_KEYWORDS.binary_search(&upper.as_str()).is_ok();
        let mark = if matches!(self, Self::Spark | Self::BigQuery) { '`' } else { '"' };
        (!is_plain || is_keyword).then_some(mark)
    }

    fn float64_ast_dtype(&self) -> ast::DataType {
        match self {
            Self::Postgres => ast::DataType::DoublePrecision,
            Self::BigQuery => ast::DataType::Float64,
            _ => ast::DataType::Double(ast::ExactNumberInfo::None),
        }
    }

    fn utf8_cast_dtype(&self) -> ast::DataType {
        match self {
            Self::Spark | Self::BigQuery => ast::DataType::String(None),
            _ => ast::DataType::Varchar(None),
        }
    }

    fn int64_cast_dtype(&self) -> ast::DataType {
        if *self == Self::BigQuery { ast::DataType::Int64 } else { ast::DataType::BigInt(None) }
    }

    fn int8_cast_dtype(&self) -> ast::DataType {
        if *self == Self::Postgres { ast::DataType::SmallInt(None) } else { ast::DataType::TinyInt(None) }
    }

    fn requires_derived_table_alias(&self) -> bool {
        *self != Self::Embedded
    }

    fn supports_column_alias_in_table_alias(&self) -> bool {
        !matches!(self, Self::Spark | Self::BigQuery)
    }

    /// A text in quotes. The writer that DataFusion uses leaves two quotes, or a backslash before one, as they are, and
    /// so writes another text. Spark and BigQuery read a backslash as the beginning of another character, and two
    /// quotes as none.
    fn string_literal_to_sql(&self, text: &str) -> Option<ast::Expr> {
        let escaped = match self {
            Self::Spark | Self::BigQuery => {
                let plain = text.replace('\\', "\\\\").replace('\'', "\\'");
                let plain = plain.replace('\n', "\\n").replace('\r', "\\r");
                // Spark replaces ${…} before it reads anything, in texts too.
                if *self == Self::Spark { plain.replace("${", "\\u0024{") } else { plain }
            }
            _ => text.replace('\'', "''"),
        };
        // An identifier without quotes is written as it is.
        Some(ast::Expr::Identifier(ast::Ident::new(format!("'{escaped}'"))))
    }
}
