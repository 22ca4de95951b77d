//! The files of pictures, beside the tables. They are computed from published numbers alone, like the report, and are
//! written after the commit: their digests are not in the ledger, and a new title costs nothing.

use super::of_release;
use crate::error::{Error, Result};
use crate::project::{Project, picture_names};
use crate::release::run::publish::{free, written};
use crate::report::Report;
use std::fs;
use std::io::ErrorKind;
use std::path::Path;

/// The pixels of a PNG for each unit of its picture.
const SCALE: f64 = 2.0;

/// Refuses places of pictures that are links or folders.
pub(crate) fn places(project: &Project, folder: &Path) -> Result<()> {
    let mut names = project.releases.iter().flat_map(|request| picture_names(&request.name));
    names.try_for_each(|name| free(&folder.join(name)))
}

/// Writes the pictures of all releases whose numbers are in their places; those of a release without a picture are
/// removed.
pub(crate) fn write(report: &Report<'_>, folder: &Path) -> Result<()> {
    for one in report.published.iter().filter(|one| !one.is_replaced) {
        let names = picture_names(&one.charge.release);
        match of_release(report, one)? {
            Some(plate) => {
                let picture = plate.picture();
                let (svg, vega) = (picture.to_svg(), format!("{:#}\n", plate.vega()));
                let is_same =
                    |name: &str, text: &str| fs::read_to_string(folder.join(name)).is_ok_and(|old| old == text);
                // Pixels take a moment, and are those of the same marks.
                if is_same(&names[0], &svg) && is_same(&names[2], &vega) && folder.join(&names[1]).is_file() {
                    continue;
                }
                let png = picture.to_png(SCALE);
                let png = png.map_err(|error| Error::machine(format!("a picture cannot be written ({error})")))?;
                let [first, second, third] = &names;
                let files: [(&str, &[u8]); 3] = [(first, svg.as_bytes()), (second, &png), (third, vega.as_bytes())];
                written(folder, &files)?;
            }
            None => names.iter().try_for_each(|name| match fs::remove_file(folder.join(name)) {
                Err(error) if error.kind() != ErrorKind::NotFound => {
                    Err(Error::machine(format!("the picture {name} of earlier numbers cannot be removed ({error})")))
                }
                _ => Ok(()),
            })?,
        }
    }
    Ok(())
}
