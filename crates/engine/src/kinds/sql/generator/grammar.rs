//! Random expressions from the grammar that queries may use on private rows.

use super::bytes::Bytes;
use super::expression::{Expr, ExprKind, Type};
use super::query::UsableColumn;
use super::value::{CellValue, TEXTS};

/// Draws expressions over some columns.
pub(crate) struct Grammar<'a, 'b> {
    pub bytes: &'a mut Bytes<'b>,
    pub columns: &'a [UsableColumn],
    /// How often, of a hundred times, a part has another type than its neighbours.
    mixed: usize,
}

const LITERALS: [i64; 12] = [1, 0, 2, 5, -1, 7, 57, 127, 128, 300, 1 << 31, i64::MAX];
const FRACTIONS: [f64; 7] = [0.5, 1.0, 2.5, 2.7, 0.04, -1.5, 1e6];
const COMPARISONS: [&str; 8] = ["=", "<", "<=", ">", ">=", "<>", "IS DISTINCT FROM", "IS NOT DISTINCT FROM"];

impl<'a, 'b> Grammar<'a, 'b> {
    /// An expression over some columns: mostly of fitting types, now and then mixed all over.
    pub fn over(bytes: &'a mut Bytes<'b>, columns: &'a [UsableColumn]) -> Self {
        let mixed = bytes.pick(&[0, 3, 3, 8, 40]);
        Self { bytes, columns, mixed }
    }

    /// An expression of any type.
    pub fn any(&mut self, depth: usize) -> Expr {
        let of = self.bytes.pick(&[Type::Int, Type::Text, Type::Bool, Type::Float]);
        let dated = self.dated().filter(|_| self.bytes.chance(20));
        self.of(dated.unwrap_or(of), depth)
    }

    /// The type of a column of dates or times, if there is one.
    pub fn dated(&mut self) -> Option<Type> {
        let dated: Vec<Type> =
            self.columns.iter().filter(|known| !known.owner && known.of.is_date()).map(|known| known.of).collect();
        (!dated.is_empty()).then(|| self.bytes.pick(&dated))
    }

    /// A number, mostly of columns that have bounds: sums of others are refused.
    pub fn summed(&mut self, depth: usize) -> Expr {
        match self.bytes.below(12) {
            0 | 1 => return self.number(depth),
            2 => return self.mixed_case(&[Type::Int, Type::Float]),
            _ => {}
        }
        let bounded: Vec<UsableColumn> =
            self.columns.iter().filter(|known| !(known.wild && known.of.is_number())).cloned().collect();
        Grammar { bytes: self.bytes, columns: &bounded, mixed: self.mixed }.number(depth)
    }

    pub fn number(&mut self, depth: usize) -> Expr {
        let of = if self.bytes.chance(35) { Type::Float } else { Type::Int };
        self.of(of, depth)
    }

    /// An expression of this type, nearly always.
    fn near(&mut self, of: Type, depth: usize) -> Expr {
        if self.bytes.chance(self.mixed) { self.any(depth) } else { self.of(of, depth) }
    }

    pub fn of(&mut self, of: Type, depth: usize) -> Expr {
        if depth == 0 || self.bytes.chance(35) {
            return self.leaf(of);
        }
        if self.bytes.chance(25) {
            return self.choice(of, depth - 1);
        }
        match of {
            Type::Bool => self.truth(depth - 1),
            Type::Int | Type::Narrow => self.whole(depth - 1),
            Type::Float => self.fraction(depth - 1),
            Type::Text => self.words(depth - 1),
            Type::Date | Type::Time => self.date(of, depth - 1),
        }
    }

    /// A column, or a literal.
    fn leaf(&mut self, of: Type) -> Expr {
        let fitting: Vec<&UsableColumn> = self.columns.iter().filter(|known| !known.owner && known.of == of).collect();
        if !fitting.is_empty() && !self.bytes.chance(15) {
            let mut column = self.bytes.pick(&fitting).expression();
            // Sometimes without the table, where the name alone says which column it is and no alias can be meant.
            if let ExprKind::Column { table, name } = &mut column.kind
                && self.columns.iter().filter(|known| known.name == *name).count() == 1
                && !super::query::ALIASES.contains(&name.as_str())
                && self.bytes.chance(30)
            {
                table.clear();
            }
            return column;
        }
        match of {
            _ if self.bytes.chance(6) => Expr::literal(CellValue::Null, of),
            Type::Bool => Expr::literal(CellValue::Bool(!self.bytes.chance(50)), of),
            Type::Int | Type::Narrow => Expr::literal(CellValue::Int(self.bytes.pick(&LITERALS)), Type::Int),
            Type::Float => Expr::literal(CellValue::Float(self.bytes.pick(&FRACTIONS)), of),
            Type::Text => Expr::literal(CellValue::text(self.bytes.pick(&TEXTS)), of),
            Type::Date => Expr::literal(CellValue::Date(self.bytes.pick(&[0, 15_706, 11_016, 15_800])), of),
            Type::Time => {
                let second = self.bytes.pick(&[0, 15_706 * 86_400, 15_750 * 86_400 + 3661, -1]);
                Expr::literal(CellValue::Moment(second * 1_000_000_000), of)
            }
        }
    }

    /// CASE whose branches have different types: what it is before and after type coercion differs.
    pub fn mixed_case(&mut self, types: &[Type]) -> Expr {
        let mut parts = Vec::new();
        for _ in 0..2 {
            parts.push(self.of(Type::Bool, 1));
            let of = self.bytes.pick(types);
            parts.push(self.leaf(of));
        }
        let of = self.bytes.pick(types);
        parts.push(self.leaf(of));
        let of = parts[1].of.or(parts[3].of).or(parts[4].of);
        Expr::new(ExprKind::Case { operand: false, otherwise: true }, of, parts)
    }

    /// CASE, COALESCE, NULLIF, GREATEST, LEAST.
    fn choice(&mut self, of: Type, depth: usize) -> Expr {
        match self.bytes.below(8) {
            0 => self.pair("COALESCE", of, depth),
            1 => self.pair("NULLIF", of, depth),
            2 if of != Type::Bool => self.pair("GREATEST", of, depth),
            3 if of != Type::Bool => self.pair("LEAST", of, depth),
            4 => {
                let operand = self.any(depth);
                let parts = vec![operand.clone(), self.near(operand.of, 0), self.near(of, depth), self.near(of, depth)];
                let of = parts[2].of.or(parts[3].of);
                Expr::new(ExprKind::Case { operand: true, otherwise: true }, of, parts)
            }
            _ => {
                let mut parts = Vec::new();
                for _ in 0..1 + self.bytes.below(2) {
                    parts.push(self.of(Type::Bool, depth));
                    parts.push(self.near(of, depth));
                }
                let otherwise = self.bytes.chance(70);
                if otherwise {
                    parts.push(self.near(of, depth));
                }
                let branches = parts.len() - usize::from(otherwise);
                let values = parts[..branches].iter().skip(1).step_by(2).chain(&parts[branches..]);
                let of = values.map(|part| part.of).reduce(Type::or).unwrap_or(of);
                Expr::new(ExprKind::Case { operand: false, otherwise }, of, parts)
            }
        }
    }

    fn pair(&mut self, name: &'static str, of: Type, depth: usize) -> Expr {
        let (left, right) = (self.of(of, depth), self.near(of, depth));
        let of = if name == "NULLIF" { left.of } else { left.of.or(right.of) };
        Expr::new(ExprKind::Call(name), of, vec![left, right])
    }

    fn truth(&mut self, depth: usize) -> Expr {
        match self.bytes.below(10) {
            0 | 1 => {
                let left = self.any(depth);
                let right = self.near(left.of, depth);
                Expr::binary(self.bytes.pick(&COMPARISONS), Type::Bool, left, right)
            }
            2 => {
                let word = self.bytes.pick(&["AND", "OR"]);
                let (left, right) = (self.of(Type::Bool, depth), self.of(Type::Bool, depth));
                Expr::binary(word, Type::Bool, left, right)
            }
            3 => Expr::new(ExprKind::Not, Type::Bool, vec![self.of(Type::Bool, depth)]),
            4 => {
                let words = self.bytes.pick(&["NULL", "NOT NULL"]);
                Expr::new(ExprKind::Is(words), Type::Bool, vec![self.any(depth)])
            }
            5 => {
                let words = self.bytes.pick(&["TRUE", "NOT TRUE", "FALSE", "NOT FALSE", "UNKNOWN", "NOT UNKNOWN"]);
                Expr::new(ExprKind::Is(words), Type::Bool, vec![self.of(Type::Bool, depth)])
            }
            6 => {
                let first = self.any(depth);
                let parts = vec![first.clone(), self.near(first.of, 0), self.near(first.of, 0)];
                Expr::new(ExprKind::Between { not: self.bytes.chance(30) }, Type::Bool, parts)
            }
            7 => {
                let first = self.any(depth);
                let mut parts = vec![first.clone()];
                (0..1 + self.bytes.below(3)).for_each(|_| parts.push(self.near(first.of, 0)));
                Expr::new(ExprKind::In { not: self.bytes.chance(30) }, Type::Bool, parts)
            }
            8 => {
                let word = self.bytes.pick(&["LIKE", "NOT LIKE", "ILIKE"]);
                let pattern = CellValue::text(self.bytes.pick(&["a%", "%", "_", "%1", "0_%", "", "é"]));
                let parts = vec![self.near(Type::Text, depth), Expr::literal(pattern, Type::Text)];
                Expr::new(ExprKind::Like { word }, Type::Bool, parts)
            }
            _ => {
                let name = self.bytes.pick(&["starts_with", "ends_with"]);
                let parts = vec![self.of(Type::Text, depth), self.of(Type::Text, 0)];
                Expr::new(ExprKind::Call(name), Type::Bool, parts)
            }
        }
    }

    /// A date or a time by a shift, a cast or the beginning of a unit.
    fn date(&mut self, of: Type, depth: usize) -> Expr {
        let shift = |bytes: &mut Bytes<'_>| {
            bytes.pick(&[
                "+ INTERVAL '1 month'",
                "- INTERVAL '40 days'",
                "+ INTERVAL '1 year 2 days'",
                "- INTERVAL '900 years'",
            ])
        };
        match (self.bytes.below(4), of) {
            (0, of) => Expr::new(ExprKind::Shift(shift(self.bytes)), of, vec![self.of(of, depth)]),
            (_, Type::Date) => {
                let attempt = self.bytes.chance(30);
                Expr::new(ExprKind::Cast { attempt, to: "DATE" }, of, vec![self.near(Type::Time, depth)])
            }
            (1, _) => {
                Expr::new(ExprKind::Cast { attempt: false, to: "TIMESTAMP" }, of, vec![self.near(Type::Date, depth)])
            }
            _ => {
                let units = ["month", "year", "day", "week", "quarter", "hour", "minute", "second", "decade"];
                let unit = Expr::literal(CellValue::text(self.bytes.pick(&units)), Type::Text);
                let inner = self.dated().unwrap_or(Type::Time);
                Expr::new(ExprKind::Call("date_trunc"), of, vec![unit, self.of(inner, depth)])
            }
        }
    }

    /// A part of a date or time, or the days between two dates.
    fn part_of_date(&mut self, depth: usize) -> Expr {
        let of = self.dated().unwrap_or(Type::Date);
        if self.bytes.chance(25) {
            let (left, right) = (self.of(Type::Date, depth), self.of(Type::Date, depth));
            return Expr::binary("-", Type::Int, left, right);
        }
        if self.bytes.chance(10) {
            return Expr::new(
                ExprKind::Cast { attempt: false, to: "INT" },
                Type::Narrow,
                vec![self.of(Type::Date, depth)],
            );
        }
        let parts = [
            "year", "month", "day", "quarter", "week", "dow", "isodow", "doy", "isoyear", "hour", "minute", "second",
            "epoch",
        ];
        let part = self.bytes.pick(&parts);
        let number = if part == "epoch" { Type::Float } else { Type::Narrow };
        Expr::new(
            ExprKind::Call("date_part"),
            number,
            vec![Expr::literal(CellValue::text(part), Type::Text), self.of(of, depth)],
        )
    }

    fn whole(&mut self, depth: usize) -> Expr {
        if self.columns.iter().any(|known| known.of.is_date()) && self.bytes.chance(25) {
            return self.part_of_date(depth);
        }
        match self.bytes.below(9) {
            0 | 1 => {
                let operator = self.bytes.pick(&["+", "-", "*"]);
                let (left, right) = (self.of(Type::Int, depth), self.of(Type::Int, depth));
                let of = left.of.or(right.of);
                Expr::binary(operator, of, left, right)
            }
            2 => {
                let by = CellValue::Int(self.bytes.pick(&[2, 3, -1, 10]));
                let operator = self.bytes.pick(&["/", "%"]);
                Expr::binary(operator, Type::Int, self.of(Type::Int, depth), Expr::literal(by, Type::Int))
            }
            3 => {
                let inner = self.of(Type::Int, depth);
                let kind = if self.bytes.chance(50) { ExprKind::Negative } else { ExprKind::Call("abs") };
                Expr::new(kind, inner.of, vec![inner])
            }
            4 | 5 => {
                let inner = self.any(depth);
                let (to, of) = self.bytes.pick(&[
                    ("BIGINT", Type::Int),
                    ("INT", Type::Narrow),
                    ("SMALLINT", Type::Narrow),
                    ("TINYINT", Type::Narrow),
                    ("BIGINT", Type::Int),
                    ("SMALLINT", Type::Narrow),
                    ("INT UNSIGNED", Type::Narrow),
                ]);
                Expr::new(ExprKind::Cast { attempt: self.bytes.chance(40), to }, of, vec![inner])
            }
            6 => Expr::new(ExprKind::Call("length"), Type::Narrow, vec![self.of(Type::Text, depth)]),
            7 => {
                let parts = vec![self.of(Type::Text, depth), self.of(Type::Text, 0)];
                Expr::new(ExprKind::Call("strpos"), Type::Narrow, parts)
            }
            _ => {
                let rounded =
                    Expr::new(ExprKind::Call(self.rounding()), Type::Float, vec![self.of(Type::Float, depth)]);
                Expr::new(ExprKind::Cast { attempt: self.bytes.chance(40), to: "BIGINT" }, Type::Int, vec![rounded])
            }
        }
    }

    fn rounding(&mut self) -> &'static str {
        self.bytes.pick(&["floor", "ceil", "round", "trunc"])
    }

    fn fraction(&mut self, depth: usize) -> Expr {
        let kinds = if self.bytes.wide { 8 } else { 7 };
        match self.bytes.below(kinds) {
            7 => {
                let name = self.bytes.pick(&["sqrt", "ln", "exp", "log10", "power"]);
                let mut parts = vec![self.number(depth)];
                if name == "power" {
                    let written = CellValue::Float(self.bytes.pick(&[2.0, 0.5, 3.0, -1.0, -0.5, 0.0, 1.5]));
                    let exponent = Expr::literal(written, Type::Float);
                    parts.push(if self.bytes.chance(25) { self.number(depth) } else { exponent });
                }
                Expr::new(ExprKind::Call(name), Type::Float, parts)
            }
            0 | 1 => {
                let operator = self.bytes.pick(&["+", "-", "*"]);
                let (left, right) = (self.of(Type::Float, depth), self.number(depth));
                Expr::binary(operator, Type::Float, left, right)
            }
            2 => {
                let by = CellValue::Float(self.bytes.pick(&[2.0, 0.1, -3.0]));
                let operator = if self.bytes.chance(20) { "%" } else { "/" };
                Expr::binary(operator, Type::Float, self.number(depth), Expr::literal(by, Type::Float))
            }
            3 => {
                let to = self.bytes.pick(&["DOUBLE", "DOUBLE", "DOUBLE", "REAL", "DECIMAL(10, 2)"]);
                Expr::new(ExprKind::Cast { attempt: self.bytes.chance(40), to }, Type::Float, vec![self.any(depth)])
            }
            4 => Expr::new(ExprKind::Call(self.rounding()), Type::Float, vec![self.number(depth)]),
            5 => {
                let kind = self.bytes.pick(&[ExprKind::Negative, ExprKind::Call("abs"), ExprKind::Call("signum")]);
                Expr::new(kind, Type::Float, vec![self.of(Type::Float, depth)])
            }
            _ => {
                let text = CellValue::text(self.bytes.pick(&["NaN", "inf", "1.5"]));
                Expr::new(
                    ExprKind::Cast { attempt: true, to: "DOUBLE" },
                    Type::Float,
                    vec![Expr::literal(text, Type::Text)],
                )
            }
        }
    }

    /// A text that is written out, nearly always: some functions want that.
    fn spelled(&mut self) -> Expr {
        if self.bytes.chance(5) {
            return self.of(Type::Text, 0);
        }
        Expr::literal(CellValue::text(self.bytes.pick(&TEXTS)), Type::Text)
    }

    fn words(&mut self, depth: usize) -> Expr {
        let short = |bytes: &mut Bytes<'_>| Expr::literal(CellValue::Int(bytes.pick(&[1, 0, 2, -1])), Type::Int);
        let kinds = if self.bytes.wide { 8 } else { 7 };
        match self.bytes.below(kinds) {
            7 => {
                let from = Expr::literal(CellValue::Int(self.bytes.pick(&[1, 2, 0, -1])), Type::Int);
                Expr::new(
                    ExprKind::Call("substr"),
                    Type::Text,
                    vec![self.of(Type::Text, depth), from, short(self.bytes)],
                )
            }
            0 => {
                let name = self.bytes.pick(&["lower", "upper", "trim", "ltrim", "rtrim"]);
                Expr::new(ExprKind::Call(name), Type::Text, vec![self.of(Type::Text, depth)])
            }
            1 => {
                let name = self.bytes.pick(&["left", "right"]);
                let parts = vec![self.of(Type::Text, depth), short(self.bytes)];
                Expr::new(ExprKind::Call(name), Type::Text, parts)
            }
            2 => {
                let parts = vec![self.of(Type::Text, depth), self.spelled(), self.spelled()];
                Expr::new(ExprKind::Call("replace"), Type::Text, parts)
            }
            3 => Expr::new(ExprKind::Call("concat"), Type::Text, vec![self.of(Type::Text, depth), self.any(depth)]),
            4 => {
                let (left, right) = (self.of(Type::Text, depth), self.near(Type::Text, depth));
                Expr::binary("||", Type::Text, left, right)
            }
            _ => {
                let attempt = self.bytes.chance(30);
                Expr::new(ExprKind::Cast { attempt, to: "VARCHAR" }, Type::Text, vec![self.any(depth)])
            }
        }
    }
}
