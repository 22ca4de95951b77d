//! `scumble lab attack demo`: why exact counts give everything away, and what noise does about it, as one page.

use crate::failure::Failure;
use crate::interrupted::ScratchFolder;
use crate::output::print;
use clap::Args;
use scumble::BitSource;
use scumble::noise::{InsecureSeededSource, SecureSource};
use scumble_adversary::attack::{Queries, least_squares, recovered};
use scumble_adversary::limits::neighbours::success_at_most;
use scumble_chart::{Axis, Category, CategoryChart, CategoryStyle, Estimate};
use scumble_engine::project::Project;
use scumble_engine::release::Runner;
use serde_json::{Value, json};
use std::fmt::Write as _;
use std::path::PathBuf;

/// Where to leave the page.
#[derive(Args)]
#[command(after_help = "Example:\n  scumble lab attack demo --out hospital.html")]
pub struct AttackDemoArguments {
    /// The page to write
    #[arg(long, default_value = "scumble-attack.html", value_name = "FILE")]
    out: PathBuf,
    /// Print JSON instead of text
    #[arg(long)]
    json: bool,
}

const PEOPLE: u32 = 200;
/// A query has at most 200 aggregates: the counts are published in two releases, each for half of ε.
const RELEASES: u32 = 2;

/// One way to publish the counts, and what the attack made of it.
struct Attempt {
    epsilon: Option<f64>,
    right: Vec<bool>,
    ceiling: f64,
}

/// Makes up a hospital, attacks what it publishes, writes the page.
pub fn run(arguments: &AttackDemoArguments) -> Result<(), Failure> {
    // Everything is made up, so that everybody may see the same page.
    let mut bits = InsecureSeededSource::new(2003);
    let secret: Vec<bool> = (0..PEOPLE).map(|_| bits.next_bits(1) == 1).collect();
    let wards = (0..2 * PEOPLE).map(|_| (0..PEOPLE).filter(|_| bits.next_bits(1) == 1).collect()).collect();
    let queries = Queries::new(PEOPLE as usize, wards)?;
    let column: Vec<f64> = secret.iter().map(|bit| f64::from(u8::from(*bit))).collect();
    let mut attempts = Vec::new();
    for epsilon in [None, Some(1.0), Some(0.1)] {
        let answers = match epsilon {
            None => queries.answers(&column),
            Some(epsilon) => released(&queries, &secret, epsilon)?,
        };
        let found = least_squares::reconstruct(&queries, &answers)?.column;
        let ceiling = epsilon.map_or(Ok(1.0), |epsilon| {
            Ok::<f64, scumble::Error>(success_at_most(epsilon.try_into()?, 0.0.try_into()?))
        })?;
        attempts.push(Attempt { epsilon, right: found.iter().zip(&secret).map(|(a, b)| a == b).collect(), ceiling });
    }
    let constant = recovered(&secret, &secret)?.constant_guess;
    let page = page(&attempts, constant);
    std::fs::write(&arguments.out, page)
        .map_err(|error| Failure::Input(format!("{}: the page cannot be written: {error}", arguments.out.display())))?;
    print(&if arguments.json {
        as_json(&attempts, constant, arguments)
    } else {
        in_words(&attempts, constant, arguments)
    })
}

/// The same counts through the engine: a table, a project file with a budget of ε, SQL, a ledger, noise.
fn released(queries: &Queries, secret: &[bool], epsilon: f64) -> Result<Vec<f64>, Failure> {
    let folder = ScratchFolder::new()?;
    std::fs::write(folder.path().join("hospital.csv"), table(queries, secret))?;
    let project = Project::parse(&folder.path().join("scumble.toml"), &project_file(epsilon))?;
    let runner = Runner::with_ledger(&project, folder.path().join("scumble.ledger"));
    let planned = project.releases.iter().map(|request| runner.plan(request)).collect::<Result<Vec<_>, _>>()?;
    let (outcomes, _) = runner.release(&planned, &folder.path().join("out"), &mut SecureSource::new()?, |_| ())?;
    let counts = outcomes.iter().flat_map(|outcome| &outcome.answers.columns);
    Ok(counts.filter_map(|column| column.cells.first()?.number()).collect())
}

/// A line for each person: the secret, and in which groups they are.
fn table(queries: &Queries, secret: &[bool]) -> String {
    let mut rows: Vec<Vec<u8>> = secret.iter().map(|sick| vec![u8::from(*sick)]).collect();
    for group in 0..queries.count() {
        rows.iter_mut().for_each(|row| row.push(0));
        for person in queries.members(group) {
            if let Some(last) = rows[*person as usize].last_mut() {
                *last = 1;
            }
        }
    }
    let names = (0..2 * PEOPLE).map(|group| format!(",g{group}")).collect::<String>();
    let line = |row: &Vec<u8>| row.iter().map(u8::to_string).collect::<Vec<_>>().join(",") + "\n";
    format!("sick{names}\n{}", rows.iter().map(line).collect::<String>())
}

fn project_file(epsilon: f64) -> String {
    let mut text = format!(
        "[budget]\nperson = {{ epsilon = {epsilon} }}\n[dataset.hospital]\nsource = \"hospital.csv\"\n[dataset.hospital.columns]\n"
    );
    for name in std::iter::once("sick".to_string()).chain((0..2 * PEOPLE).map(|group| format!("g{group}"))) {
        let _ = writeln!(text, "{name} = {{ type = \"int\", lower = 0, upper = 1 }}");
    }
    let each = 2 * PEOPLE / RELEASES;
    for release in 0..RELEASES {
        let count = |group: u32| format!("SUM(g{group} * sick) AS c{group}");
        let counts: Vec<String> = (release * each..(release + 1) * each).map(count).collect();
        let _ = write!(
            text,
            "[[release]]\nname = \"counts {release}\"\nsql = \"SELECT {} FROM hospital\"\ncost = {{ epsilon = {} }}\n",
            counts.join(", "),
            epsilon / f64::from(RELEASES)
        );
    }
    text
}

impl Attempt {
    fn recovered(&self) -> usize {
        self.right.iter().filter(|right| **right).count()
    }

    fn name(&self) -> String {
        self.epsilon.map_or("exact counts".to_string(), |epsilon| format!("ε = {epsilon} for all counts together"))
    }
}

fn as_json(attempts: &[Attempt], constant: usize, arguments: &AttackDemoArguments) -> String {
    let one = |attempt: &Attempt| -> Value {
        json!({ "epsilon": attempt.epsilon, "recovered": attempt.recovered(), "ceiling": attempt.ceiling * f64::from(PEOPLE) })
    };
    let all: Vec<Value> = attempts.iter().map(one).collect();
    format!(
        "{}\n",
        json!({ "people": PEOPLE, "counts": 2 * PEOPLE, "constant_guess": constant, "attempts": all, "page": arguments.out })
    )
}

fn in_words(attempts: &[Attempt], constant: usize, arguments: &AttackDemoArguments) -> String {
    let mut text = format!("a made-up hospital publishes {} counts about {PEOPLE} people\n", 2 * PEOPLE);
    for attempt in attempts {
        let ceiling = (attempt.ceiling * f64::from(PEOPLE)).ceil();
        // Two standard deviations of as many fair coins: what one try gets scatters around what is expected.
        let scatter = attempt
            .epsilon
            .map_or_else(String::new, |_| format!("; one try scatters by {:.0}", f64::from(PEOPLE).sqrt()));
        let _ = writeln!(
            text,
            "  {}: {} of {PEOPLE} diagnoses recovered (nobody can expect more than {ceiling}{scatter})",
            attempt.name(),
            attempt.recovered()
        );
    }
    let _ = writeln!(
        text,
        "  without any counts: {constant}, by guessing the same for everybody\npage: {}",
        arguments.out.display()
    );
    text
}

fn page(attempts: &[Attempt], constant: usize) -> String {
    let mut body = String::new();
    for attempt in attempts {
        let _ = write!(
            body,
            "<h2>{}</h2>\n<p>{} of {PEOPLE} diagnoses are right. Each square is a person: dark if the attack has their diagnosis right.</p>\n{}\n",
            attempt.name(),
            attempt.recovered(),
            squares(&attempt.right)
        );
    }
    let share = |count: usize| 100.0 * count as f64 / f64::from(PEOPLE);
    let bar = |name: &str, value: f64| Category::new(name, vec![Some(Estimate::new(value))]);
    let mut bars: Vec<Category> =
        attempts.iter().map(|attempt| bar(&attempt.name(), share(attempt.recovered()))).collect();
    bars.push(bar("no counts at all: the same guess for everybody", share(constant)));
    let axis = Axis::linear("percent");
    let chart = CategoryChart::new("How many diagnoses are right", CategoryStyle::Bars, axis, bars).to_svg();
    format!(
        "<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<meta name=\"viewport\" content=\"width=device-width\">\n\
         <title>What counts give away</title>\n<style>body {{ font: 17px/1.5 sans-serif; max-width: 44em; margin: 2em auto; padding: 0 1em }} svg {{ max-width: 100% }}</style>\n\
         </head>\n<body>\n<h1>What counts give away</h1>\n<p>A made-up hospital keeps one secret about each of {PEOPLE} people, and publishes {} harmless counts: \
         of the people in some group, how many have it? Who is in which group is known. Nobody sees the table. The attack looks for the column of diagnoses that \
         fits the published numbers best (least squares), and nothing else.</p>\n{body}<h2>Side by side</h2>\n{chart}\n<p>With a guarantee of ε nobody, whatever they do, \
         can expect to get more than a part e^ε/(e^ε + 1) of fair coins right: 73.2% at ε = 1, 52.5% at ε = 0.1. The noisy counts were published by this program as anybody's would be: a table, a budget, SQL, a ledger. What one try gets right scatters around what can be expected.</p>\n</body>\n</html>\n",
        2 * PEOPLE
    )
}

/// Twenty squares in a row.
fn squares(right: &[bool]) -> String {
    let mut svg = String::from(
        "<svg viewBox=\"0 0 400 200\" width=\"300\" role=\"img\" aria-label=\"one square for each person\">",
    );
    for (at, right) in right.iter().enumerate() {
        let (x, y) = (at % 20 * 20, at / 20 * 20);
        let colour = if *right { "#1b4f72" } else { "#e8e8e8" };
        let _ = write!(svg, "<rect x=\"{x}\" y=\"{y}\" width=\"18\" height=\"18\" fill=\"{colour}\"/>");
    }
    svg + "</svg>"
}
