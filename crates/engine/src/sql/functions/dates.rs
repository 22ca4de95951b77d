//! Functions of dates and times.

use super::{Arguments, CalendarFunction, Spelling, SqlFunction};

pub(super) const ALL: &[SqlFunction] = &[
    SqlFunction { arguments: Arguments::Calendar(CalendarFunction::Part), ..SqlFunction::new("date_part") },
    SqlFunction { arguments: Arguments::Calendar(CalendarFunction::Start), ..SqlFunction::new("date_trunc") },
    // A format of PostgreSQL's would be published as it stands.
    SqlFunction {
        spelling: Spelling::WithPercentSigns(
            "TO_CHAR takes a format with % here: '%Y-%m' is year and month, '%d.%m.%Y' a date",
        ),
        ..SqlFunction::new("to_char")
    },
];
