//! What a report says in words.

use crate::project::{Domain, Project};

/// Every assumption that the numbers rest on.
pub(crate) fn assumptions(project: &Project) -> Vec<String> {
    let mut list = vec![
        "The bounds, domains and limits in the project file come from public knowledge and not from the data; otherwise they would themselves give something away.".to_string(),
        "Everybody whose data is in the tables is protected as one owner: a person whose rows are spread over several owner names is protected less, as a group.".to_string(),
        "The attacker may know everything except what the scope protects: presence hides whether an owner is there, person hides all of an owner's values, an attribute hides that attribute's value. Under person and attributes, the number of owners is taken as known.".to_string(),
        "The noise comes from the operating system's random numbers, and the person who runs the program publishes \
            nothing else that was computed from the tables.".to_string(),
        "The time a query takes and error messages seen by the person who runs the program are not \
         protected."
            .to_string(),
    ];
    for table in project.tables.values().filter(|table| !table.public) {
        match (&table.owner, table.bounding.rows) {
            (None, _) => list.push(format!("In table {}, each row is one person.", table.name)),
            (Some(owner), Some(rows)) => list.push(format!(
                "In table {}, rows belong to the owner named by {owner}; at most {rows} of an owner's rows count in one release, chosen at random, the others are left out.",
                table.name
            )),
            (Some(owner), None) => list.push(format!("In table {}, rows belong to the owner named by {owner}.", table.name)),
        }
        for column in &table.columns {
            if let Domain::Float { bounds: Some((lower, upper)), .. } = column.domain {
                list.push(format!(
                    "Values of {} below {lower} or above {upper} count as those bounds; missing ones are left out.",
                    column.name
                ));
            }
        }
    }
    list
}
