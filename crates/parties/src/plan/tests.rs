use super::*;

fn text(change: impl Fn(&str) -> String) -> String {
    let key = |number: u32| format!("{number:064x}");
    change(&format!(
        "name = \"flu\"\nepsilon = 0.1\ncolluding = 1\nsilent = 1\ncells = [\"none\", \"mild\"]\nattributes = [\"flu\"]\n\
         [owner]\ncells = 1\nby = 1\n\
         [[server]]\nname = \"north\"\naddress = \"127.0.0.1:7001\"\nkey = \"{}\"\n\
         [[server]]\nname = \"south\"\naddress = \"127.0.0.1:7002\"\nkey = \"{}\"\n\
         [[party]]\nname = \"a\"\nkey = \"{}\"\n[[party]]\nname = \"b\"\nkey = \"{}\"\n[[party]]\nname = \"c\"\nkey = \"{}\"\n",
        key(1),
        key(2),
        key(3),
        key(4),
        key(5)
    ))
}

#[test]
fn a_plan_says_who_and_what() {
    let plan = Plan::read(&text(str::to_string)).unwrap();
    assert_eq!((plan.name(), plan.cells().len(), plan.parties().len(), plan.servers().len()), ("flu", 2, 3, 2));
    assert_eq!(plan.epsilon().to_string(), "0.1", "a tenth, not the nearest f64");
    assert_eq!(plan.sum().trust().honest().get(), 1);
    // A replaced owner moves two cells: 2/0.1.
    assert!((plan.sum().scale().get() - 20.0).abs() < 1e-9);
    assert_eq!(plan.party_of(plan.parties()[2].key), Some(2));
    assert_eq!(plan.server_of(plan.parties()[2].key), None);
    let other = Plan::read(&text(|text| format!("{text}\n"))).unwrap();
    assert_ne!(plan.digest(), other.digest());
    let numbered = Plan::read(&text(|text| text.replace("[\"none\", \"mild\"]", "3"))).unwrap();
    assert_eq!(numbered.cells(), ["0", "1", "2"]);
}

#[test]
fn what_is_wrong_is_named() {
    let (third, fourth) = (format!("{:064x}", 3), format!("{:064x}", 4));
    for (from, to, words) in [
        ("epsilon = 0.1", "epsilon = 0", "epsilon must be a number above 0"),
        ("epsilon = 0.1", "epsilon = nan", "epsilon must be a number above 0"),
        ("epsilon = 0.1", "", "epsilon must be a number above 0"),
        ("epsilon = 0.1", "epsilon = \"x\"", "x"),
        ("name = \"flu\"", "name = \"../flu\"", "name must have up to"),
        ("silent = 1", "", "how many parties may collude"),
        ("silent = 1", "silent = 2", "no noise"),
        ("silent = 1", "silent = -1", "silent of the plan must be a whole number"),
        ("silent = 1", "silents = 1", "unknown key 'silents'"),
        ("cells = [\"none\", \"mild\"]", "cells = []", "cells must be"),
        ("cells = [\"none\", \"mild\"]", "cells = [\"a\", \"a\"]", "'a' is empty or listed twice"),
        ("cells = [\"none\", \"mild\"]", "cells = 0", "from 1 to"),
        ("cells = [\"none\", \"mild\"]", "cells = 2\nlargest = 9000000000000000000", "more than a word holds"),
        ("attributes = [\"flu\"]", "", "attributes must list"),
        ("by = 1", "", "[owner] must say"),
        ("by = 1", "by = 0", "1 to 4294967296 in a cell"),
        ("by = 1", "by = 1\nof = 2", "[owner] has an unknown key 'of'"),
        ("address = \"127.0.0.1:7002\"", "address = \"127.0.0.1\"", "[[server]] number 2 needs an address"),
        ("address = \"127.0.0.1:7002\"", "address = \"127.0.0.1:0\"", "[[server]] number 2 needs an address"),
        ("name = \"b\"", "name = \"a\"", "'a' is listed twice"),
        ("name = \"b\"", "name = \"\"", "[[party]] number 2 needs a name"),
        (fourth.as_str(), third.as_str(), "the key of 'b' is listed twice"),
        (fourth.as_str(), "00", "[[party]] number 2 ('b'): a key must be 64"),
        ("[[party]]", "[[party", "line "),
    ] {
        let changed = text(|text| text.replacen(from, to, 1));
        let sentence = Plan::read(&changed).expect_err(words).to_string();
        assert!(sentence.contains(words) && !sentence.contains('\n'), "{sentence} is not about {words}");
    }
    let wrong = text(|text| format!("scope = \"everybody\"\n{text}"));
    assert!(Plan::read(&wrong).unwrap_err().to_string().contains("\"person\" or \"presence\""));
    let alone = text(|text| {
        text.split("[[server]]\nname = \"south\"").next().unwrap().to_string()
            + "[[party]]\nname = \"a\"\nkey = \""
            + &"a".repeat(64)
            + "\"\n"
    });
    let sentence = Plan::read(&alone).unwrap_err().to_string();
    assert!(sentence.contains("2 to 16 servers") || sentence.contains("no noise"), "{sentence}");
}
