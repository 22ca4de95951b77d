//! Small tables, and questions one after the other.

use super::*;
use scumble::noise::InsecureSeededSource;
use scumble_engine::project::Project;
use scumble_engine::release::{AnswerSource, Runner};

/// Tables of one row: it fulfils the condition or not. With a noisy number N of owners, of whom 9 do, that it does
/// weighs e^{−ε|9 − N|/2} against e^{−9ε/2}.
#[test]
fn small_table() {
    let request = "kind = \"small-table\"\ntable = \"t\"\ncolumns = [\"x\"]\nmissing = \"never\"\nconditions = [\"x = 1\"]\nsize = 1\ncost = { epsilon = 0.5 }";
    let rows = format!("x\n{}{}", "1\n".repeat(9), "0\n".repeat(3));
    let (events, answers) = released(&whole_numbers(1), &rows, request, 150, 27);
    let Word::Exponential { epsilon } = events[0].word() else { panic!("{events:?}") };
    let law = |factor: f64| {
        let number = IntegerDistribution::of_event(&events[1], factor);
        let chance = |n: i64| {
            let behind = (9 - n.max(1)).abs() as f64 - 9.0;
            1.0 / (1.0 + (epsilon.get() / factor * behind / 2.0).exp())
        };
        let yes = number.iter().map(|(z, mass)| mass * chance(12 + z)).sum::<f64>();
        BTreeMap::from([(true, yes), (false, 1.0 - yes)])
    };
    let drawn = answers.iter().flat_map(|answers| numbers(answers, "estimate")).map(|estimate| estimate > 0.0);
    outcomes("small table", drawn, &law(1.0), &law(0.12));
}

/// A hundred releases, each asked once what the model is far off at: what is shown is the count with the noise of the
/// round's second event.
#[test]
fn interactive() {
    let folder = Folder::with(&[("t.csv", &format!("x\n{}", "7\n".repeat(900)))]);
    let mut text = format!("[dataset.t]\nsource = \"t.csv\"\n[dataset.t.columns]\n{}\n", whole_numbers(7));
    for run in 0..100 {
        write!(text, "[[release]]\nname = \"r{run}\"\nkind = \"interactive\"\ntable = \"t\"\ncolumns = [\"x\"]\nmissing = \"never\"\npeople = 900\nquestions = 2\nupdates = 4\ncost = {{ epsilon = 4 }}\n").unwrap();
    }
    let project: Project = folder.project(&text);
    let runner = Runner::new(&project);
    let mut bits = InsecureSeededSource::new(28);
    let events = runner.plan(&project.releases[0]).unwrap().plan.events;
    let mut drawn = Vec::new();
    for request in &project.releases {
        let answered = runner.asking(request, &folder.file("out")).unwrap().ask("x > 6", &mut bits).unwrap();
        assert_eq!(answered.how, AnswerSource::Measured, "{answered:?}");
        drawn.push(answered.answer - 900);
    }
    as_said("interactive", &drawn, &events[1], 0.2);
}
