//! Small charts as self-contained SVG: no fonts, scripts or styles from anywhere, readable in print and on a phone.
//! With the feature `png` they are pixels too.
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
mod canvas;
mod categories;
mod dates;
mod heat;
mod lines;
mod marks;
#[cfg(feature = "png")]
mod png;
#[cfg(feature = "png")]
mod raster;
mod svg;
mod text;

pub use axis::Axis;
pub use canvas::{Captions, Size};
pub use categories::{Category, CategoryChart, CategoryStyle, Estimate};
pub use heat::{HeatCell, HeatTable};
pub use lines::{Band, LineChart, Series};
pub use marks::Picture;
