//! Without noise against the sorted column; what each scope is charged; sentences.

use crate::budget::Odometer;
use crate::kinds::cdf::tests::{CERTAIN, only, project, published};
use crate::release::run::Runner;
use crate::support::Folder;
use scumble::quantity::Exact;
use scumble::scope::{AttributeSet, Scope};

const TEXT: &str = "x = { type = \"category\" }";

fn quantiles(keys: &str, list: &str) -> String {
    format!("kind = \"quantiles\"\ncolumn = \"x\"\nkeys = \"{keys}\"\nquantiles = {list}\n{CERTAIN}")
}

#[test]
fn without_noise_they_are_those_of_the_sorted_column() {
    let words = "x\nzebra\nGrüße\nAbt\n世界\nAbend\nÖl\n\nApfel\n";
    // Abend, Abt, Apfel, Grüße, zebra, Öl, 世界: by Unicode's numbers, and the empty line is no value.
    let csv = published(TEXT, "", words, &quantiles("texts", "[0.25, 0.5, 0.75]"));
    assert_eq!(only(&csv, &[0, 1]), ["quantile,value", "0.25,Abt", "0.5,Grüße", "0.75,Öl"]);
    // A longer text is its beginning; where a character is cut in two, the last text before it that is shown as it is:
    // Gr and the last such sign of one byte.
    let short = |at: &str| format!("max_bytes = 3\n{}", quantiles("texts", at));
    assert_eq!(only(&published(TEXT, "", words, &short("[0.25]")), &[1]), ["value", "Abt"]);
    assert_eq!(only(&published(TEXT, "", words, &short("[0.5]")), &[1]), ["value", "Gr~"]);
    let ids = "x\nffffffff-0000-0000-0000-000000000000\n00000000-0000-0000-0000-00000000000a\nnobody\n0000000000000000000000000000000c\n";
    let csv = published(TEXT, "", ids, &quantiles("uuids", "[0.5]"));
    assert_eq!(only(&csv, &[1]), ["value", "00000000-0000-0000-0000-00000000000c"]);
    let time = "x = { type = \"timestamp\", lower = \"2020-01-01T00:00:00\", upper = \"2021-01-01T00:00:00\" }";
    let moments = "x\n2020-03-01T10:00:00.000000001\n2020-03-01T10:00:00.000000003\n2020-03-01T10:00:00.000000007\n";
    let csv = published(time, "", moments, &quantiles("times", "[0.5]"));
    assert_eq!(only(&csv, &[1]), ["value", "2020-03-01T10:00:00.000000003"]);
}

/// Of few quantiles each is found by itself, of many at a pure cost all at once; what is charged is what was asked, in
/// every scope.
#[test]
fn the_cost_is_met_in_every_scope_by_both_ways() {
    let owner = "owner = \"o\"\nmax_rows_per_owner = 3";
    let many: Vec<String> = (1..64).map(|part| (f64::from(part) / 64.0).to_string()).collect();
    for (list, way) in [("[0.1, 0.5]", "each by itself"), (format!("[{}]", many.join(", ")).as_str(), "tree")] {
        for cost in ["cost = { epsilon = 1 }", "cost = { rho = 0.1 }", "cost = { epsilon = 1, delta = 1e-6 }"] {
            let folder = Folder::with(&[]);
            let columns = format!("{TEXT}\ny = {{ type = \"int\", lower = 0, upper = 1 }}");
            let release = quantiles("texts", list).replace(CERTAIN, cost);
            let project = project(&folder, &columns, owner, "o,x,y\n1,a,1\n", &release);
            let plan = Runner::new(&project).plan(&project.releases[0]).unwrap().plan;
            if cost == "cost = { epsilon = 1 }" {
                assert_eq!(plan.rule["way"], way);
            }
            // Three rows of an owner are three values that come and go.
            assert!(plan.events.iter().all(|event| event.moves().shifts(&Scope::Presence)[0].by.get() == 3.0));
            let spent = |scope: Scope| Odometer::of(&plan.events, &scope).unwrap();
            let of = |name: &str| Scope::Attributes(AttributeSet::new([name]).unwrap());
            let number = |spent: Odometer| match cost {
                "cost = { epsilon = 1 }" => spent.epsilon(&Exact::zero()).unwrap().to_f64(),
                "cost = { rho = 0.1 }" => spent.rho(&Exact::zero()).unwrap().to_f64() / 0.1,
                _ => spent.epsilon(&"1e-6".parse().unwrap()).unwrap().to_f64(),
            };
            let (person, presence) = (number(spent(Scope::Person)), number(spent(Scope::Presence)));
            assert!(person <= 1.0 && person > 0.999, "{list} {cost}: {person}");
            assert!(presence < 0.95 * person && number(spent(of("x"))) == person, "{list} {cost}: {presence}");
            assert_eq!(number(spent(of("y"))), 0.0);
        }
    }
}

#[test]
fn the_plan_says_how_many_ranks_they_are_off_and_fewer_bytes_help() {
    let ranks = |more: &str| {
        let folder = Folder::with(&[]);
        let release = format!("{}\n{more}", quantiles("texts", "[0.5]")).replace(CERTAIN, "cost = { epsilon = 1 }");
        let project = project(&folder, TEXT, "", "x\na\n", &release);
        let expected = Runner::new(&project).plan(&project.releases[0]).unwrap().plan.expected;
        let words = expected[0].about.strip_prefix("off by at most ").unwrap();
        words.split(' ').next().unwrap().parse::<f64>().unwrap()
    };
    // 2·2·½/ε·(ln of the number of texts + ln 20): about 2^114 of them, and 2^21.
    assert!((160.0..170.0).contains(&ranks("")), "{}", ranks(""));
    assert!((34.0..37.0).contains(&ranks("max_bytes = 3")), "{}", ranks("max_bytes = 3"));
}

#[test]
fn wrong_requests_get_a_sentence() {
    let check = |columns: &str, release: &str, sentence: &str| {
        let folder = Folder::with(&[]);
        let project = project(&folder, columns, "", "x\n1\n", release);
        let error = Runner::new(&project).plan(&project.releases[0]).err().expect("was accepted");
        assert!(error.to_string().contains(sentence), "{error}");
        assert!(error.to_string().contains("scumble.toml:"), "no place: {error}");
    };
    check(TEXT, &quantiles("words", "[0.5]"), "keys are 'texts', 'uuids' or 'times'");
    check(TEXT, &quantiles("times", "[0.5]"), "keys = \"times\" is for a timestamp with lower and upper");
    let listed = "x = { type = \"category\", values = [\"a\", \"b\"] }";
    check(
        listed,
        &quantiles("texts", "[0.5]"),
        "keys = \"texts\" and \"uuids\" need a column of type category whose values are not listed",
    );
    check(TEXT, &format!("max_bytes = 18\n{}", quantiles("texts", "[0.5]")), "max_bytes must be 1 to 17, not 18");
    check(TEXT, &format!("max_bytes = 4\n{}", quantiles("uuids", "[0.5]")), "max_bytes goes with keys = \"texts\"");
    let smooth = format!("method = \"smooth\"\n{}", quantiles("texts", "[0.5]"));
    check(TEXT, &smooth, "the method 'smooth' is for columns of numbers; leave it out for keys");
    let without = quantiles("texts", "[0.5]").replace("keys = \"texts\"\n", "");
    check(TEXT, &without, "(lower, upper), or strings in an order: keys = \"texts\" or \"uuids\"");
}
