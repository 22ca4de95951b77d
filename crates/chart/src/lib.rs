//! Small charts as self-contained SVG: no fonts, scripts or styles from anywhere, readable in print and on a phone.
//!
//! ```
//! use scumble_chart::{Axis, LineChart, Series};
//! let svg = LineChart::new("Privacy curve")
//!     .x(Axis::linear("ε"))
//!     .y(Axis::log("δ"))
//!     .line(Series::new("composition", vec![(0.0, 0.1), (1.0, 1e-3), (2.0, 1e-6)]))
//!     .to_svg();
//! assert!(svg.starts_with("<svg") && svg.contains("composition"));
//! ```
//!
//! Points that an axis cannot show (NaN, infinities, what is not positive on a logarithmic axis) are left out, and the
//! line is broken there rather than drawn across the gap.

mod axis;
mod bars;
mod canvas;
mod lines;

pub use axis::Axis;
pub use bars::{Bar, BarChart};
pub use canvas::Size;
pub use lines::{Band, LineChart, Series};
