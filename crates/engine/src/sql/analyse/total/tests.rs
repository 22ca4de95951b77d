use super::*;
use crate::tables::Backend;
use datafusion::arrow::array::{Float64Array, RecordBatch, StringArray};
use datafusion::arrow::datatypes::{Field, Schema};
use std::sync::atomic::{AtomicU64, Ordering};

/// The last column of `SELECT expression FROM numbers`, made total and run as it is above the noise.
fn evaluated(expression: &str) -> Vec<ScalarValue> {
    let extreme = [0, 1, -1, i64::MIN, i64::MAX, i64::MIN + 1];
    let fractions = [0.0, -0.0, f64::NAN, f64::INFINITY, -1e300, 1e-300];
    let texts = ["", "1", "x", "1e400", "(", "é"];
    let fields = vec![
        Field::new("n", DataType::Int64, true),
        Field::new("x", DataType::Float64, true),
        Field::new("t", DataType::Utf8, true),
    ];
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(extreme)),
        Arc::new(Float64Array::from_iter_values(fractions)),
        Arc::new(StringArray::from_iter_values(texts)),
    ];
    let batch = RecordBatch::try_new(Arc::new(Schema::new(fields)), columns).unwrap();
    let backend = Backend::empty().unwrap();
    // One session is shared by all tests.
    static TABLES: AtomicU64 = AtomicU64::new(0);
    let table = format!("numbers_{}", TABLES.fetch_add(1, Ordering::Relaxed));
    backend.context.register_batch(&table, batch).unwrap();
    let query = format!("SELECT n, {expression} AS result FROM {table} WHERE {expression} IS NULL OR true");
    let plan = backend.wait(backend.context.state().create_logical_plan(&query)).unwrap();
    let state = backend.context.state();
    let coerced = state.analyzer().execute_and_check(plan, state.config_options(), |_, _| {}).unwrap();
    let frame = datafusion::prelude::DataFrame::new(backend.context.state(), total_plan(coerced).unwrap());
    let batches = backend.wait(frame.collect()).unwrap();
    let cells = |batch: &RecordBatch| {
        let column = batch.column(1).clone();
        (0..column.len()).map(|row| ScalarValue::try_from_array(&column, row).unwrap()).collect::<Vec<_>>()
    };
    batches.iter().flat_map(cells).collect()
}

/// The story: `COUNT(*) * 9223372036854775807` was published as −2 with an error of 0, and a division by a noisy zero
/// took the answer away after the charge.
#[test]
fn what_has_no_result_is_null() {
    let whole = |number: Option<i64>| ScalarValue::Int64(number);
    let results = evaluated("n * 9223372036854775807");
    assert_eq!(results, [Some(0), Some(i64::MAX), Some(-i64::MAX), None, None, None].map(whole));
    let results = evaluated("10 / n");
    assert_eq!(results, [None, Some(10), Some(-10), Some(0), Some(0), Some(0)].map(whole));
    assert_eq!(evaluated("n % n")[0], whole(None));
    assert_eq!(evaluated("-n")[3], whole(None));
    assert_eq!(evaluated("n / -1")[3], whole(None));
    assert_eq!(evaluated("abs(n)")[3..], [None, Some(i64::MAX), Some(i64::MAX)].map(whole));
    assert_eq!(evaluated("abs(n)")[..3], [Some(0), Some(1), Some(1)].map(whole));
}

/// The story: `repeat('x', 100000000)` beside an aggregate took all of the memory, after the charge.
#[test]
fn texts_that_would_be_too_long_are_null() {
    let absent = |result: &ScalarValue| result.is_null();
    assert!(evaluated("repeat('x', 100000000)").iter().all(absent));
    assert!(evaluated("repeat('x', n)")[4].is_null());
    assert_eq!(evaluated("repeat('xy', 2)")[0].to_string(), "xyxy");
    assert!(evaluated("replace(repeat('x', 1000), 'x', repeat('y', 2000))").iter().all(absent));
    assert!(evaluated("replace(repeat('x', 1000), '', repeat('y', 2000))").iter().all(absent));
    assert_eq!(evaluated("replace('axa', 'x', 'yy')")[0].to_string(), "ayya");
    // The same for `lpad`, which killed a server that was asked for a plan; a negative length caused a panic.
    for none in ["lpad('x', 100000000)", "rpad('x', 5000000000, t)", "rpad('x', -1)"] {
        assert!(evaluated(none).iter().all(absent), "{none}");
    }
    assert!(evaluated("lpad('x', n)")[2..].iter().all(absent));
    assert_eq!(evaluated("lpad('x', 3, 'ab')")[0].to_string(), "abx");
    let half = "repeat('x', 400000)";
    assert!(evaluated(&format!("{half} || {half} || {half}")).iter().all(absent));
    assert!(evaluated(&format!("concat({half}, {half}, {half})")).iter().all(absent));
    assert_eq!(evaluated("t || n")[0].to_string(), "0");
}

/// No number, text or truth value makes any of these fail; where the result is known, it is the plain one.
#[test]
fn nothing_fails_on_extreme_numbers() {
    for expression in [
        "CAST(n AS TINYINT)",
        "CAST(t AS BIGINT)",
        "CAST(t AS DOUBLE)",
        "CAST(x AS BIGINT)",
        "CAST(n AS DECIMAL(5, 2)) * CAST(n AS DECIMAL(5, 2))",
        "CAST(n AS DECIMAL(38, 0)) * CAST(n AS DECIMAL(38, 0))",
        "t > 5",
        "t = n",
        "power(n, 3)",
        "power(x, n)",
        "round(n, -2)",
        "round(x, 3)",
        "sqrt(x)",
        "ln(x)",
        "repeat(t, 3)",
        "lpad(t, n)",
        "rpad(t, n, '#')",
        "chr(n)",
        "n / x",
        "x / 0",
        "CASE WHEN n = 0 THEN NULL ELSE 1 / n END",
        "coalesce(1 / n, n)",
        "nullif(n, 0) / n",
        "n + n * n - n",
        "greatest(n, x)",
        "log(n, x)",
        "factorial(n)",
        "gcd(n, n)",
        "lcm(n, 7)",
        "to_hex(n)",
    ] {
        assert_eq!(evaluated(expression).len(), 6, "{expression}");
    }
    assert_eq!(evaluated("round(n, -1)")[1], ScalarValue::Int64(Some(0)));
}
