//! How often a question is analysed: once, whatever a client asks about it before it asks it.

use super::TestServer;

/// The story: a question was planned for its description, again for the columns of its rows, and again for its answer.
#[test]
fn a_question_is_analysed_once() {
    let server = TestServer::new();
    let mut ann = server.ann();
    let analysed = || server.service.project().queries_analysed();
    assert_eq!(analysed(), 0);
    assert_eq!(ann.query("SET scumble.cost = 'epsilon=1'").tags, ["SET"]);
    let simple = "SELECT sex, COUNT(*) AS n FROM people GROUP BY sex";
    assert_eq!((ann.query(simple).rows.len(), analysed()), (2, 1));
    assert_eq!((ann.query(simple).rows.len(), analysed()), (2, 1), "nor again when it comes again");
    // Parse, describe the statement, bind, describe the portal, execute.
    let prepared = "SELECT sex, SUM(age) AS years FROM people GROUP BY sex";
    assert_eq!((ann.prepared(prepared, &[], &[], 0).rows.len(), analysed()), (2, 2));
    // What was prepared and asked by somebody is the same query for the next connection, and at another cost.
    let mut other = server.ann();
    assert_eq!(other.query("SET scumble.cost = 'epsilon=2'").tags, ["SET"]);
    assert_eq!((other.query(prepared).rows.len(), analysed()), (2, 2));
    // With another value in it, a query is another one; its description stands for all values.
    let valued = "SELECT COUNT(*) AS n FROM people WHERE age > $1";
    let with =
        |ann: &mut super::TestClient, value: &str| ann.prepared(valued, &[23], &[(0, Some(value.as_bytes()))], 0);
    assert_eq!((with(&mut ann, "30").rows.len(), analysed()), (1, 4));
    assert_eq!((with(&mut ann, "40").rows.len(), analysed()), (1, 5));
    assert_eq!((with(&mut ann, "40").rows.len(), analysed()), (1, 5));
}
