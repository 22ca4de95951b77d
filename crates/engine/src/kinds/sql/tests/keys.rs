//! Keys that are not public, and cells that nobody is in.

use super::*;

#[test]
fn a_key_of_one_owner_with_many_rows_is_not_selected() {
    // A peer's threshold counted rows: one person's thousand visits made a secret clinic public.
    let text = PROJECT
        .replace("values = [\"a\", \"b\", \"c\"] }\ncost", "}\ncost")
        .replace("max_rows_per_owner = 4", "max_rows_per_owner = 1000")
        .replace("max_rows_per_group = 2", "max_rows_per_group = 1000");
    let (folder, project) = sample_with(&text);
    let mut rows: Vec<String> = (0..1000).map(|_| "1,secret,1".to_string()).collect();
    rows.extend((0..500).map(|owner| format!("{owner},open,1")));
    folder.write("visits.csv", &format!("person_id,clinic,cost\n{}\n", rows.join("\n")));
    let request = Request::sql(
        "test",
        "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic",
        &"epsilon=2,delta=1e-6".parse().unwrap(),
    )
    .unwrap();
    let runner = Runner::new(&project);
    for _ in 0..5 {
        let planned = [runner.plan(&request).unwrap()];
        let mut bits = InsecureSeededSource::new(5);
        let (outcomes, _) = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap();
        let csv = outcomes[0].answers.csv().unwrap();
        assert!(!csv.contains("secret"), "{csv}");
        assert!(csv.contains("open"), "{csv}");
    }
}

#[test]
fn empty_groups_get_independent_noise_and_counts_may_be_negative() {
    let (folder, project) = sample();
    let sql = "SELECT sex, disease, COUNT(*) AS n FROM people WHERE state = 'nowhere' GROUP BY sex, disease";
    let request = Request::sql("test", sql, &"epsilon=0.1".parse().unwrap()).unwrap();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&request).unwrap()];
    let mut bits = InsecureSeededSource::new(3);
    let (outcomes, _) = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap();
    let counts: Vec<f64> = outcomes[0].answers.columns[2].cells.iter().filter_map(Cell::number).collect();
    assert_eq!(counts.len(), 9);
    let different: std::collections::BTreeSet<i64> = counts.iter().map(|count| *count as i64).collect();
    assert!(different.len() > 4, "{counts:?}");
    assert!(counts.iter().any(|count| *count < 0.0), "{counts:?}");
}

#[test]
fn an_owner_brings_in_no_more_unknown_keys_than_it_may() {
    // Keys without a kept row were noised all the same: an owner with many keys of their own got a chance to show for
    // each.
    let text = PROJECT.replace("values = [\"a\", \"b\", \"c\"] }\ncost", "}\ncost");
    let (folder, project) = sample_with(&text);
    let rows: Vec<String> = (0..300).map(|key| format!("1,key {key},1")).collect();
    folder.write("visits.csv", &format!("person_id,clinic,cost\n{}\n", rows.join("\n")));
    let backend = Backend::with_data(&project, &["visits".to_string()]).unwrap();
    let sql = "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic";
    let cut = analyse(sql, Bounding::default(), &project, &backend).unwrap();
    assert_eq!(integers(&cut, &backend, Key(1, 2)).unwrap().keys.len(), 2);
}

#[test]
fn quantiles_of_empty_groups_are_independent_and_uniform() {
    let (folder, project) = sample();
    let sql = "SELECT sex, disease, MEDIAN(age) AS m FROM people WHERE state = 'nowhere' GROUP BY sex, disease";
    let request = Request::sql("test", sql, &"epsilon=0.1".parse().unwrap()).unwrap();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&request).unwrap()];
    let mut bits = InsecureSeededSource::new(3);
    let (outcomes, _) = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap();
    let medians: Vec<f64> = outcomes[0].answers.columns[2].cells.iter().filter_map(Cell::number).collect();
    assert_eq!(medians.len(), 9);
    let different: std::collections::BTreeSet<i64> = medians.iter().map(|median| *median as i64).collect();
    // Nine uniform draws of 121 have five or fewer different values with probability below 1e-6, and the seed is fixed.
    assert!(different.len() > 5, "{medians:?}");
    assert!(medians.iter().any(|median| *median < 40.0) && medians.iter().any(|median| *median > 80.0), "{medians:?}");
}
