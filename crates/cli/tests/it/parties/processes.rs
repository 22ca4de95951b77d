//! `scumble parties` as processes on loopback: the page's example, kills at any moment, ledgers and refusals.

use crate::ledger::kills;
use crate::support::{Folder, effort, epsilon, printed};
use scumble_testing::killer::killer;
use serde_json::Value;
use std::fmt::Write as _;
use std::net::TcpListener;
use std::path::Path;
use std::process::{Child, Command, Output, Stdio};
use std::time::Duration;

/// Ports that nobody listens at just now.
fn ports(number: usize) -> Vec<u16> {
    let held: Vec<TcpListener> = (0..number).map(|_| TcpListener::bind("127.0.0.1:0").unwrap()).collect();
    held.iter().map(|listener| listener.local_addr().unwrap().port()).collect()
}

/// The page's example, by a shell.
#[test]
fn the_page_does_what_it_says() {
    let page = include_str!("../../../../../docs/how-to/secret-sharing.md");
    let ports = ports(2);
    let script = page.split("```sh\n").nth(1).unwrap().split("```").next().unwrap();
    let script = script.replace("7101", &ports[0].to_string()).replace("7102", &ports[1].to_string());
    let folder = Folder::with(&[]);
    let program = Path::new(env!("CARGO_BIN_EXE_scumble")).parent().unwrap();
    let path = format!("{}:{}", program.display(), std::env::var("PATH").unwrap_or_default());
    let run =
        Command::new("sh").args(["-e", "-c", &script]).env("PATH", path).current_dir(folder.path()).output().unwrap();
    let text = printed(run);
    for words in [
        "3 cells of 4 parties, added up by 2 servers; opened where 3 parties or more have sent",
        "any 1 of the 4 parties and either of the 2 servers together",
        "More parties than planned that collude learn more",
        "flu: 4 of 4 parties are in the sum.",
        "committed",
    ] {
        assert!(text.contains(words), "{words}: {text}");
    }
    // Truth plus noise of scale 2 with the mass of two shares: off by 100 with probability below 1e-15.
    for (line, truth) in folder.read("north/flu.csv").lines().skip(1).zip([11781i64, 536, 21]) {
        let total: i64 = line.rsplit_once(',').unwrap().1.parse().unwrap();
        assert!((total - truth).abs() < 100, "{line} is not about {truth}");
    }
    let found = folder.json_file("south/flu.json");
    assert_eq!((found["answered"].as_array().unwrap().len(), found["not_in_it"].clone()), (4, serde_json::json!([])));
    assert_eq!(epsilon(&folder.json(&["ledger", "show", "north.toml", "--json"])["person"]), 1.0);
    let export = folder.json(&["ledger", "export", "north.toml"]);
    let charge =
        export["entries"].as_array().unwrap().iter().find(|entry| entry["body"]["entry"] == "reserve").unwrap();
    assert_eq!(charge["body"]["kind"], "parties");
    assert_eq!(charge["body"]["events"][0]["mechanism"], "discrete-laplace");
    let coalition = charge["body"]["rule"]["coalition"].as_str().unwrap();
    assert!(coalition.starts_with("any 1 of the 4 parties and either of the 2 servers"), "{coalition}");
}

/// A folder with keys, a plan, a project for each server and numbers for each party.
struct World {
    folder: Folder,
    servers: usize,
    parties: usize,
}

impl World {
    fn new(parties: usize, silent: usize, servers: usize, budget: &str) -> Self {
        let folder = Folder::with(&[]);
        let mut text = format!(
            "name = \"flu\"\nepsilon = 1\ncolluding = 0\nsilent = {silent}\ncells = 2\nattributes = [\"flu\"]\n[owner]\ncells = 1\nby = 1\n"
        );
        let key = |name: String| folder.stdout(&["parties", "key", &format!("{name}.key")]).trim().to_string();
        for (place, port) in ports(servers).into_iter().enumerate() {
            let public = key(format!("s{place}"));
            let _ =
                write!(text, "[[server]]\nname = \"s{place}\"\naddress = \"127.0.0.1:{port}\"\nkey = \"{public}\"\n");
            folder.write(
                &format!("s{place}.toml"),
                &format!("ledger = \"s{place}.ledger\"\n[dataset]\n[budget]\nperson = {{ epsilon = {budget} }}\n"),
            );
        }
        for place in 0..parties {
            let public = key(format!("p{place}"));
            let _ = write!(text, "[[party]]\nname = \"p{place}\"\nkey = \"{public}\"\n");
            // Each party's numbers tell whose they are in the total: noise is smaller than a thousand.
            folder.write(&format!("p{place}.csv"), &format!("0,{}\n1,7000\n", 10_000 << place));
        }
        folder.write("flu.toml", &text);
        Self { folder, servers, parties }
    }

    fn start(&self, arguments: &[&str]) -> Child {
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command.args(arguments).current_dir(self.folder.path());
        command.stdin(Stdio::null()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap()
    }

    fn serve(&self, place: usize, wait: &str) -> Child {
        let name = |end: &str| format!("s{place}{end}");
        let (key, project, out) = (name(".key"), name(".toml"), name(""));
        self.start(&[
            "parties",
            "serve",
            "flu.toml",
            "--key",
            &key,
            "--project",
            &project,
            "--out",
            &out,
            "--wait",
            wait,
        ])
    }

    fn send(&self, place: usize, wait: &str) -> Child {
        let (key, counts) = (format!("p{place}.key"), format!("p{place}.csv"));
        self.start(&["parties", "send", "flu.toml", "--key", &key, "--counts", &counts, "--wait", wait])
    }

    fn has_charged(&self, server: usize) -> bool {
        let project = format!("s{server}.toml");
        if !self.folder.file(&format!("s{server}.ledger")).exists() {
            return false;
        }
        let export: Value = self.folder.json(&["ledger", "export", &project]);
        // Before a share of the sum is sent, the ledger says that it may be seen.
        export["entries"].as_array().unwrap().iter().any(|entry| entry["body"]["entry"] == "drawn")
    }

    /// What a server has published, if it has.
    fn published(&self, server: usize) -> Option<Value> {
        self.folder
            .file(&format!("s{server}/flu.json"))
            .exists()
            .then(|| self.folder.json_file(&format!("s{server}/flu.json")))
    }

    /// Whatever has happened: who has published has the sum of the parties on its list and of no others, these are
    /// enough, and all servers have charged.
    fn is_as_promised(&self, least: usize) -> usize {
        let mut opened = 0;
        for server in 0..self.servers {
            let Some(found) = self.published(server) else { continue };
            opened += 1;
            let answered: Vec<&str> =
                found["answered"].as_array().unwrap().iter().map(|name| name.as_str().unwrap()).collect();
            assert!(answered.len() >= least && answered.len() <= self.parties);
            let places = answered.iter().map(|name| name[1..].parse::<usize>().unwrap());
            let truth = [places.map(|place| 10_000i64 << place).sum(), 7000 * answered.len() as i64];
            for (cell, truth) in truth.into_iter().enumerate() {
                let total = found["totals"][cell]["total"].as_i64().unwrap();
                // Noise of scale 2 and of at most two shares: beyond 200 with probability below 1e-40.
                assert!((total - truth).abs() < 200, "{found} is not about {truth}");
            }
            assert!((0..self.servers).all(|other| self.has_charged(other)), "opened without a charge");
        }
        opened
    }
}

fn ended(child: Child) -> Output {
    child.wait_with_output().unwrap()
}

/// Processes that are killed (SIGKILL) at any moment, servers and parties: nothing is opened, or exactly what the plan
/// promised.
#[test]
fn killed_processes_open_nothing_or_what_was_promised() {
    let rounds = effort(3, 10);
    let opened = std::sync::Mutex::new(0);
    for start in (0..rounds).step_by(3) {
        std::thread::scope(|scope| {
            for round in start..(start + 3).min(rounds) {
                let opened = &opened;
                scope.spawn(move || *opened.lock().unwrap() += killed(round));
            }
        });
    }
    // In each third round nobody is killed who is needed; a slow machine may miss one.
    assert!(rounds == 3 || *opened.lock().unwrap() > 0, "no round has opened anything");
}

/// The same at single calls of a server and of a party: what is opened then is what was promised, and all servers have
/// drawn it.
#[test]
fn processes_that_are_killed_at_single_calls_open_nothing_or_what_was_promised() {
    if killer().is_none() {
        return;
    }
    let run = |victim: &str, at: u64| {
        let world = World::new(3, 1, 2, "2");
        let one = |name: &str, arguments: &[&str]| {
            let at = if name == victim { at } else { 0 };
            let count = world.folder.file(&format!("{name}.calls"));
            kills::program(&world.folder, arguments, at).env("KILL_COUNT", count).spawn().unwrap()
        };
        let server = |name: &str| {
            let (key, project) = (format!("{name}.key"), format!("{name}.toml"));
            one(
                name,
                &["parties", "serve", "flu.toml", "--key", &key, "--project", &project, "--out", name, "--wait", "4"],
            )
        };
        let party = |name: &str| {
            let (key, counts) = (format!("{name}.key"), format!("{name}.csv"));
            one(name, &["parties", "send", "flu.toml", "--key", &key, "--counts", &counts, "--wait", "3"])
        };
        let all = [server("s0"), server("s1"), party("p0"), party("p1"), party("p2")];
        all.into_iter().for_each(|child| drop(ended(child)));
        (world.is_as_promised(2), world)
    };
    let (opened, world) = run("nobody", 0);
    assert_eq!(opened, 2);
    for victim in ["s0", "p0"] {
        let all: u64 = world.folder.read(&format!("{victim}.calls")).parse().unwrap();
        let some = effort(2, 60).min(all);
        (0..some).for_each(|turn| drop(run(victim, all - turn * all / some)));
    }
}

fn killed(round: u64) -> usize {
    let world = World::new(3, 1, 2, "2");
    let mut servers: Vec<Option<Child>> = (0..2).map(|place| Some(world.serve(place, "4"))).collect();
    let mut parties: Vec<Option<Child>> = (0..3).map(|place| Some(world.send(place, "3"))).collect();
    // Moments spread over the whole run, which takes a few hundred milliseconds; every third round a party, which may
    // be silent.
    std::thread::sleep(Duration::from_millis(40 * (round * 7 % 30)));
    let victim = if round % 3 == 2 { &mut parties[2] } else { &mut servers[(round % 3) as usize] };
    let mut killed = victim.take().unwrap();
    let _ = killed.kill();
    let _ = killed.wait();
    let sent = parties.into_iter().flatten().map(ended).filter(|run| run.status.success()).count();
    servers.into_iter().flatten().for_each(|child| drop(ended(child)));
    let opened = world.is_as_promised(2);
    // A party that got the confirmation that all servers have its share is in the sum, and one party may be silent.
    assert!(round % 3 != 2 || sent < 2 || opened == 2, "round {round}: {sent} have sent");
    opened
}

/// The story: the plan said that one colluder of four parties learns no more than planned, of a sum of all four; but
/// one may be silent, and then a third of the noise is the colluder's.
#[test]
fn the_plan_counts_on_silent_parties_to_be_silent() {
    let world = World::new(4, 1, 2, "2");
    let plan = world.folder.json(&["parties", "plan", "flu.toml", "--json"]);
    let epsilon = |colluding: usize| plan["against"][colluding]["epsilon"].as_f64().unwrap();
    assert_eq!((plan["against_answers"].clone(), plan["honest"].clone()), (3.into(), 3.into()));
    assert!(epsilon(0) < 1.000_001 && epsilon(1) > 1.2 && epsilon(2) > 1.8, "{plan}");
    assert!(world.folder.stdout(&["parties", "plan", "flu.toml"]).contains("learn more, of a sum of 3 parties"));
}

/// A budget that the plan does not fit into is refused before anybody can send; a plan is charged once; more needs a
/// word.
#[test]
fn budgets_and_second_openings() {
    let poor = World::new(2, 0, 2, "0.5");
    let run = ended(poor.serve(0, "1"));
    crate::support::refused(&run, 3, "'flu' was refused and nothing was charged");
    assert!(!poor.has_charged(0));

    let world = World::new(2, 0, 2, "1.5");
    let servers: Vec<Child> = (0..2).map(|place| world.serve(place, "20")).collect();
    let sent: Vec<Child> = (0..2).map(|place| world.send(place, "20")).collect();
    sent.into_iter().for_each(|child| drop(printed(ended(child))));
    for server in servers {
        assert!(printed(ended(server)).contains("2 of 2 parties are in the sum."));
    }
    assert_eq!(world.is_as_promised(2), 2);
    crate::support::refused(&ended(world.serve(0, "1")), 2, "the ledger has charged this plan in entry 2");
    // ε = 1 of 1.5 is spent.
    let again = ["parties", "serve", "flu.toml", "--key", "s0.key", "--project", "s0.toml", "--out", "s0", "--again"];
    world.folder.refused(&again, 3, "is spent and epsilon 0.5 is left");
    // The second opinion of the report and the verification know the kind.
    world.folder.stdout(&["ledger", "verify", "s0.toml"]);
}

/// One sentence each, and nothing is sent.
#[test]
fn wrong_input_is_named() {
    let world = World::new(2, 0, 2, "2");
    let folder = &world.folder;
    let refused = |arguments: &[&str], words: &str| folder.refused(&[&["parties"], arguments].concat(), 2, words);
    refused(&["key", "p0.key"], "exists already, and a key is never overwritten");
    refused(&["key", "--public", "flu.toml"], "is not a private key");
    refused(&["plan", "none.toml"], "none.toml");
    folder.write("bad.toml", &folder.read("flu.toml").replace("silent = 0", "silent = 2"));
    refused(&["plan", "bad.toml"], "bad.toml: of 2 parties 0 may collude and 2 may be silent");
    refused(&["serve", "flu.toml", "--key", "p0.key", "--ledger", "l"], "no server of the plan");
    refused(&["serve", "flu.toml", "--key", "s0.key"], "name the ledger that is charged");
    refused(&["send", "flu.toml", "--key", "s0.key", "--counts", "p0.csv", "--wait", "1"], "no party of the plan");
    refused(&["send", "flu.toml", "--key", "p0.key", "--counts", "none.csv"], "none.csv is not a file");
    refused(&["send", "flu.toml", "--key", "p0.key", "--counts", "p0.csv", "--wait", "0"], "--wait");
    let run = ended(world.send(0, "1"));
    crate::support::refused(&run, 1, "'s0' does not answer at 127.0.0.1:");
    // What is wrong with the numbers is said before the servers are met and before a ledger of the party's own is
    // charged; the other party and both servers see nothing of it.
    let servers: Vec<Child> = (0..2).map(|place| world.serve(place, "60")).collect();
    for (counts, words) in [
        ("0,5\n", "has no line for the cell '1'"),
        ("0,5\n1,x\n", "line 2: the number must be a whole number from 0 to 1000000000"),
        ("0,5\n1,-1\n", "line 2: the number must be"),
        ("0,5\n0,5\n", "line 2: this cell is listed twice"),
        ("0,5\n2,5\n", "line 2: this cell is not in the plan"),
        ("5\n", "has 1 lines, and the plan has 2 cells"),
    ] {
        folder.write("p0.csv", counts);
        crate::support::refused(&ended(world.send(0, "20")), 2, words);
        refused(&["send", "flu.toml", "--key", "p0.key", "--counts", "p0.csv", "--ledger", "p0.ledger"], words);
        assert!(!folder.file("p0.ledger").exists(), "{counts}");
    }
    for mut server in servers {
        server.kill().unwrap();
        let said = String::from_utf8_lossy(&ended(server).stderr).into_owned();
        assert!(said.contains("listening at 127.0.0.1:") && !said.contains("stored the share"), "{said}");
    }
    assert!(!world.has_charged(0) && world.is_as_promised(2) == 0);
}

/// The inner product between two processes, each with its own ledger.
#[test]
fn two_parties_multiply() {
    let folder = Folder::with(&[]);
    let key = |name: &str| folder.stdout(&["parties", "key", name]).trim().to_string();
    let (first, second) = (key("a.key"), key("b.key"));
    folder.write("both.toml", &format!(
        "name = \"both\"\nowners = 3000\n[first]\nname = \"survey\"\nkey = \"{first}\"\nepsilon = 2\nattributes = [\"smokes\"]\n[second]\nname = \"clinic\"\naddress = \"127.0.0.1:{}\"\nkey = \"{second}\"\nepsilon = 1\nattributes = [\"ill\"]\n",
        ports(1)[0]
    ));
    let plan = folder.stdout(&["parties", "plan", "both.toml"]);
    assert!(plan.contains("both: how many of 3000 owners have both") && plan.contains("at 'clinic' ε = 1,"), "{plan}");
    let plan = folder.json(&["parties", "plan", "both.toml", "--json"]);
    assert!(plan["first"]["epsilon"].as_f64().unwrap() <= 2.0 && plan["within"].as_f64().unwrap() > 10.0, "{plan}");
    folder.write("a.txt", &"1\n0\n1\n".repeat(1000));
    folder.write("b.txt", &"1\n1\n0\n".repeat(1000));
    let start = |name: &str| {
        let (key, bits, ledger) = (format!("{name}.key"), format!("{name}.txt"), format!("{name}.ledger"));
        let arguments = [
            "parties",
            "product",
            "both.toml",
            "--key",
            &key,
            "--bits",
            &bits,
            "--ledger",
            &ledger,
            "--wait",
            "20",
            "--json",
        ];
        let mut command = Command::new(env!("CARGO_BIN_EXE_scumble"));
        command
            .args(arguments)
            .current_dir(folder.path())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()
            .unwrap()
    };
    let (second, first) = (start("b"), start("a"));
    let found: Value = serde_json::from_str(&printed(ended(first))).unwrap();
    let answered: Value = serde_json::from_str(&printed(ended(second))).unwrap();
    assert_eq!((answered["answered"].clone(), answered["epsilon"].clone()), (true.into(), 1.0.into()));
    // Within six standard deviations: 2000 ones of the second party, flips of probability 0.12.
    let estimate = found["estimate"].as_f64().unwrap();
    assert!((estimate - 1000.0).abs() < 150.0, "{found}");
    assert!(found["epsilon"].as_f64().unwrap() <= 2.0);
    folder.write("project.toml", "ledger = \"a.ledger\"\n[dataset]\n");
    let shown = folder.json(&["ledger", "show", "project.toml", "--json"]);
    // Flips are whole numbers of 2^-16, so that the cost is a little below what was asked for.
    let cost = epsilon(&shown["attributes"]["smokes"]);
    assert!(cost <= 2.0 && cost > 1.999, "{cost}");
    // Who the owners are is known, and the replacement of one may not be among them: a person was once shown with ε = 2
    // beside a presence that is not protected.
    let has_none = |scope: &str| shown[scope]["epsilon"].as_f64().is_none();
    assert!(has_none("presence") && has_none("person"), "{shown}");
    folder.write("b.txt", "1\n2\n");
    // A file that does not fit is said before anybody is met or charged.
    folder.write("short.txt", "1\n");
    for (key, ledger) in [("a.key", "c.ledger"), ("b.key", "d.ledger")] {
        let short = ["parties", "product", "both.toml", "--key", key, "--bits", "short.txt", "--ledger", ledger];
        folder.refused(&short, 2, "short.txt has 1 lines, and the plan has");
        assert!(!folder.file(ledger).exists());
    }
    let again = ["parties", "product", "both.toml", "--key", "b.key", "--bits", "b.txt", "--ledger", "b.ledger"];
    folder.refused(&again, 2, "the ledger has charged this plan in entry 1");
}
