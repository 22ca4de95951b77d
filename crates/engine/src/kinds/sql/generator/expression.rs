//! Expressions of our own, with the types that we expect of them, so that they can be written in two dialects.

use super::value::CellValue;
use crate::calendar::{shown_day, shown_moment};

/// What an expression gives.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Type {
    Bool,
    /// Whole numbers of 64 bits.
    Int,
    /// Whole numbers of fewer bits.
    Narrow,
    Float,
    Text,
    Date,
    Time,
}

impl Type {
    pub fn is_number(self) -> bool {
        matches!(self, Self::Int | Self::Narrow | Self::Float)
    }

    pub fn is_date(self) -> bool {
        matches!(self, Self::Date | Self::Time)
    }

    pub fn is_whole(self) -> bool {
        matches!(self, Self::Int | Self::Narrow)
    }

    /// The type of one of two.
    pub fn or(self, other: Self) -> Self {
        match (self, other) {
            (left, right) if left == right => left,
            (left, right) if left.is_whole() && right.is_whole() => Self::Int,
            (Self::Date, Self::Time) | (Self::Time, Self::Date) => Self::Time,
            (left, right) if left.is_number() && right.is_number() => Self::Float,
            _ => Self::Text,
        }
    }
}

#[derive(Debug, Clone)]
pub(crate) struct Expr {
    pub kind: ExprKind,
    pub parts: Vec<Expr>,
    pub of: Type,
    /// Whether a number has no public bounds, so that arithmetic may leave what numbers can hold.
    pub wild: bool,
}

#[derive(Debug, Clone, PartialEq)]
pub(crate) enum ExprKind {
    Column {
        table: String,
        name: String,
    },
    Literal(CellValue),
    Negative,
    Not,
    Binary(&'static str),
    Call(&'static str),
    /// An interval is added or taken away.
    Shift(&'static str),
    Cast {
        attempt: bool,
        to: &'static str,
    },
    /// CASE [operand] WHEN … THEN …, … [ELSE …].
    Case {
        operand: bool,
        otherwise: bool,
    },
    /// IS NULL, IS NOT TRUE, …
    Is(&'static str),
    Between {
        not: bool,
    },
    In {
        not: bool,
    },
    Like {
        word: &'static str,
    },
}

impl Expr {
    pub fn new(kind: ExprKind, of: Type, parts: Vec<Expr>) -> Self {
        let wild = parts.iter().any(|part| part.wild);
        Self { kind, parts, of, wild }
    }

    pub fn literal(value: CellValue, of: Type) -> Self {
        let wild = matches!(value, CellValue::Int(n) if n.unsigned_abs() > 1 << 53);
        Self { kind: ExprKind::Literal(value), parts: Vec::new(), of, wild }
    }

    pub fn binary(operator: &'static str, of: Type, left: Expr, right: Expr) -> Self {
        Self::new(ExprKind::Binary(operator), of, vec![left, right])
    }

    /// The query's text, with all parentheses.
    pub fn text(&self) -> String {
        let part = |index: usize| self.parts[index].text();
        match &self.kind {
            ExprKind::Column { table, name } if table.is_empty() => quoted(name),
            ExprKind::Column { table, name } => format!("{}.{}", quoted(table), quoted(name)),
            ExprKind::Literal(value) => literal(value),
            ExprKind::Negative => format!("(-{})", part(0)),
            ExprKind::Not => format!("(NOT {})", part(0)),
            ExprKind::Binary(operator) => format!("({} {operator} {})", part(0), part(1)),
            ExprKind::Call(name) => format!("{name}({})", listed(&self.parts)),
            ExprKind::Shift(by) => format!("({} {by})", part(0)),
            ExprKind::Cast { attempt, to } => {
                format!("{}({} AS {to})", if *attempt { "TRY_CAST" } else { "CAST" }, part(0))
            }
            ExprKind::Case { operand, otherwise } => self.case(*operand, *otherwise, &Expr::text),
            ExprKind::Is(words) => format!("({} IS {words})", part(0)),
            ExprKind::Between { not } => format!("({}{} BETWEEN {} AND {})", part(0), negated(*not), part(1), part(2)),
            ExprKind::In { not } => format!("({}{} IN ({}))", part(0), negated(*not), listed(&self.parts[1..])),
            ExprKind::Like { word } => format!("({} {word} {})", part(0), part(1)),
        }
    }

    /// CASE in any dialect.
    pub fn case(&self, operand: bool, otherwise: bool, write: &dyn Fn(&Expr) -> String) -> String {
        let mut text = "CASE".to_string();
        let mut parts = self.parts.as_slice();
        if operand {
            text.push_str(&format!(" {}", write(&parts[0])));
            parts = &parts[1..];
        }
        let branches = parts.len() - usize::from(otherwise);
        for pair in parts[..branches].chunks(2) {
            text.push_str(&format!(" WHEN {} THEN {}", write(&pair[0]), write(&pair[1])));
        }
        if otherwise {
            text.push_str(&format!(" ELSE {}", write(&parts[branches])));
        }
        text + " END"
    }

    /// Simpler expressions in its place, simplest first.
    pub fn simpler(&self) -> Vec<Expr> {
        let mut all = Vec::new();
        if !matches!(self.kind, ExprKind::Literal(_) | ExprKind::Column { .. }) {
            let simplest = match self.of {
                Type::Bool => CellValue::Bool(true),
                Type::Int | Type::Narrow => CellValue::Int(1),
                Type::Float => CellValue::Float(0.5),
                Type::Text => CellValue::text("a"),
                Type::Date => CellValue::Date(0),
                Type::Time => CellValue::Moment(0),
            };
            all.push(Expr::literal(simplest, self.of));
            all.extend(self.parts.iter().filter(|part| part.of == self.of).cloned());
        }
        if let ExprKind::Case { operand: false, otherwise } = self.kind
            && self.parts.len() > 3
        {
            all.push(Expr {
                parts: self.parts[2..].to_vec(),
                kind: ExprKind::Case { operand: false, otherwise },
                ..self.clone()
            });
        }
        for (index, part) in self.parts.iter().enumerate() {
            for smaller in part.simpler() {
                let mut copy = self.clone();
                copy.parts[index] = smaller;
                all.push(copy);
            }
        }
        all
    }
}

fn listed(parts: &[Expr]) -> String {
    parts.iter().map(Expr::text).collect::<Vec<_>>().join(", ")
}

pub(crate) fn negated(not: bool) -> &'static str {
    if not { " NOT" } else { "" }
}

/// A name, in quotes where it is no plain word.
pub(crate) fn quoted(name: &str) -> String {
    let plain = name.chars().all(|c| c.is_ascii_lowercase() || c == '_' || c.is_ascii_digit());
    if plain && !["group", "select", "count", ""].contains(&name) {
        name.to_string()
    } else {
        format!("\"{}\"", name.replace('"', "\"\""))
    }
}

pub(crate) fn literal(value: &CellValue) -> String {
    match value {
        CellValue::Null => "NULL".to_string(),
        CellValue::Bool(truth) => truth.to_string().to_uppercase(),
        CellValue::Int(number) if *number < 0 => format!("({number})"),
        CellValue::Int(number) => number.to_string(),
        CellValue::Float(number) if number.is_sign_negative() => format!("({number:?})"),
        CellValue::Float(number) => format!("{number:?}"),
        CellValue::Text(text) => format!("'{}'", text.replace('\'', "''")),
        CellValue::Date(day) => format!("DATE '{}'", shown_day(*day)),
        CellValue::Moment(moment) => format!("TIMESTAMP '{}'", shown_moment(*moment)),
    }
}
