use super::*;

fn tests() -> Vec<Test> {
    ["smoker", "insured", "age >= 65", "region = north", "region = south and west"].map(Test::parse).to_vec()
}

#[test]
fn conjunctions_are_read_as_they_are_written() {
    let of = |text: &str| conjunction(text, &tests()).unwrap().literals;
    assert_eq!(of("smoker AND NOT insured"), [(0, true), (1, false)]);
    assert_eq!(of("  not   smoker and NOT not insured "), [(0, false), (1, true)]);
    assert_eq!(of("age>=65 AND region='north'"), [(2, true), (3, true)]);
    assert_eq!(of("age < 65 AND NOT region != north"), [(2, false), (3, true)]);
    assert_eq!(of("region <> 'north' AND smoker AND smoker"), [(3, false), (0, true)]);
    assert_eq!(of("region = 'south and west' AND \"smoker\""), [(4, true), (0, true)]);
    // What a missing value makes a difference to.
    let turned = |text: &str| conjunction(text, &tests()).unwrap().turned;
    assert_eq!(turned("smoker AND age < 65"), [("age < 65".to_string(), (2, false))]);
    assert_eq!(turned("NOT region != north"), [("NOT region != north".to_string(), (3, true))]);
    assert!(turned("NOT age >= 65 AND NOT smoker").is_empty());
}

#[test]
fn what_is_no_conjunction_of_these_columns_gets_a_sentence() {
    let of = |text: &str, part: &str| {
        let sentence = conjunction(text, &tests()).unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    };
    of("", "joined by AND");
    of("smoker AND", "joined by AND");
    of("AND smoker", "joined by AND");
    of("smoker OR insured", "'OR' is not supported");
    of("(smoker AND insured)", "'(smoker' is not supported");
    of("smokr AND insured", "'smokr' is not among the columns of this release (did you mean 'smoker'?)");
    of("NOT", "'NOT' is not among");
    of("age >= 64", "'age >= 64' is not among");
    of("smoker AND NOT smoker", "nobody satisfies 'smoker' and 'NOT smoker' at once");
    of("age < 65 AND smoker AND age >= 65", "nobody satisfies");
    of("größer", "'größer' is not among");
    of("noß x", "is not among");
}

#[test]
fn tests_are_true_of_the_values_that_they_say() {
    let of = |text: &str, cells: &[Cell]| Test::parse(text).truths(cells, |code| code + 1 == cells.len());
    let text = |text: &str| Cell::Text(text.into());
    // The last one is a missing value: nothing is true of it.
    let truth = [Cell::Truth(false), Cell::Truth(true), text("(missing)")];
    assert_eq!(of("smoker", &truth).unwrap(), [false, true, false]);
    let regions = [text("north"), text("south"), text("(missing)")];
    assert_eq!(of("region = south", &regions).unwrap(), [false, true, false]);
    assert_eq!(of("region != south", &regions).unwrap(), [true, false, false]);
    let ages: Vec<Cell> = (63..67).map(Cell::Whole).chain([text("(missing)")]).collect();
    assert_eq!(of("age > 64", &ages).unwrap(), [false, false, true, true, false]);
    assert_eq!(of("age <= 63", &ages).unwrap(), [true, false, false, false, false]);
    let refused = |text: &str, cells: &[Cell], part: &str| {
        let sentence = of(text, cells).unwrap_err().to_string();
        assert!(sentence.contains(part), "{sentence}");
    };
    refused("region = sout", &regions, "true of no value of the column 'region'");
    refused("age >= 0", &ages, "true of every value of the column 'age'");
    refused("age >= old", &ages, "compares whole numbers with 'old'");
    refused("age >= nan", &ages, "compares whole numbers with 'nan'");
    refused("region > north", &regions, "write = or !=");
    refused("region", &regions, "neither true nor false");
    refused("age", &ages, "has 4 values: say when it counts as true");
}
