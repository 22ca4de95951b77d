//! The site as its readers see it: every page in a browser, on a phone; with `SCUMBLE_THOROUGH` also on a desk and in
//! the dark. `.ci/run` builds it and says where it is (`SCUMBLE_SITE`); without that nothing is looked at.

use crate::browser::{Browser, axe};
use crate::program::tidy::files;
use crate::report::in_a_browser::browser;
use std::path::{Path, PathBuf};

/// What a page of `try/` shows once it has answered, or has said that it cannot.
const ANSWERED: &str = ".try-found:not([hidden]), .try-answer > .try-error:not([hidden])";

/// Where the site is built, if it is.
pub fn site() -> Option<PathBuf> {
    let folder = std::env::var_os("SCUMBLE_SITE").map(PathBuf::from);
    if folder.is_none() {
        eprintln!("NOT TESTED: the site is not built here (SCUMBLE_SITE), so its pages are not looked at");
    }
    folder
}

/// The pages of the site. mdBook makes three more: all in one for printers, the contents for readers without scripts,
/// and one for addresses that lead nowhere.
fn pages(site: &Path) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(site, &mut found);
    let is_made_up = |path: &PathBuf| ["print.html", "toc.html", "404.html"].iter().any(|name| path.ends_with(name));
    found.retain(|path| path.extension().is_some_and(|end| end == "html") && !is_made_up(path));
    found
}

/// The pages that were built are shown without a serious finding of axe-core, and nothing on them is wider than the
/// window.
#[test]
fn every_page_fits_a_phone_and_can_be_read_by_everybody() {
    let (Some(site), Some(program)) = (site(), browser()) else { return };
    let axe = axe();
    let pages = pages(&site);
    assert!(pages.len() > 50, "the site has {} pages", pages.len());
    let views = [(390, false), (390, true), (1280, false), (1280, true)];
    let views = &views[..if std::env::var_os("SCUMBLE_THOROUGH").is_some() { 4 } else { 1 }];
    let mut browser = Browser::start(program);
    for (width, is_dark) in views {
        browser.window(*width, *is_dark);
        for page in &pages {
            let place = format!("{} ({width} wide, dark: {is_dark})", page.strip_prefix(&site).unwrap().display());
            browser.go(&format!("file://{}", page.display()));
            let theme = if *is_dark { "navy" } else { "light" };
            browser.until(&format!("document.documentElement.classList.contains('{theme}')"));
            // A calculator is looked at with its first answer.
            browser.until(&format!(
                "!document.querySelector('[data-calculator]') || document.querySelector('{ANSWERED}')"
            ));
            let wide = browser.look("document.documentElement.scrollWidth");
            assert!(wide.as_u64() <= Some(u64::from(*width)), "{place}: {wide} pixels are wider than {width}");
            // The content scrolls by itself: what is too wide in it does not widen the page.
            let spilled =
                browser.look("[document.querySelector('.content')].map((one) => one.scrollWidth - one.clientWidth)[0]");
            assert_eq!(spilled, 0, "{place}: some content is wider than the page");
            axe.iter().for_each(|axe| browser.look_over(axe, &place));
        }
    }
}
