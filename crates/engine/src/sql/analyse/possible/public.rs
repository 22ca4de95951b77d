//! What is publicly known of the rows of public tables in a plan: which expressions read one of them alone, which keys
//! are equal to such, and what is true of the rows that take part.

use super::PossibleRows;
use datafusion::common::DFSchema;
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};

/// The public table and column that a declared column is, and which reading of that table it belongs to.
#[derive(Debug, Clone)]
pub(super) struct PublicField {
    pub read: usize,
    pub table: String,
    pub field: String,
}

impl PossibleRows {
    /// An expression over the output of a plan as one over the columns of one public table, and which reading of it
    /// that is; none where it reads anything else. Of rows that a left join may not find it is none.
    pub fn public_expression(&self, expression: &Expr, schema: &DFSchema) -> Option<(usize, Expr)> {
        let made = self.over(expression, schema)?.expression;
        Some((self.read_of(&made)?, made))
    }

    /// What a key is equal to over the columns of one public table, on every row where neither is NULL: itself, or what
    /// a join or a filter makes it equal to.
    pub fn in_public(&self, key: &Expr, read: usize, schema: &DFSchema) -> Option<Expr> {
        let made = self.over(key, schema)?.expression;
        if self.read_of(&made) == Some(read) {
            return Some(made);
        }
        let other = |condition: &Expr| match condition {
            Expr::BinaryExpr(BinaryExpr { left, op: Operator::Eq, right }) => match (**left == made, **right == made) {
                (true, _) => Some(right.as_ref().clone()),
                (_, true) => Some(left.as_ref().clone()),
                _ => None,
            },
            _ => None,
        };
        let equal = self.conditions.iter().filter_map(|condition| other(&condition.expression));
        equal.into_iter().find(|other| self.read_of(other) == Some(read))
    }

    /// Whether the values of all columns that an expression reads are declared.
    pub fn is_listed(&self, expression: &Expr, schema: &DFSchema) -> bool {
        let is_listed = |name: &str| {
            let column = self.declared.iter().find(|column| column.name == name);
            column.is_some_and(|column| column.values.is_some())
        };
        let made = self.over(expression, schema);
        made.is_some_and(|made| made.expression.column_refs().iter().all(|column| is_listed(&column.name)))
    }

    /// What is true of the rows of a public table that take part, as far as it is about them alone.
    pub fn public_conditions(&self, read: usize) -> Vec<Expr> {
        let all = self.conditions.iter().map(|condition| &condition.expression);
        all.filter(|condition| self.read_of(condition) == Some(read)).cloned().collect()
    }

    /// The table that is read then, and its columns: their names there, and in these expressions.
    pub fn public_table(&self, read: usize) -> Option<(String, Vec<(String, String)>)> {
        let of = |column: &super::DeclaredColumn| {
            let public = column.public.as_ref().filter(|public| public.read == read)?;
            Some((public.table.clone(), (public.field.clone(), column.name.clone())))
        };
        let (mut tables, columns): (Vec<String>, Vec<_>) = self.declared.iter().filter_map(of).unzip();
        Some((tables.pop()?, columns))
    }

    /// Which reading of a public table an expression over declared columns is about, if it is about one alone.
    fn read_of(&self, expression: &Expr) -> Option<usize> {
        let read = |name: &str| {
            let column = self.declared.iter().find(|column| column.name == name)?;
            column.public.as_ref().map(|public| public.read)
        };
        let mut reads = expression.column_refs().into_iter().map(|column| read(&column.name));
        let first = reads.next()??;
        reads.all(|other| other == Some(first)).then_some(first)
    }
}
