//! What is refused, with the sentence and the place.

use super::*;

#[test]
fn refused_queries_say_why_and_where() {
    let (_folder, project) = sample();
    let check = |sql: &str, sentence: &str| {
        let error = planned(&project, sql).err().unwrap_or_else(|| panic!("accepted: {sql}"));
        assert!(error.to_string().contains(sentence), "{sql}\n  said: {error}\n  not:  {sentence}");
        assert!(error.kind() == crate::ErrorKind::Input, "{sql}");
    };
    check("SELECT age FROM people", "query:1:1: the query has no aggregate, and rows are never published");
    check("SELECT DISTINCT sex FROM people", "the query asks for no aggregate");
    check("SELECT DISTINCT ON (sex) state FROM people", "SELECT DISTINCT ON is not supported");
    check("SELECT DISTINCT * FROM people", "query:1:1: SELECT DISTINCT * would publish whole rows");
    check("SELECT DISTINCT state FROM people GROUP BY state", "leave DISTINCT out");
    check("SELECT DISTINCT COUNT(*) FROM people", "SELECT DISTINCT publishes keys, not aggregates");
    check("SELECT COUNT(*) FROM (SELECT DISTINCT state FROM people)", "inside of it use GROUP BY");
    check("SELECT DISTINCT income FROM people", "a column of fractions has a group for nearly every row");
    check("SELECT DISTINCT person_id FROM visits", "the owner column 'person_id' can be counted");
    check("SELECT COUNT(*) FROM people UNION SELECT COUNT(*) FROM visits", "UNION compares rows and is not supported");
    check("SELECT ROW_NUMBER() OVER (ORDER BY age) FROM people", "window function");
    check("SELECT COUNT(*) FROM people WHERE age > (SELECT AVG(age) FROM people)", "sub-query inside an expression");
    check(
        "SELECT COUNT(*) FROM peeple",
        "query:1:22: there is no table 'peeple' in the project file (did you mean 'people'?)",
    );
    check("SELECT COUNT(*) FROM people WHERE agee > 3", "there is no declared column 'agee' (did you mean 'age'?)");
    check("SELECT SUM(LENGTH(state)) FROM people", "needs bounds: declare public lower and upper for state");
    check("SELECT MAX(state) FROM people", "MAX(people.state) needs numbers, not strings");
    check("SELECT MEDIAN(LENGTH(state)) FROM people", "needs bounds: declare public lower and upper for state");
    check("SELECT MIN(DISTINCT age) FROM people", "min(DISTINCT …) is not supported");
    // The generator of adversarial queries found that this counted the people without visits too.
    check(
        "SELECT COUNT(DISTINCT w.person_id) FROM visits v LEFT JOIN visits w ON v.person_id = w.person_id AND w.cost > 50",
        "count the owner of the left table",
    );
    // DataFusion counts one value in COUNT(DISTINCT NULL), with and without rows.
    check("SELECT COUNT(DISTINCT NULL) FROM people", "of a constant is not supported");
    check("SELECT COUNT(DISTINCT state) FILTER (WHERE FALSE) FROM people", "of a constant condition is not supported");
    check(
        "SELECT PERCENTILE_CONT(1.5) WITHIN GROUP (ORDER BY age) FROM people",
        "the fraction of percentile_cont must be a literal, a number from 0 to 1",
    );
    check("SELECT APPROX_PERCENTILE_CONT(age, age) FROM people", "must be a literal");
    check("SELECT MEDIAN(fine) FROM fine", "which is too fine; declare tighter bounds or a coarser granularity");
    check(
        "SELECT sex, AVG(n) FROM (SELECT sex, state, COUNT(*) AS n FROM people GROUP BY sex, state) GROUP BY sex",
        "aggregate over an aggregate",
    );
    check("SELECT COUNT(*) FROM (SELECT * FROM people LIMIT 5)", "LIMIT below the aggregate");
    check(
        "SELECT income, COUNT(*) FROM people GROUP BY income",
        "a column of fractions has a group for nearly every row",
    );
    check("SELECT person_id, COUNT(*) FROM visits GROUP BY person_id", "the owner column 'person_id' can be counted");
    check("SELECT COUNT(*) FROM visits WHERE person_id = '7'", "the owner column 'person_id' can be counted");
    check("SELECT COUNT(*) FROM people p JOIN visits v ON p.age = v.cost", "needs an owner in the project file");
    check(
        "SELECT COUNT(*) FROM visits a JOIN visits b ON a.clinic = b.clinic",
        "can only be joined ON their owner columns",
    );
    check("SELECT COUNT(*) FROM visits a FULL JOIN visits b ON a.person_id = b.person_id", "FULL");
    check("SELECT COUNT(*) FROM people WHERE 10 / age > 1", "may divide by zero");
    check("SELECT COUNT(*) FROM people WHERE random() > 0.5", "the function random is not supported");
    check("SELECT sex, COUNT(*) FROM people GROUP BY GROUPING SETS ((sex), (sex))", "one grouping twice");
    check("SELECT COUNT(*) FROM wards", "reads public tables only");
    check("DROP TABLE people", "only SELECT is answered");
    check("SELECT COUNT(*) FROM people; DROP TABLE people", "exactly one SELECT");
    check("SELEC COUNT(*)", "this is not SQL");
    check("SELECT SUM(DISTINCT age) FROM people", "only COUNT(DISTINCT …) is");
    check("SELECT ARRAY_AGG(age) FROM people", "the aggregate array_agg is not supported; these are: COUNT");
}
