//! Small charts as self-contained SVG: no fonts, scripts or styles from anywhere.
