//! Accepted queries without noise against plain queries.

use super::*;

#[test]
fn accepted_queries_without_noise_give_the_clamped_answer() {
    let (_folder, project) = sample();
    let check = |sql: &str, expected: &str| assert_eq!(exact_answer(&project, sql), expected, "{sql}");
    check("SELECT COUNT(*) AS n FROM people", "n\n7\n");
    check("SELECT COUNT(age) AS n, COUNT(income) AS m FROM people", "n,m\n6,5\n");
    // 150 counts as 120, −5 as 0.
    check("SELECT SUM(age) AS s FROM people", "s\n260\n");
    // Before anything reads them: a row beyond its bounds can neither show in a WHERE nor make a divisor 0.
    check("SELECT COUNT(*) AS n FROM people WHERE 121 / (121 - age) = 121 OR 1 / (age + 1) = 1", "n\n2\n");
    check("SELECT SUM(income) AS s FROM people WHERE sex = 'f'", "s\n400.5\n");
    check("SELECT SUM(age * 2 + 1) AS s FROM people WHERE age >= 40", "s\n423\n");
    check("SELECT AVG(age) AS a FROM people WHERE sex = 'f'", "a\n40\n");
    check("SELECT sex, COUNT(*) AS n FROM people GROUP BY sex", "sex,n\nf,3\nm,2\nx,1\n");
    check("SELECT sex, COUNT(*) AS n FROM people WHERE state = 'east' GROUP BY sex", "sex,n\nf,0\nm,1\nx,0\n");
    check("SELECT state, COUNT(*) AS n FROM people GROUP BY state", "state,n\neast,1\nnorth,3\nsouth,3\n");
    check("SELECT COUNT(DISTINCT state) AS n FROM people", "n\n3\n");
    check("SELECT VAR_POP(age) AS v FROM people WHERE sex = 'f'", "v\n100\n");
    check("SELECT STDDEV_POP(age) AS v FROM people WHERE age IN (30, 50)", "v\n10\n");
    check("SELECT age >= 40 AS old, COUNT(*) AS n FROM people GROUP BY age >= 40", "old,n\nfalse,3\ntrue,3\n");
    check(
        "SELECT CASE WHEN age < 30 THEN 'young' ELSE 'other' END AS g, COUNT(*) AS n FROM people GROUP BY 1",
        "g,n\nyoung,2\nother,5\n",
    );
    check(
        "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex HAVING COUNT(*) > 1 ORDER BY n DESC LIMIT 1",
        "sex,n\nf,3\n",
    );
    check(
        "SELECT sex, 100.0 * COUNT(*) / 7 AS p FROM people GROUP BY sex HAVING COUNT(*) = 2",
        "sex,p\nm,28.571428571428573\n",
    );
    check("SELECT COUNT(*) FILTER (WHERE age > 35) AS n FROM people", "n\n3\n");
    check("WITH adults AS (SELECT sex, age FROM people WHERE age >= 18) SELECT COUNT(*) AS n FROM adults", "n\n5\n");
    check(
        "SELECT t.s, t.n FROM (SELECT sex AS s, COUNT(*) AS n FROM people GROUP BY sex) t WHERE t.n = 1",
        "s,n\nx,1\n",
    );
    check("SELECT COALESCE(sex, 'other') AS s, COUNT(*) AS n FROM people GROUP BY 1", "s,n\nf,3\nm,2\nx,1\nother,1\n");
}

#[test]
fn quantiles_without_noise_give_the_clamped_answer() {
    let (_folder, project) = sample();
    let check = |sql: &str, expected: &str| assert_eq!(exact_answer(&project, sql), expected, "{sql}");
    // The ages are 0, 20, 30, 40, 50 and 120 after clamping, and one is NULL.
    check("SELECT MIN(age) AS a, MAX(age) AS b FROM people", "a,b\n0,120\n");
    check("SELECT MEDIAN(age) AS m FROM people WHERE age >= 20", "m\n40\n");
    check("SELECT APPROX_MEDIAN(age) AS m FROM people WHERE age >= 20", "m\n40\n");
    check("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age) AS q FROM people WHERE age >= 20", "q\n30\n");
    check("SELECT PERCENTILE_CONT(0.25) WITHIN GROUP (ORDER BY age DESC) AS q FROM people WHERE age >= 20", "q\n50\n");
    check("SELECT PERCENTILE_CONT(1) WITHIN GROUP (ORDER BY age) AS q FROM people WHERE age < 100", "q\n50\n");
    check(
        "SELECT APPROX_PERCENTILE_CONT(0.75) WITHIN GROUP (ORDER BY age) AS q FROM people WHERE age >= 20",
        "q\n50\n",
    );
    check("SELECT APPROX_PERCENTILE_CONT(age, 0.75) AS q FROM people WHERE age >= 20", "q\n50\n");
    check("SELECT MAX(income) AS b FROM people WHERE sex = 'f'", "b\n300\n");
    check("SELECT MIN(income) AS a FROM people WHERE sex = 'f'", "a\n100.5\n");
    check("SELECT MAX(age) FILTER (WHERE age < 45) AS b FROM people", "b\n40\n");
    check("SELECT MAX(2 * age + 1) - MIN(age) AS spread FROM people WHERE age BETWEEN 20 AND 50", "spread\n81\n");
    check(
        "SELECT sex, COUNT(*) AS n, MIN(age) AS a, MAX(age) AS b, SUM(age) AS s FROM people GROUP BY sex",
        "sex,n,a,b,s\nf,3,30,50,80\nm,2,0,40,40\nx,1,120,120,120\n",
    );
    check("SELECT state, MAX(age) AS b FROM people GROUP BY state", "state,b\neast,0\nnorth,40\nsouth,120\n");
    check(
        "SELECT sex, MAX(age) AS b FROM people GROUP BY sex HAVING MAX(age) > 45 ORDER BY b DESC",
        "sex,b\nx,120\nf,50\n",
    );
    // With owners: owner 3 is in one clinic only, and two visits count.
    check("SELECT MIN(cost) AS a, MAX(cost) AS b, MEDIAN(cost) AS m FROM visits", "a,b,m\n10,80,60\n");
    check("SELECT MAX(v.cost) AS b FROM visits v JOIN wards w ON v.clinic = w.clinic WHERE w.floor = 1", "b\n50\n");
}

#[test]
fn a_quantile_is_published_with_its_rank_error_and_without_a_standard_error() {
    let (folder, project) = sample();
    let sql = "SELECT sex, MEDIAN(age) AS m, COUNT(*) AS n, MAX(age) - MIN(age) AS spread FROM people GROUP BY sex";
    let request = Request::sql("test", sql, &"epsilon=2".parse().unwrap()).unwrap();
    let runner = Runner::new(&project);
    let planned = [runner.plan(&request).unwrap()];
    let expected = &planned[0].plan.expected;
    assert_eq!(expected.iter().map(|one| one.column.as_str()).collect::<Vec<_>>(), ["m", "n", "spread"]);
    assert!(
        expected[0].standard_error.is_none() && expected[0].about.contains("rows in rank"),
        "{}",
        expected[0].about
    );
    assert!(expected[1].standard_error.is_some() && expected[2].standard_error.is_none());
    let mut bits = InsecureSeededSource::new(9);
    let (outcomes, _) = runner.release(&planned, &folder.file("out"), &mut bits, |_| ()).unwrap();
    let csv = outcomes[0].answers.csv().unwrap();
    let mut lines = csv.lines();
    let beside = |name: &str| format!("{name},{name}_se,{name}_low,{name}_high");
    let header = format!("sex,{},m_rank_error,{},{}", beside("m"), beside("n"), beside("spread"));
    assert_eq!(lines.next(), Some(header.as_str()));
    for line in lines {
        let cells: Vec<&str> = line.split(',').collect();
        let (m, ranks): (f64, f64) = (cells[1].parse().unwrap(), cells[5].parse().unwrap());
        assert!((0.0..=120.0).contains(&m) && cells[2].is_empty() && cells[11].is_empty() && !cells[7].is_empty());
        // With four equal parts of 2, replacing a person moves a median by 2: ε = 1/4, ranks (2·½/ε)·ln(121/0.05). The
        // shares of a query are not equal: a median that stands alone has a little more than one that is subtracted.
        let equal = 4.0 * (121.0f64 / 0.05).ln();
        assert!(ranks < equal && ranks > 0.8 * equal, "{ranks}");
    }
}

#[test]
fn owners_are_bounded_and_joined() {
    let (_folder, project) = sample();
    let check = |sql: &str, expected: &str| assert_eq!(exact_answer(&project, sql), expected, "{sql}");
    // Owner 1 has 4 rows, owner 2 has 3, owner 3 has 4: without groups at most 4 of each count.
    check("SELECT COUNT(*) AS n, COUNT(DISTINCT person_id) AS o FROM visits", "n,o\n11,3\n");
    // At most 2 rows in each group: owner 1 keeps 2 of 3 in a, owner 3 keeps 2 of 4 in c; at most 2 groups: owner 2
    // loses one of a, b, c.
    let answer = exact_answer(&project, "SELECT clinic, COUNT(*) AS n FROM visits GROUP BY clinic");
    let counts: Vec<i64> =
        answer.lines().skip(1).map(|line| line.split(',').nth(1).unwrap().parse().unwrap()).collect();
    assert_eq!(counts.iter().sum::<i64>(), 3 + 2 + 2, "{answer}");
    check("SELECT SUM(cost) AS s FROM visits WHERE clinic = 'b'", "s\n100\n");
}

#[test]
fn joins_keep_the_owner() {
    let (_folder, project) = sample();
    let sql = "SELECT w.floor, COUNT(DISTINCT v.person_id) AS n FROM visits v JOIN wards w ON v.clinic = w.clinic GROUP BY w.floor";
    assert_eq!(exact_answer(&project, sql), "floor,n\n1,2\n2,3\n");
    let own = "SELECT COUNT(*) AS n FROM visits a JOIN visits b ON a.person_id = b.person_id WHERE a.clinic = 'c' AND b.clinic = 'c'";
    assert_eq!(exact_answer(&project, own), "n\n17\n");
}

#[test]
fn order_and_partitioning_do_not_change_the_integers() {
    let sql = "SELECT clinic, COUNT(*) AS n, SUM(cost) AS s FROM visits GROUP BY clinic";
    let answer = |rows: &[&str]| {
        let (folder, project) = sample();
        folder.write("visits.csv", &format!("person_id,clinic,cost\n{}\n", rows.join("\n")));
        exact_answer(&project, sql)
    };
    let rows: Vec<&str> = VISITS.lines().skip(1).collect();
    let expected = answer(&rows);
    for turn in 1..rows.len() {
        let mut turned = rows.clone();
        turned.rotate_left(turn);
        if turn % 2 == 0 {
            turned.reverse();
        }
        assert_eq!(answer(&turned), expected);
    }
}
