//! From SQL to a private plan, and from that to exact integers.
//!
//! DataFusion parses, plans and coerces types; the plan is cut at its one aggregate, and every expression of it is
//! analysed as it will run ([`analyse`]): nothing is put in or cast afterwards. [`execute`] makes what is below the
//! aggregate a plan that runs, and sums it up; [`text`] writes it as SQL for other backends; [`above`] is what a query
//! computes from released numbers.

pub(crate) mod above;
pub(crate) mod analyse;
pub(crate) mod execute;
pub(crate) mod functions;
#[cfg(test)]
pub(super) mod tests;
pub(crate) mod text;

pub(crate) use analyse::limits::refuse_too_long;
pub(crate) use analyse::refuse::statement;
pub(crate) use analyse::{
    HiddenNames, PrivateQuery, QuerySource, SqlQuery, UnionOfQueries, analyse, analyse_columns, analyse_several,
    analyse_what_occurs, parameters,
};
pub(crate) use execute::preflight::preflight;
