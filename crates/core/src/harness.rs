//! Exact output distributions against all neighbours: the shared test harness for mechanisms.
