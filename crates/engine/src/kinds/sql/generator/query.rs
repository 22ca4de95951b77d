//! Whole queries: what is read, filtered, grouped, aggregated, and done with the results.

use super::bytes::Bytes;
use super::expression::{Expr, Type, quoted};
pub(crate) use super::from::UsableColumn;
use super::from::{FromClause, InnerAggregate, Join, PerOwnerQuery, Select, Writer};
use super::grammar::Grammar;
use super::world::{World, WorldOwnership};

#[derive(Debug, Clone)]
pub(crate) struct RandomQuery {
    pub from: FromClause,
    pub filter: Option<Expr>,
    pub keys: Vec<QueryKey>,
    /// The keys in the order of GROUP BY, some of them twice.
    pub grouped: Vec<usize>,
    /// ROLLUP or CUBE around the keys.
    pub sets: Option<&'static str>,
    pub aggregates: Vec<Aggregate>,
    /// Whether aggregates stand before keys.
    pub aggregates_first: bool,
    /// What stands behind GROUP BY: HAVING, ORDER BY, LIMIT.
    pub rest: Vec<String>,
    /// Whether all of it is a sub-query.
    pub wrapped: bool,
    /// The second branch of a UNION ALL, over the same rows.
    pub beside: Option<Box<RandomQuery>>,
}

#[derive(Debug, Clone)]
pub(crate) struct QueryKey {
    pub expression: Expr,
    pub shown: bool,
    pub alias: Option<String>,
    pub by: KeyReference,
}

/// How GROUP BY names a key.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum KeyReference {
    Expression,
    Place,
    Alias,
}

#[derive(Debug, Clone)]
pub(crate) struct Aggregate {
    pub function: AggregateKind,
    pub argument: Option<Expr>,
    /// The second argument of a [`AggregateKind::Pair`].
    pub second: Option<Expr>,
    pub filter: Option<Expr>,
    pub alias: Option<String>,
    /// Arithmetic on the released number.
    pub after: &'static str,
}

#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum AggregateKind {
    Rows,
    Count,
    Different,
    Sum,
    /// AVG, VAR, STDDEV, MIN, MAX, MEDIAN by name.
    Named(&'static str),
    Percentile(&'static str),
    /// Of two columns; the second is a number that is written out or another expression.
    Pair(&'static str),
    /// From the other end where it is descending.
    Within {
        fraction: &'static str,
        descending: bool,
    },
}

pub(crate) const ALIASES: [&str; 12] = [
    "n",
    "k",
    "total",
    "n_error",
    "count",
    "scumble row",
    "Total Sum",
    "é",
    "select",
    "scumble owner",
    "N",
    "scumble_key_0",
];

impl RandomQuery {
    pub fn drawn(bytes: &mut Bytes<'_>, world: &World) -> Self {
        let mut names = 0;
        let from = source(bytes, world, &mut names);
        let columns = from.columns(world);
        let filter = bytes.chance(35).then(|| Grammar::over(bytes, &columns).of(Type::Bool, 2));
        let count = [1, 0, 1, 2, 1][bytes.below(5)];
        let keys: Vec<QueryKey> = (0..count).map(|_| key(bytes, &columns)).collect();
        let mut grouped: Vec<usize> = (0..keys.len()).collect();
        let can_be_sets = bytes.wide && !keys.is_empty() && !keys.iter().any(|key| is_literal(&key.expression));
        let sets = (can_be_sets && bytes.chance(15)).then(|| bytes.pick(&["ROLLUP", "CUBE"]));
        if !keys.is_empty() && sets.is_none() && bytes.chance(15) {
            grouped.push(bytes.below(keys.len()));
        }
        if sets.is_none() && bytes.chance(20) {
            grouped.reverse();
        }
        let aggregates: Vec<Aggregate> = (0..1 + bytes.below(3)).map(|_| aggregate(bytes, &columns)).collect();
        let mut query = Self {
            from,
            filter,
            keys,
            grouped,
            sets,
            aggregates,
            aggregates_first: bytes.chance(20),
            rest: Vec::new(),
            wrapped: bytes.chance(6),
            beside: None,
        };
        query.name_once(bytes);
        query.rest = rest(bytes, &query);
        query.beside = (bytes.wide && bytes.chance(10)).then(|| Box::new(query.another(bytes, &columns)));
        query
    }

    /// A query with as many columns: other rows, and other aggregates.
    fn another(&self, bytes: &mut Bytes<'_>, columns: &[UsableColumn]) -> Self {
        let filter = bytes.chance(60).then(|| Grammar::over(bytes, columns).of(Type::Bool, 2));
        let aggregates = self.aggregates.iter().map(|one| {
            let other = if bytes.chance(50) { aggregate(bytes, columns) } else { one.clone() };
            Aggregate { alias: one.alias.clone(), ..other }
        });
        let mut other = Self { filter, aggregates: aggregates.collect(), rest: Vec::new(), ..self.clone() };
        other.rest = rest(bytes, &other);
        other
    }

    /// Two outputs of one name are refused, which would be most queries: a name that is taken goes, nearly always.
    fn name_once(&mut self, bytes: &mut Bytes<'_>) {
        let mut taken = std::collections::BTreeSet::new();
        let keys = self.keys.iter_mut().map(|key| (&mut key.alias, 'k'));
        let aggregates = self.aggregates.iter_mut().map(|aggregate| (&mut aggregate.alias, 'm'));
        for (index, (alias, letter)) in keys.chain(aggregates).enumerate() {
            let free = alias.as_ref().is_some_and(|name| taken.insert(name.clone()));
            if !free && (alias.is_some() || bytes.chance(60)) && !bytes.chance(3) {
                *alias = Some(format!("{letter}{index}"));
            }
        }
    }

    /// The query's text.
    pub fn text(&self, world: &World) -> String {
        match &self.beside {
            None => self.branch_text(world),
            Some(other) => format!("({}) UNION ALL ({})", self.branch_text(world), other.branch_text(world)),
        }
    }

    /// The branches of a UNION ALL, or the query alone.
    pub fn branches(&self) -> Vec<Self> {
        let alone = |query: &Self| Self { beside: None, ..query.clone() };
        std::iter::once(self).chain(self.beside.as_deref()).map(alone).collect()
    }

    fn branch_text(&self, world: &World) -> String {
        let writer = Writer { expression: &|expression| Some(expression.text()), carries_owner: false };
        let mut common = Vec::new();
        let from = self.from.text(world, &writer, &mut common).unwrap_or_default();
        let with = if common.is_empty() { String::new() } else { format!("WITH {} ", common.join(", ")) };
        let filter = self.filter.as_ref().map_or(String::new(), |filter| format!(" WHERE {}", filter.text()));
        let grouped: Vec<String> = self.grouped.iter().map(|key| self.group_text(*key)).collect();
        let grouped = match (self.sets, grouped.is_empty()) {
            (_, true) => String::new(),
            (None, _) => format!(" GROUP BY {}", grouped.join(", ")),
            (Some(word), _) => {
                let keys: Vec<String> = self.keys.iter().map(|key| key.expression.text()).collect();
                format!(" GROUP BY {word} ({})", keys.join(", "))
            }
        };
        let rest: String = self.rest.iter().map(|part| format!(" {part}")).collect();
        let text = format!("{with}SELECT {} FROM {from}{filter}{grouped}{rest}", self.shown().join(", "));
        if self.wrapped { format!("SELECT * FROM ({text}) AS \"all of it\"") } else { text }
    }

    fn shown(&self) -> Vec<String> {
        let named = |text: String, alias: &Option<String>| match alias {
            Some(alias) => format!("{text} AS {}", quoted(alias)),
            None => text,
        };
        let keys = self.keys.iter().filter(|key| key.shown).map(|key| named(key.expression.text(), &key.alias));
        let aggregates = self.aggregates.iter().map(|one| named(format!("{}{}", one.text(), one.after), &one.alias));
        if self.aggregates_first { aggregates.chain(keys).collect() } else { keys.chain(aggregates).collect() }
    }

    fn group_text(&self, index: usize) -> String {
        let key = &self.keys[index];
        let before = self.keys[..index].iter().filter(|key| key.shown).count();
        let place = 1 + before + if self.aggregates_first { self.aggregates.len() } else { 0 };
        match (key.by, key.shown, &key.alias) {
            (KeyReference::Place, true, _) => place.to_string(),
            (KeyReference::Alias, true, Some(alias)) => quoted(alias),
            _ => key.expression.text(),
        }
    }

    /// The query of some of the keys alone.
    pub fn only(&self, keys: &[usize]) -> Self {
        let chosen = keys.iter().map(|key| self.keys[*key].clone()).collect();
        Self { keys: chosen, grouped: (0..keys.len()).collect(), sets: None, rest: Vec::new(), ..self.clone() }
    }

    /// Simpler queries.
    pub fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if let Some(beside) = &self.beside {
            all.extend(self.branches());
            let simpler = beside.simpler().into_iter().filter(|other| other.columns_of(self));
            all.extend(simpler.map(|other| Self { beside: Some(Box::new(other)), ..self.clone() }));
        }
        if self.sets.is_some() {
            all.push(Self { sets: None, ..self.clone() });
        }
        if self.wrapped {
            all.push(Self { wrapped: false, ..self.clone() });
        }
        for index in 0..self.rest.len() {
            let mut copy = self.clone();
            copy.rest.remove(index);
            all.push(copy);
        }
        if self.aggregates.len() > 1 {
            for index in 0..self.aggregates.len() {
                let mut copy = self.clone();
                copy.aggregates.remove(index);
                copy.rest.clear();
                all.push(copy);
            }
        }
        for index in 0..self.keys.len() {
            let mut copy = self.clone();
            copy.keys.remove(index);
            copy.grouped.retain(|key| *key != index);
            copy.grouped.iter_mut().filter(|key| **key > index).for_each(|key| *key -= 1);
            copy.rest.clear();
            all.push(copy);
        }
        if self.grouped.len() > self.keys.len() {
            all.push(Self { grouped: (0..self.keys.len()).collect(), ..self.clone() });
        }
        all.extend(self.filter.iter().map(|_| Self { filter: None, ..self.clone() }));
        // Branches read the same.
        let simpler = if self.beside.is_none() { self.from.simpler() } else { Vec::new() };
        all.extend(simpler.into_iter().map(|from| Self { from, ..self.clone() }));
        let filters = self.filter.iter().flat_map(Expr::simpler);
        all.extend(filters.map(|filter| Self { filter: Some(filter), ..self.clone() }));
        for (index, key) in self.keys.iter().enumerate() {
            let mut plain = self.clone();
            plain.keys[index] =
                QueryKey { by: KeyReference::Expression, shown: true, alias: Some(format!("k{index}")), ..key.clone() };
            if plain.text_differs(self) {
                all.push(plain);
            }
            for expression in key.expression.simpler() {
                let mut copy = self.clone();
                copy.keys[index].expression = expression;
                all.push(copy);
            }
        }
        for (index, one) in self.aggregates.iter().enumerate() {
            for simpler in one.simpler() {
                let mut copy = self.clone();
                copy.aggregates[index] = simpler;
                all.push(copy);
            }
        }
        all
    }

    /// Whether both read the same and show as many columns: otherwise they are no branches of one union.
    fn columns_of(&self, other: &Self) -> bool {
        self.from.tables() == other.from.tables() && self.shown().len() == other.shown().len()
    }

    fn text_differs(&self, other: &Self) -> bool {
        self.shown() != other.shown() || self.keys.iter().zip(&other.keys).any(|(a, b)| a.by != b.by)
    }
}

impl Aggregate {
    pub fn text(&self) -> String {
        let argument = self.argument.as_ref().map_or("*".to_string(), Expr::text);
        let filter = self.filter.as_ref().map_or(String::new(), |filter| format!(" FILTER (WHERE {})", filter.text()));
        let call = match self.function {
            AggregateKind::Rows => "COUNT(*)".to_string(),
            AggregateKind::Count => format!("COUNT({argument})"),
            AggregateKind::Different => format!("COUNT(DISTINCT {argument})"),
            AggregateKind::Sum => format!("SUM({argument})"),
            AggregateKind::Named(name) => format!("{name}({argument})"),
            AggregateKind::Pair(name) => {
                format!("{name}({argument}, {})", self.second.as_ref().map_or(argument.clone(), Expr::text))
            }
            AggregateKind::Within { fraction, descending } => {
                let order = if descending { " DESC" } else { "" };
                format!("PERCENTILE_CONT({fraction}) WITHIN GROUP (ORDER BY {argument}{order})")
            }
            AggregateKind::Percentile(fraction) => format!("APPROX_PERCENTILE_CONT({argument}, {fraction})"),
        };
        call + &filter
    }

    fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.function != AggregateKind::Rows {
            let rows = Self { function: AggregateKind::Rows, argument: None, filter: None, ..self.clone() };
            all.push(rows);
        }
        if !self.after.is_empty() {
            all.push(Self { after: "", ..self.clone() });
        }
        all.extend(self.filter.iter().map(|_| Self { filter: None, ..self.clone() }));
        let seconds = self.second.iter().flat_map(Expr::simpler);
        all.extend(seconds.map(|second| Self { second: Some(second), ..self.clone() }));
        let arguments = self.argument.iter().flat_map(Expr::simpler);
        all.extend(arguments.map(|argument| Self { argument: Some(argument), ..self.clone() }));
        let filters = self.filter.iter().flat_map(Expr::simpler);
        all.extend(filters.map(|filter| Self { filter: Some(filter), ..self.clone() }));
        all
    }
}

fn key(bytes: &mut Bytes<'_>, columns: &[UsableColumn]) -> QueryKey {
    let of = bytes.pick(&[Type::Text, Type::Int, Type::Bool, Type::Text, Type::Int]);
    let dated = Grammar::over(bytes, columns).dated().filter(|_| bytes.chance(40));
    let of = dated.unwrap_or(of);
    let depth = bytes.below(4);
    let mixed = bytes.chance(12);
    let mut grammar = Grammar::over(bytes, columns);
    let expression =
        if mixed { grammar.mixed_case(&[Type::Int, Type::Float, Type::Text]) } else { grammar.of(of, depth) };
    // A time itself is no key.
    let expression = if expression.of == Type::Time && bytes.chance(90) { month(expression) } else { expression };
    let alias = bytes.chance(50).then(|| bytes.pick(&ALIASES).to_string());
    let clashes = alias.as_ref().is_some_and(|alias| columns.iter().any(|known| known.name == *alias));
    let is_number = matches!(expression.kind, super::expression::ExprKind::Literal(super::value::CellValue::Int(_)));
    let by = match bytes.below(4) {
        // A bare number would be taken for a place.
        0 | 1 if !is_number => KeyReference::Expression,
        2 if !clashes => KeyReference::Alias,
        _ => KeyReference::Place,
    };
    QueryKey { shown: is_number || !bytes.chance(8), expression, alias, by }
}

/// The month of a time.
fn month(time: Expr) -> Expr {
    let unit = Expr::literal(super::value::CellValue::text("month"), Type::Text);
    Expr::new(super::expression::ExprKind::Call("date_trunc"), Type::Time, vec![unit, time])
}

fn aggregate(bytes: &mut Bytes<'_>, columns: &[UsableColumn]) -> Aggregate {
    let depth = bytes.below(3);
    let owners: Vec<UsableColumn> = columns.iter().filter(|known| known.owner).cloned().collect();
    let mut second = None;
    let (function, argument) = match bytes.below(if bytes.wide { 14 } else { 13 }) {
        13 => {
            let name = bytes.pick(&["CORR", "COVAR_POP", "COVAR_SAMP", "REGR_SLOPE", "REGR_INTERCEPT", "REGR_R2"]);
            second = Some(Grammar::over(bytes, columns).summed(depth));
            (AggregateKind::Pair(name), Some(Grammar::over(bytes, columns).summed(depth)))
        }
        0 | 1 => (AggregateKind::Rows, None),
        2 => (AggregateKind::Count, Some(Grammar::over(bytes, columns).any(depth))),
        3 => (AggregateKind::Different, Some(Grammar::over(bytes, columns).any(depth))),
        4 if !owners.is_empty() => (AggregateKind::Different, Some(bytes.pick(&owners).expression())),
        5 if !owners.is_empty() && bytes.chance(30) => (AggregateKind::Count, Some(bytes.pick(&owners).expression())),
        4..=7 => (AggregateKind::Sum, Some(Grammar::over(bytes, columns).summed(depth))),
        8 | 9 => {
            let names = ["AVG", "VAR_POP", "STDDEV", "VAR", "STDDEV_POP"];
            (AggregateKind::Named(bytes.pick(&names)), Some(Grammar::over(bytes, columns).summed(depth)))
        }
        10 => {
            let dated = Grammar::over(bytes, columns).dated().filter(|_| bytes.chance(60));
            let mut grammar = Grammar::over(bytes, columns);
            let argument = match dated {
                Some(of) => grammar.of(of, depth),
                None => grammar.summed(depth),
            };
            let names: &[&str] = if dated.is_some() { &["MIN", "MAX"] } else { &["MIN", "MAX", "MEDIAN"] };
            (AggregateKind::Named(bytes.pick(names)), Some(argument))
        }
        11 => (
            AggregateKind::Percentile(bytes.pick(&["0.25", "0", "1", "0.9"])),
            Some(Grammar::over(bytes, columns).summed(depth)),
        ),
        _ => {
            let function =
                AggregateKind::Within { fraction: bytes.pick(&["0.5", "0.1", "1"]), descending: bytes.chance(30) };
            (function, Some(Grammar::over(bytes, columns).summed(depth)))
        }
    };
    let filter = bytes.chance(12).then(|| Grammar::over(bytes, columns).of(Type::Bool, 1));
    let alias = bytes.chance(70).then(|| bytes.pick(&ALIASES).to_string());
    let after = if bytes.chance(10) { bytes.pick(&[" + 1", " * 2", " / 7.0"]) } else { "" };
    Aggregate { function, argument, second, filter, alias, after }
}

/// HAVING, ORDER BY and LIMIT.
fn rest(bytes: &mut Bytes<'_>, query: &RandomQuery) -> Vec<String> {
    let mut rest = Vec::new();
    if !query.keys.is_empty() && bytes.chance(15) {
        let counted = bytes.pick(&query.aggregates).text();
        rest.push(format!("HAVING {counted} > {}", bytes.below(3)));
    }
    if bytes.chance(20) {
        let by = bytes.pick(&query.aggregates).text();
        rest.push(format!("ORDER BY {}{}", bytes.pick(&["1", by.as_str(), "COUNT(*)"]), bytes.pick(&["", " DESC"])));
    }
    if bytes.chance(10) {
        rest.push(format!("LIMIT {}", 1 + bytes.below(3)));
    }
    rest
}

fn is_literal(key: &Expr) -> bool {
    matches!(key.kind, super::expression::ExprKind::Literal(_))
}

/// What is read, now and then as one row for each owner.
fn source(bytes: &mut Bytes<'_>, world: &World, names: &mut usize) -> FromClause {
    let from = rows(bytes, world, names);
    let columns = from.columns(world);
    let Some(owner) = columns.iter().find(|known| known.owner).cloned() else { return from };
    if !bytes.wide || !bytes.chance(25) {
        return from;
    }
    let keys =
        (0..[0, 0, 1, 2][bytes.below(4)]).map(|index| (key(bytes, &columns).expression, format!("inner{index}")));
    // A bare number in GROUP BY would be taken for a place.
    let keys: Vec<(Expr, String)> = keys.filter(|(key, _)| !is_literal(key)).collect();
    let made = (0..1 + bytes.below(3)).map(|index| (inner(bytes, &columns), format!("made{index}"))).collect();
    *names += 1;
    FromClause::PerOwner(Box::new(PerOwnerQuery {
        filter: bytes.chance(25).then(|| Grammar::over(bytes, &columns).of(Type::Bool, 1)),
        having: bytes.chance(15).then(|| bytes.pick(&["COUNT(*) > 1", "COUNT(*) < 3"])),
        alias: format!("p{names}"),
        from,
        owner,
        keys,
        made,
    }))
}

/// An aggregate of one owner's rows.
fn inner(bytes: &mut Bytes<'_>, columns: &[UsableColumn]) -> InnerAggregate {
    let depth = bytes.below(2);
    match bytes.below(8) {
        0 => InnerAggregate { name: "COUNT", argument: None },
        1 => InnerAggregate { name: "COUNT", argument: Some(Grammar::over(bytes, columns).any(depth)) },
        2 => InnerAggregate { name: "DIFFERENT", argument: Some(Grammar::over(bytes, columns).any(depth)) },
        _ => {
            let name = bytes.pick(&["SUM", "SUM", "AVG", "MIN", "MAX"]);
            InnerAggregate { name, argument: Some(Grammar::over(bytes, columns).summed(depth)) }
        }
    }
}

fn rows(bytes: &mut Bytes<'_>, world: &World, names: &mut usize) -> FromClause {
    let table = bytes.below(world.tables.len());
    let table =
        if matches!(world.tables[table].whose, WorldOwnership::Nobodys) && !bytes.chance(10) { 0 } else { table };
    let left = one(bytes, world, table, names, false);
    let alone = world.tables.len() == 1;
    if !bytes.chance(if alone { 8 } else { 60 }) {
        return left;
    }
    // A table may be joined to itself.
    let itself = alone || bytes.chance(8);
    let other = if itself { table } else { (table + 1 + bytes.below(world.tables.len() - 1)) % world.tables.len() };
    let first = join(bytes, world, left, other, names);
    if world.tables.len() > 2 && bytes.chance(20) {
        let last = (0..world.tables.len()).find(|index| *index != table && *index != other).unwrap_or(table);
        return join(bytes, world, first, last, names);
    }
    first
}

/// A table, or a sub-query over it; under another name where its own is taken.
fn one(bytes: &mut Bytes<'_>, world: &World, table: usize, names: &mut usize, taken: bool) -> FromClause {
    *names += 1;
    let name = &world.tables[table].name;
    let alias = if taken || bytes.chance(30) { format!("t{names}") } else { name.clone() };
    let from = FromClause::Table { table, alias };
    if !bytes.chance(25) {
        return from;
    }
    let columns = from.columns(world);
    let mut listed = Vec::new();
    for known in columns.iter().filter(|known| !known.owner) {
        let renamed = if bytes.chance(30) { format!("c{}", listed.len()) } else { known.name.clone() };
        let expression =
            if bytes.chance(35) { Grammar::over(bytes, &columns).of(known.of, 2) } else { known.expression() };
        listed.push((expression, renamed));
    }
    *names += 1;
    let select = Select {
        columns: listed,
        owner: columns.iter().find(|known| known.owner && !bytes.chance(20)).cloned(),
        filter: bytes.chance(40).then(|| Grammar::over(bytes, &columns).of(Type::Bool, 1)),
        from,
        alias: format!("s{names}"),
        common: bytes.chance(50),
    };
    FromClause::Select(Box::new(select))
}

fn join(bytes: &mut Bytes<'_>, world: &World, left: FromClause, table: usize, names: &mut usize) -> FromClause {
    let right = one(bytes, world, table, names, left.tables().contains(&table));
    let (on_left, on_right) = (left.columns(world), right.columns(world));
    let owners = |known: &[UsableColumn]| known.iter().find(|known| known.owner).cloned();
    let plain = |known: &[UsableColumn]| known.iter().filter(|known| !known.owner).cloned().collect::<Vec<_>>();
    let pair = match (owners(&on_left), owners(&on_right)) {
        (Some(left), Some(right)) if !bytes.chance(3) => Some((left, right)),
        _ => {
            let mut pairs = Vec::new();
            for left in plain(&on_left) {
                pairs.extend(
                    plain(&on_right).into_iter().filter(|right| right.of == left.of).map(|right| (left.clone(), right)),
                );
            }
            if pairs.is_empty() { None } else { Some(bytes.pick(&pairs)) }
        }
    };
    let Some(on) = pair else { return left };
    let columns = [on_left, on_right].concat();
    let using = on.0.name == on.1.name && bytes.chance(20);
    let more = (!using && bytes.chance(25)).then(|| Grammar::over(bytes, &columns).of(Type::Bool, 1));
    FromClause::Join(Box::new(Join { left, right, outer: bytes.chance(40), on, using, more }))
}
