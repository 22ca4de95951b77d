//! One record per owner: what decides it, and what does not.

use super::*;
use crate::project::Project;
use crate::support::Folder;
use std::fmt::Write;

const KEY: Key = Key(7, 11);

/// All rows of two attributes: sex of two values, age of three.
fn universe() -> Vec<[usize; 2]> {
    (0..2).flat_map(|sex| (0..3).map(move |age| [sex, age])).collect()
}

fn line(text: &mut String, owner: &str, row: [usize; 2]) {
    writeln!(text, "{owner},{},{}", ["f", "m"][row[0]], row[1]).unwrap();
}

fn project(folder: &Folder, rows_per_owner: usize) -> Project {
    let table = |name: &str| {
        format!(
            "[dataset.{name}]\nsource = \"{name}.csv\"\nowner = \"id\"\nmax_rows_per_owner = {rows_per_owner}\n\
             [dataset.{name}.columns]\nsex = {{ type = \"category\", values = [\"f\", \"m\"] }}\nage = {{ type = \"int\", lower = 0, upper = 2 }}\n"
        )
    };
    let releases = ["before", "after"].map(|name| {
        format!("[[release]]\nname = \"{name}\"\nkind = \"marginals\"\ntable = \"{name}\"\ncolumns = [\"sex\", \"age\"]\ncost = {{ rho = 1 }}\n")
    });
    let text = format!("{}{}{}", table("before"), table("after"), releases.concat());
    folder.project(&text)
}

/// The records of both tables.
fn read(before: &str, after: &str, rows_per_owner: usize) -> [Vec<(u32, u32)>; 2] {
    let (before, after) = (format!("id,sex,age\n{before}"), format!("id,sex,age\n{after}"));
    let folder = Folder::with(&[("before.csv", &before), ("after.csv", &after)]);
    let project = project(&folder, rows_per_owner);
    let backend = Backend::with_data(&project, &["before".to_string(), "after".to_string()]).unwrap();
    [(0, &before), (1, &after)].map(|(release, text)| {
        let attributes = Attributes::new(&project.releases[release], &project, false, &[]).unwrap();
        let records = attributes.read(&backend, KEY).unwrap();
        let records = records.columns[0].iter().copied().zip(records.columns[1].iter().copied()).collect();
        in_order(text, records, &backend)
    })
}

/// The records in the order in which their owners are in a text: they come in another, which the key decides.
fn in_order(text: &str, records: Vec<(u32, u32)>, backend: &Backend) -> Vec<(u32, u32)> {
    let (mut seen, mut owned) = (HashMap::new(), RowsByOwner::new(KEY, 1, &backend.memory).unwrap());
    for owner in text.lines().skip(1).filter_map(|line| line.split(',').next()) {
        let new = seen.len() as i64;
        owned.push(Name::Text(owner.as_bytes()), std::iter::once(*seen.entry(owner).or_insert(new))).unwrap();
    }
    let (mut sorted, mut records) = (vec![(0, 0); records.len()], records.into_iter());
    owned.each(|_, rows| sorted[rows[0].0[0] as usize] = records.next().unwrap()).unwrap();
    sorted
}

/// Both kinds of records panicked on texts in the form in which Parquet files hold them.
#[test]
fn texts_are_read_in_every_form_and_another_type_is_no_panic() {
    use datafusion::arrow::array::{Float64Array, LargeStringArray, StringArray, StringViewArray};
    let list = vec![Some("a"), None, Some("a text of more than twelve bytes")];
    let forms: [ArrayRef; 3] = [
        std::sync::Arc::new(StringArray::from(list.clone())),
        std::sync::Arc::new(StringViewArray::from(list.clone())),
        std::sync::Arc::new(LargeStringArray::from(list.clone())),
    ];
    for form in &forms {
        assert_eq!(texts(form).unwrap(), list);
        assert_eq!(owners(form).unwrap()[2], Some(OwnerId::Text("a text of more than twelve bytes".into())));
    }
    let numbers: ArrayRef = std::sync::Arc::new(Float64Array::from(vec![1.0]));
    assert!(texts(&numbers).is_err() && owners(&numbers).is_err());
}

/// Owners with two rows, for all rows there can be, and all new values of one attribute in both of them.
#[test]
fn a_change_of_one_attribute_changes_that_attribute_of_the_record_and_no_other() {
    let (mut before, mut after, mut changed) = (String::new(), String::new(), Vec::new());
    for first in universe() {
        for second in universe() {
            for (attribute, size) in [(0, 2), (1, 3)] {
                for new in 0..size * size {
                    let owner = format!("p{}", changed.len());
                    let (mut new_first, mut new_second) = (first, second);
                    (new_first[attribute], new_second[attribute]) = (new / size, new % size);
                    [first, second].iter().for_each(|row| line(&mut before, &owner, *row));
                    [new_first, new_second].iter().for_each(|row| line(&mut after, &owner, *row));
                    changed.push(attribute);
                }
            }
        }
    }
    let [one, other] = read(&before, &after, 1);
    assert_eq!((one.len(), other.len()), (changed.len(), changed.len()));
    let mut different = 0;
    for ((one, other), attribute) in one.iter().zip(&other).zip(&changed) {
        assert!(if *attribute == 0 { one.1 == other.1 } else { one.0 == other.0 }, "{attribute}: {one:?} {other:?}");
        different += usize::from(one != other);
    }
    assert!(different > changed.len() / 4, "{different} of {} changes show", changed.len());
    // With whole rows a change of one attribute can bring another row: that is why it is charged as a person.
    let [one, other] = read(&before, &after, 2);
    assert!(one.iter().zip(&other).any(|(one, other)| one.0 != other.0 && one.1 != other.1));
}

#[test]
fn records_do_not_depend_on_the_order_of_rows_and_whole_rows_are_rows() {
    let mut lines: Vec<(String, [usize; 2])> = Vec::new();
    for (place, first) in universe().into_iter().enumerate() {
        for (other, second) in universe().into_iter().enumerate() {
            let owner = format!("p{place}-{other}");
            lines.push((owner.clone(), first));
            lines.push((owner, second));
        }
    }
    let written = |lines: &[(String, [usize; 2])]| {
        let mut text = String::new();
        lines.iter().for_each(|(owner, row)| line(&mut text, owner, *row));
        text
    };
    let forwards = written(&lines);
    lines.reverse();
    for rows_per_owner in [1, 2] {
        let [mut one, mut other] = read(&forwards, &written(&lines), rows_per_owner);
        if rows_per_owner == 2 {
            let pairs =
                universe().into_iter().flat_map(|first| universe().into_iter().map(move |second| [first, second]));
            for (record, rows) in one.iter().zip(pairs) {
                assert!(rows.contains(&[record.0 as usize, record.1 as usize]), "{record:?} of {rows:?}");
            }
        }
        one.sort_unstable();
        other.sort_unstable();
        assert_eq!(one, other);
    }
}

/// Equal rows stood or fell together: of nine rows of one kind and one of another, either kind was the record equally
/// often. Of 2,000 owners 200 take the seldom one, with a deviation of 13.4 (binomial); 90 from it is passed with a
/// probability below 1e-9.
#[test]
fn each_row_of_an_owner_is_as_likely_as_any_other() {
    let mut text = String::new();
    for owner in 0..2000 {
        (0..10).for_each(|row| line(&mut text, &format!("p{owner}"), [usize::from(row == owner % 10), 0]));
    }
    for rows_per_owner in [1, 2] {
        let [records, _] = read(&text, "", rows_per_owner);
        let seldom = records.iter().filter(|record| record.0 == 1).count();
        assert!(records.len() == 2000 && seldom.abs_diff(200) < 90, "{rows_per_owner}: {seldom}");
    }
}

/// Rows that do not fit the memory wait in a file, and the records are the same.
#[test]
fn records_do_not_depend_on_the_memory() {
    let mut text = "id,sex,age\n".to_string();
    for row in 0..60_000usize {
        line(&mut text, &format!("person {}", row * 7919 % 9000), universe()[row * 31 % 6]);
    }
    let folder = Folder::with(&[("before.csv", &text), ("after.csv", &text)]);
    for rows_per_owner in [1, 3] {
        let project = project(&folder, rows_per_owner);
        let attributes = Attributes::new(&project.releases[0], &project, false, &[]).unwrap();
        let [all, few] = [u64::MAX / 4, 1].map(|bytes| {
            let mut backend = Backend::with_data(&project, &["before".to_string()]).unwrap();
            backend.memory.bytes = bytes;
            let records = attributes.read(&backend, KEY).unwrap();
            let mut pairs: Vec<(u32, u32)> =
                records.columns[0].iter().copied().zip(records.columns[1].iter().copied()).collect();
            pairs.sort_unstable();
            pairs
        });
        assert_eq!(all.len(), 9000);
        assert_eq!(all, few);
    }
}
