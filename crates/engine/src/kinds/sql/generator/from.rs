//! What a query reads: tables, sub-queries, common table expressions and joins.

use super::expression::{Expr, ExprKind, Type, quoted};
use super::world::{World, WorldOwnership};
use crate::project::Domain;

/// What FROM says.
#[derive(Debug, Clone)]
pub(crate) enum FromClause {
    Table { table: usize, alias: String },
    Select(Box<Select>),
    Join(Box<Join>),
    PerOwner(Box<PerOwnerQuery>),
}

/// A sub-query that makes one row for each owner, and perhaps for each of some keys.
#[derive(Debug, Clone)]
pub(crate) struct PerOwnerQuery {
    pub from: FromClause,
    pub owner: UsableColumn,
    pub filter: Option<Expr>,
    pub keys: Vec<(Expr, String)>,
    pub made: Vec<(InnerAggregate, String)>,
    pub having: Option<&'static str>,
    pub alias: String,
}

/// An aggregate of one owner's rows.
#[derive(Debug, Clone)]
pub(crate) struct InnerAggregate {
    pub name: &'static str,
    pub argument: Option<Expr>,
}

impl InnerAggregate {
    fn text(&self, argument: Option<String>) -> String {
        match (self.name, argument) {
            ("DIFFERENT", Some(argument)) => format!("COUNT(DISTINCT {argument})"),
            (name, Some(argument)) => format!("{name}({argument})"),
            (name, None) => format!("{name}(*)"),
        }
    }

    /// Its type, and whether it has no public bounds.
    fn of(&self) -> (Type, bool) {
        match (self.name, &self.argument) {
            ("COUNT" | "DIFFERENT", _) | (_, None) => (Type::Int, false),
            ("AVG", Some(argument)) => (Type::Float, argument.wild),
            ("SUM", Some(argument)) if argument.of != Type::Float => (Type::Int, argument.wild),
            (_, Some(argument)) => (argument.of, argument.wild),
        }
    }

    /// In SQLite: fractions are summed on a grid here and as they are there, and sums without bounds overflow there.
    fn in_sqlite(&self, write: &Writer<'_>) -> Option<String> {
        let argument = match &self.argument {
            Some(argument) if matches!(self.name, "COUNT" | "DIFFERENT") => Some((write.expression)(argument)?),
            Some(argument) if argument.of.is_whole() && !argument.wild => Some((write.expression)(argument)?),
            Some(_) => return None,
            None => None,
        };
        Some(self.text(argument))
    }
}

impl PerOwnerQuery {
    fn text(&self, world: &World, write: &Writer<'_>, common: &mut Vec<String>) -> Option<String> {
        let mut columns = vec![self.owner.expression().text()];
        let (mut grouped, mut conditions) = (columns.clone(), Vec::new());
        for (key, name) in &self.keys {
            let text = (write.expression)(key)?;
            columns.push(format!("{text} AS {}", quoted(name)));
            if write.carries_owner {
                conditions.push(format!("({text}) IS NOT NULL"));
            }
            grouped.push(text);
        }
        for (made, name) in &self.made {
            let text = match write.carries_owner {
                true => made.in_sqlite(write)?,
                false => made.text(made.argument.as_ref().map(Expr::text)),
            };
            columns.push(format!("{text} AS {}", quoted(name)));
        }
        if write.carries_owner {
            let whose = self.from.whose(world)?;
            conditions.push(format!("{whose} IS NOT NULL"));
            columns.push(format!("{whose} AS {}", quoted(HIDDEN)));
        }
        let from = self.from.text(world, write, common)?;
        if let Some(filter) = &self.filter {
            conditions.push((write.expression)(filter)?);
        }
        let filter = if conditions.is_empty() { String::new() } else { format!(" WHERE {}", conditions.join(" AND ")) };
        let having = self.having.map_or(String::new(), |having| format!(" HAVING {having}"));
        let columns = columns.join(", ");
        Some(format!(
            "(SELECT {columns} FROM {from}{filter} GROUP BY {}{having}) AS {}",
            grouped.join(", "),
            quoted(&self.alias)
        ))
    }

    fn simpler(&self) -> Vec<Self> {
        let mut all = Vec::new();
        if self.having.is_some() {
            all.push(Self { having: None, ..self.clone() });
        }
        if self.filter.is_some() {
            all.push(Self { filter: None, ..self.clone() });
        }
        for (index, (made, _)) in self.made.iter().enumerate() {
            for argument in made.argument.iter().flat_map(Expr::simpler) {
                let mut copy = self.clone();
                copy.made[index].0.argument = Some(argument);
                all.push(copy);
            }
        }
        for (index, (key, _)) in self.keys.iter().enumerate() {
            for simpler in key.simpler() {
                let mut copy = self.clone();
                copy.keys[index].0 = simpler;
                all.push(copy);
            }
        }
        all.extend(self.from.simpler().into_iter().map(|from| Self { from, ..self.clone() }));
        all
    }
}

/// A sub-query, or a common table expression.
#[derive(Debug, Clone)]
pub(crate) struct Select {
    pub columns: Vec<(Expr, String)>,
    /// The owner's column, passed on under its own name.
    pub owner: Option<UsableColumn>,
    pub from: FromClause,
    pub filter: Option<Expr>,
    pub alias: String,
    pub common: bool,
}

#[derive(Debug, Clone)]
pub(crate) struct Join {
    pub left: FromClause,
    pub right: FromClause,
    pub outer: bool,
    pub on: (UsableColumn, UsableColumn),
    pub using: bool,
    pub more: Option<Expr>,
}

/// A column that expressions can use.
#[derive(Debug, Clone)]
pub(crate) struct UsableColumn {
    pub table: String,
    pub name: String,
    pub of: Type,
    pub wild: bool,
    pub owner: bool,
}

/// The name of the owner's column that the oracle carries through sub-queries.
pub(crate) const HIDDEN: &str = "whose row this is";

impl UsableColumn {
    pub fn expression(&self) -> Expr {
        let kind = ExprKind::Column { table: self.table.clone(), name: self.name.clone() };
        Expr { kind, parts: Vec::new(), of: self.of, wild: self.wild }
    }
}

impl FromClause {
    pub fn columns(&self, world: &World) -> Vec<UsableColumn> {
        match self {
            Self::Table { table, alias } => of_table(world, *table, alias),
            Self::Select(select) => {
                let known = |(expression, name): &(Expr, String)| UsableColumn {
                    table: select.alias.clone(),
                    name: name.clone(),
                    of: expression.of,
                    wild: expression.wild,
                    owner: false,
                };
                let owner =
                    select.owner.iter().map(|owner| UsableColumn { table: select.alias.clone(), ..owner.clone() });
                owner.chain(select.columns.iter().map(known)).collect()
            }
            Self::Join(join) => [join.left.columns(world), join.right.columns(world)].concat(),
            Self::PerOwner(first) => {
                let known = |name: &String, (of, wild): (Type, bool)| UsableColumn {
                    table: first.alias.clone(),
                    name: name.clone(),
                    of,
                    wild,
                    owner: false,
                };
                let owner = UsableColumn { table: first.alias.clone(), ..first.owner.clone() };
                let keys = first.keys.iter().map(|(key, name)| known(name, (key.of, key.wild)));
                let made = first.made.iter().map(|(made, name)| known(name, made.of()));
                std::iter::once(owner).chain(keys).chain(made).collect()
            }
        }
    }

    /// The tables that are read.
    pub fn tables(&self) -> Vec<usize> {
        match self {
            Self::Table { table, .. } => vec![*table],
            Self::Select(select) => select.from.tables(),
            Self::Join(join) => [join.left.tables(), join.right.tables()].concat(),
            Self::PerOwner(first) => first.from.tables(),
        }
    }

    /// The column that says whose row it is, for the oracle; none where each row is one person.
    pub fn whose(&self, world: &World) -> Option<String> {
        match self {
            Self::Table { table, alias } => {
                world.tables[*table].owner_column().map(|owner| format!("{}.{}", quoted(alias), quoted(owner)))
            }
            Self::Select(select) => {
                select.from.whose(world).map(|_| format!("{}.{}", quoted(&select.alias), quoted(HIDDEN)))
            }
            Self::Join(join) => join.left.whose(world).or_else(|| join.right.whose(world)),
            Self::PerOwner(first) => {
                first.from.whose(world).map(|_| format!("{}.{}", quoted(&first.alias), quoted(HIDDEN)))
            }
        }
    }

    /// The text behind FROM, and the common table expressions that it needs. `write` is how expressions are written,
    /// `whose` whether sub-queries carry the hidden owner.
    pub fn text(&self, world: &World, write: &Writer<'_>, common: &mut Vec<String>) -> Option<String> {
        match self {
            Self::Table { table, alias } => {
                let name = quoted(&world.tables[*table].name);
                Some(if *alias == world.tables[*table].name { name } else { format!("{name} AS {}", quoted(alias)) })
            }
            Self::Select(select) => {
                let mut columns = Vec::new();
                for (expression, name) in &select.columns {
                    columns.push(format!("{} AS {}", (write.expression)(expression)?, quoted(name)));
                }
                if let Some(owner) = &select.owner {
                    columns.push(owner.expression().text());
                }
                if write.carries_owner {
                    select
                        .from
                        .whose(world)
                        .iter()
                        .for_each(|whose| columns.push(format!("{whose} AS {}", quoted(HIDDEN))));
                }
                let from = select.from.text(world, write, common)?;
                let filter = match &select.filter {
                    Some(filter) => format!(" WHERE {}", (write.expression)(filter)?),
                    None => String::new(),
                };
                let text = format!("SELECT {} FROM {from}{filter}", columns.join(", "));
                if select.common {
                    common.push(format!("{} AS ({text})", quoted(&select.alias)));
                    Some(quoted(&select.alias))
                } else {
                    Some(format!("({text}) AS {}", quoted(&select.alias)))
                }
            }
            Self::PerOwner(first) => first.text(world, write, common),
            Self::Join(join) => {
                let left = join.left.text(world, write, common)?;
                let right = join.right.text(world, write, common)?;
                let word = if join.outer { "LEFT JOIN" } else { "JOIN" };
                if join.using && !write.carries_owner {
                    return Some(format!("{left} {word} {right} USING ({})", quoted(&join.on.0.name)));
                }
                let more = match &join.more {
                    Some(more) => format!(" AND {}", (write.expression)(more)?),
                    None => String::new(),
                };
                let (on_left, on_right) = (join.on.0.expression().text(), join.on.1.expression().text());
                Some(format!("{left} {word} {right} ON {on_left} = {on_right}{more}"))
            }
        }
    }

    /// Simpler sources in its place that have the same columns, or more.
    pub fn simpler(&self) -> Vec<FromClause> {
        match self {
            Self::Table { .. } => Vec::new(),
            Self::Select(select) => {
                let mut all = Vec::new();
                if select.filter.is_some() {
                    all.push(Self::Select(Box::new(Select { filter: None, ..select.as_ref().clone() })));
                }
                let filters = select.filter.iter().flat_map(Expr::simpler);
                all.extend(
                    filters.map(|filter| {
                        Self::Select(Box::new(Select { filter: Some(filter), ..select.as_ref().clone() }))
                    }),
                );
                for (index, (expression, _)) in select.columns.iter().enumerate() {
                    for simpler in expression.simpler() {
                        let mut copy = select.clone();
                        copy.columns[index].0 = simpler;
                        all.push(Self::Select(copy));
                    }
                }
                let inner = select.from.simpler().into_iter();
                all.extend(inner.map(|from| Self::Select(Box::new(Select { from, ..select.as_ref().clone() }))));
                all
            }
            Self::PerOwner(first) => {
                first.simpler().into_iter().map(|simpler| Self::PerOwner(Box::new(simpler))).collect()
            }
            Self::Join(join) => {
                let mut all = vec![join.left.clone(), join.right.clone()];
                if join.more.is_some() {
                    all.push(Self::Join(Box::new(Join { more: None, ..join.as_ref().clone() })));
                }
                let mores = join.more.iter().flat_map(Expr::simpler);
                all.extend(mores.map(|more| Self::Join(Box::new(Join { more: Some(more), ..join.as_ref().clone() }))));
                let lefts = join.left.simpler().into_iter();
                all.extend(lefts.map(|left| Self::Join(Box::new(Join { left, ..join.as_ref().clone() }))));
                let rights = join.right.simpler().into_iter();
                all.extend(rights.map(|right| Self::Join(Box::new(Join { right, ..join.as_ref().clone() }))));
                all
            }
        }
    }
}

/// How a dialect is written.
pub(crate) struct Writer<'a> {
    pub expression: &'a dyn Fn(&Expr) -> Option<String>,
    pub carries_owner: bool,
}

fn of_table(world: &World, table: usize, alias: &str) -> Vec<UsableColumn> {
    let declared = &world.tables[table];
    let known = |name: &str, of: Type, wild: bool, owner: bool| UsableColumn {
        table: alias.to_string(),
        name: name.to_string(),
        of,
        wild,
        owner,
    };
    let owner = declared.owner_column().map(|owner| {
        let numbers = matches!(declared.whose, WorldOwnership::Named { numbers: true, .. });
        known(owner, if numbers { Type::Int } else { Type::Text }, true, true)
    });
    let columns = declared.columns.iter().map(|column| match &column.domain {
        _ if column.recoded.is_some() => known(&column.name, Type::Text, false, false),
        Domain::Int { bounds } => known(&column.name, Type::Int, bounds.is_none_or(|(_, high)| high > 1 << 50), false),
        Domain::Float { bounds, .. } => known(&column.name, Type::Float, bounds.is_none(), false),
        Domain::Category { .. } => known(&column.name, Type::Text, false, false),
        Domain::Date { bounds } => known(&column.name, Type::Date, bounds.is_none(), false),
        Domain::Timestamp { bounds, .. } => known(&column.name, Type::Time, bounds.is_none(), false),
        Domain::Bool => known(&column.name, Type::Bool, false, false),
    });
    owner.into_iter().chain(columns).collect()
}
