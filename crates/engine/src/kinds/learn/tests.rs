//! Sensitivities and mistakes against enumeration: all records of a small domain, all changes of one.

use super::*;
use crate::kinds::registry as kinds;
use scumble::scope::Scope;
use std::path::Path;

const PROJECT: &str = r#"
[dataset.people]
source = "people.csv"
[dataset.people.columns]
town = { type = "category", values = ["a", "b", "c"] }
member = { type = "bool" }
age = { type = "int", lower = 0, upper = 2 }
ill = { type = "bool" }
[[release]]
name = "r"
kind = "learn"
table = "people"
label = "ill"
cost = { epsilon = 1 }
"#;

fn project(fields: &str) -> Project {
    Project::parse(Path::new("scumble.toml"), &format!("{PROJECT}{fields}")).unwrap()
}

pub(crate) fn asked(fields: &str) -> (LearnRequest, Request) {
    read(&project(fields))
}

/// The same at another cost.
pub(crate) fn asked_at(cost: &str, fields: &str) -> (LearnRequest, Request) {
    let text = format!("{}{fields}", PROJECT.replace("cost = { epsilon = 1 }", cost));
    read(&Project::parse(Path::new("scumble.toml"), &text).unwrap())
}

/// A whole project, and its first release.
pub(crate) fn request_of(text: &str) -> (Project, Request) {
    let project = Project::parse(Path::new("scumble.toml"), text).unwrap();
    let request = project.releases[0].clone();
    (project, request)
}

fn read(project: &Project) -> (LearnRequest, Request) {
    let request = project.releases[0].clone();
    assert_eq!(kinds::find(&request.kind).unwrap().name, "learn");
    (LearnRequest::read(&request, project).unwrap(), request)
}

/// Every record, by its codes, the label last.
fn universe(asked: &LearnRequest) -> Vec<Vec<u32>> {
    let sizes: Vec<usize> = asked.attributes.sizes().iter().map(|size| size.unwrap() as usize).collect();
    let cells: usize = sizes.iter().product();
    (0..cells).map(|cell| class::digits(&sizes, cell as u128).into_iter().map(|code| code as u32).collect()).collect()
}

fn records(rows: &[&Vec<u32>], columns: usize) -> Records {
    let column = |place: usize| rows.iter().map(|row| row[place]).collect();
    Records { columns: (0..columns).map(column).collect(), values: Vec::new() }
}

/// Over all records and all changes: what is charged to presence, to a person and to every set of attributes is what
/// moves; of the label with columns no less.
#[test]
fn conjunctions_move_as_many_cells_as_they_say() {
    let (asked, _) = asked("concept = \"conjunction\"\ncolumns = [\"town\", \"member\", \"age\"]\n");
    let questions = conjunction::questions(&asked);
    assert_eq!(questions.len(), 3 + 1 + 3);
    let noise = crate::release::price::noise::Noise::laplace(scumble::quantity::Scale::new(4.0).unwrap());
    let events = conjunction::events(&asked, &questions, &noise).unwrap();
    let counts = |row: &Vec<u32>| conjunction::counts(&asked, &questions, &records(&[row], 4));
    let nobody = conjunction::counts(&asked, &questions, &records(&[], 4));
    let universe = universe(&asked);
    let moved = |a: &[i64], b: &[i64]| {
        assert!(a.iter().zip(b).all(|(a, b)| a.abs_diff(*b) <= 1));
        a.iter().zip(b).filter(|(a, b)| a != b).count() as u64
    };
    let said = |scope: Scope| -> u64 {
        let of = |event: &Event| event.moves().shifts(&scope).iter().map(|shift| shift.cells).max();
        events.iter().filter_map(of).sum()
    };
    // By which of the four attributes change, as bits.
    let (mut presence, mut reached) = (0, vec![0; 16]);
    for row in &universe {
        presence = presence.max(moved(&counts(row), &nobody));
        for other in &universe {
            let changed: usize = (0..4).filter(|place| row[*place] != other[*place]).map(|place| 1 << place).sum();
            reached[changed] = reached[changed].max(moved(&counts(row), &counts(other)));
        }
    }
    assert_eq!(presence, said(Scope::Presence));
    assert_eq!(reached.iter().max(), Some(&said(Scope::Person)));
    for (changed, reached) in reached.into_iter().enumerate().skip(1) {
        let own = asked.attributes.names().iter().enumerate().filter(|(place, _)| changed >> place & 1 == 1);
        let said = said(Scope::Attributes(AttributeSet::new(own.map(|(_, name)| name.as_str())).unwrap()));
        let is_exact = changed & 8 == 0 || changed == 8;
        assert!(reached == said || !is_exact && reached <= said, "{changed:b}: {reached} of {said}");
    }
}

/// Each class: one record more is one mistake more for some rules and none for the others, and the conditions say what
/// the mistakes say.
#[test]
fn one_record_is_at_most_one_mistake() {
    let point = asked("concept = \"point\"\ncolumns = [\"town\", \"member\"]\n");
    let threshold = asked("concept = \"threshold\"\ncolumns = [\"age\"]\n");
    let halfspace = asked("concept = \"halfspace\"\ncolumns = [\"member\"]\n");
    const LIST: &str = "concept = \"list\"\ncolumns = [\"town\", \"age\"]\nrules = [\"town = 'a'\", \"age > 1 OR town IS NULL\", \"10 / age > 5\"]\n";
    let (list, project) = (asked(LIST), project(LIST));
    let classes = [
        (class::points(&point.0, &point.1).unwrap(), point.0, 7),
        (class::thresholds(&threshold.0, &threshold.1).unwrap(), threshold.0, 6),
        (class::halfspaces(&halfspace.0, &halfspace.1).unwrap(), halfspace.0, 4),
    ];
    for (class, asked, rules) in classes {
        assert_eq!(class.rules, rules, "{}", class.called);
        let universe = universe(&asked);
        for row in &universe {
            let mistakes = (class.mistakes)(&class::counts(&asked, &records(&[row], row.len()), &class.sizes));
            assert!(mistakes.len() == class.rules && mistakes.iter().all(|wrong| *wrong <= 1));
            let twice = (class.mistakes)(&class::counts(&asked, &records(&[row, row], row.len()), &class.sizes));
            assert!(mistakes.iter().zip(&twice).all(|(one, two)| 2 * one == *two));
        }
    }
    // A condition that fails on some values is refused before anything is charged; one that says nothing is false.
    let rules = RULES.read(&list.1).unwrap().unwrap();
    let refused = list::class(&list.0, &rules, &list.1, &project).err().unwrap().to_string();
    assert!(refused.contains("may divide by zero"), "{refused}");
    let class = list::class(&list.0, &rules[..2], &list.1, &project).unwrap();
    let of = |row: [u32; 3]| (class.mistakes)(&class::counts(&list.0, &records(&[&row.to_vec()], 3), &class.sizes));
    // Town a, age 0, ill: the first is right. Nobody's town, age missing, ill: the second.
    assert_eq!((of([0, 0, 1]), of([3, 3, 1])), (vec![0, 1], vec![1, 0]));
    // What cannot be read has one sentence; three thousand terms overflowed the stack.
    let long = vec!["age = 1"; 3000].join(" OR ");
    for text in [long.as_str(), "COUNT(*) > 1", "EXISTS (SELECT 1)", "ill", "random() > 0.5", "age"] {
        let rule = PlacedValue { value: text.to_string(), place: rules[0].place.clone() };
        let sentence = list::class(&list.0, &[rule], &list.1, &project).err().unwrap().to_string();
        assert!(sentence.len() < 600 && !sentence.contains('\n'), "{sentence}");
    }
}

#[test]
fn thresholds_are_counted_from_both_sides() {
    let (asked, request) = asked("concept = \"threshold\"\ncolumns = [\"age\"]\n");
    let class = class::thresholds(&asked, &request).unwrap();
    let rows = [vec![0, 0], vec![1, 1], vec![2, 1], vec![3, 1]]; // age, ill; the last age is missing
    let found = (class.mistakes)(&class::counts(&asked, &records(&rows.iter().collect::<Vec<_>>(), 2), &class.sizes));
    let best = (0..class.rules).min_by_key(|rule| found[*rule]).unwrap();
    assert_eq!(((class.condition)(best), found[best]), ("\"age\" >= 1".to_string(), 1));
    assert_eq!((class.condition)(5), "\"age\" < 2");
    assert_eq!(found, [2, 3, 1, 4, 2, 3]);
}
