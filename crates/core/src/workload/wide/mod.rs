//! Tables of any number of columns: nothing here ever walks the product of all columns.
//!
//! [`marginals`] measures all tables of up to `order` attributes by their residuals, table by table. [`synthetic`]
//! chooses privately which few tables are worth measuring, fits a model of them and makes whole rows. Both look at data
//! through [`Records`] alone.

mod records;

pub mod marginals;
pub mod synthetic;

pub use records::Records;
