//! What a query reads: tables, sub-queries, common table expressions and joins.

use super::expression::{Expr, Kind, Type, quoted};
use super::world::{Whose, World};
use crate::project::Domain;

/// What FROM says.
#[derive(Debug, Clone)]
pub(super) enum From {
    Table { table: usize, alias: String },
    Select(Box<Select>),
    Join(Box<Join>),
}

/// A sub-query, or a common table expression.
#[derive(Debug, Clone)]
pub(super) struct Select {
    pub columns: Vec<(Expr, String)>,
    /// The owner's column, passed on under its own name.
    pub owner: Option<Known>,
    pub from: From,
    pub filter: Option<Expr>,
    pub alias: String,
    pub common: bool,
}

#[derive(Debug, Clone)]
pub(super) struct Join {
    pub left: From,
    pub right: From,
    pub outer: bool,
    pub on: (Known, Known),
    pub using: bool,
    pub more: Option<Expr>,
}

/// A column that expressions can use.
#[derive(Debug, Clone)]
pub(super) struct Known {
    pub table: String,
    pub name: String,
    pub of: Type,
    pub wild: bool,
    pub owner: bool,
}

/// The name of the owner's column that the oracle carries through sub-queries.
pub(super) const HIDDEN: &str = "whose row this is";

impl Known {
    pub fn expression(&self) -> Expr {
        let kind = Kind::Column { table: self.table.clone(), name: self.name.clone() };
        Expr { kind, parts: Vec::new(), of: self.of, wild: self.wild }
    }
}

impl From {
    pub fn columns(&self, world: &World) -> Vec<Known> {
        match self {
            Self::Table { table, alias } => of_table(world, *table, alias),
            Self::Select(select) => {
                let known = |(expression, name): &(Expr, String)| Known {
                    table: select.alias.clone(),
                    name: name.clone(),
                    of: expression.of,
                    wild: expression.wild,
                    owner: false,
                };
                let owner = select.owner.iter().map(|owner| Known { table: select.alias.clone(), ..owner.clone() });
                owner.chain(select.columns.iter().map(known)).collect()
            }
            Self::Join(join) => [join.left.columns(world), join.right.columns(world)].concat(),
        }
    }

    /// The tables that are read.
    pub fn tables(&self) -> Vec<usize> {
        match self {
            Self::Table { table, .. } => vec![*table],
            Self::Select(select) => select.from.tables(),
            Self::Join(join) => [join.left.tables(), join.right.tables()].concat(),
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
        }
    }

    /// The text behind FROM, and the common table expressions that it needs. `write` is how expressions are written, `whose`
    /// whether sub-queries carry the hidden owner.
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
    pub fn simpler(&self) -> Vec<From> {
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
pub(super) struct Writer<'a> {
    pub expression: &'a dyn Fn(&Expr) -> Option<String>,
    pub carries_owner: bool,
}

fn of_table(world: &World, table: usize, alias: &str) -> Vec<Known> {
    let declared = &world.tables[table];
    let known = |name: &str, of: Type, wild: bool, owner: bool| Known {
        table: alias.to_string(),
        name: name.to_string(),
        of,
        wild,
        owner,
    };
    let owner = declared.owner_column().map(|owner| {
        let numbers = matches!(declared.whose, Whose::Named { numbers: true, .. });
        known(owner, if numbers { Type::Int } else { Type::Text }, true, true)
    });
    let columns = declared.columns.iter().map(|column| match &column.domain {
        Domain::Int { bounds } => known(&column.name, Type::Int, bounds.is_none_or(|(_, high)| high > 1 << 50), false),
        Domain::Float { bounds, .. } => known(&column.name, Type::Float, bounds.is_none(), false),
        Domain::Category { .. } => known(&column.name, Type::Text, false, false),
        Domain::Bool => known(&column.name, Type::Bool, false, false),
    });
    owner.into_iter().chain(columns).collect()
}
