//! Our side of `bench/run accounting`: CPU seconds and bounds of each task, as JSON lines.

use scumble::calibrate::calibrate;
use scumble::event::Word;
use scumble::loss::Loss;
use scumble_wire::{AccountQuestion, account_from_json, calibration_from_json, parse};
use serde_json::{Value, json};

/// CPU seconds of this thread so far.
fn cpu() -> f64 {
    let text = std::fs::read_to_string("/proc/thread-self/schedstat").unwrap_or_default();
    text.split_whitespace().next().and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) * 1e-9
}

/// The most memory that this process has held, in megabytes.
fn peak() -> f64 {
    let text = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    let line = text.lines().find(|line| line.starts_with("VmHWM:")).unwrap_or_default();
    line.split_whitespace().nth(1).and_then(|field| field.parse::<f64>().ok()).unwrap_or(0.0) / 1024.0
}

/// The result, and the CPU seconds of one run: the mean of as many as fit in a third of a second, after one to warm up.
fn timed<T>(run: impl Fn() -> T) -> (T, f64) {
    let result = run();
    let start = cpu();
    let mut count = 0;
    while count == 0 || (cpu() - start < 0.3 && count < 2000) {
        std::hint::black_box(run());
        count += 1;
    }
    (result, (cpu() - start) / f64::from(count))
}

fn main() -> Result<(), Box<dyn std::error::Error>> {
    let path = std::env::args().nth(1).ok_or("give the vectors' file")?;
    let vectors = parse(&std::fs::read_to_string(path)?)?;
    for vector in vectors["vectors"].as_array().ok_or("no vectors")? {
        let mut document: Value = vector["inputs"].clone();
        document["delta"] = vector["delta"].clone();
        let (upper, lower, seconds) = if vector["command"] == "calibrate" {
            let asked = calibration_from_json(&document)?;
            let run = || calibrate(&asked.event, asked.free, &asked.scope, asked.epsilon, asked.delta);
            let (found, seconds) = timed(run);
            let found = found?;
            let Word::Gaussian { sigma } = found.word() else { return Err("the kind changed".into()) };
            (sigma.get(), sigma.get(), seconds)
        } else {
            let asked = account_from_json(&document)?;
            let AccountQuestion::Epsilon(delta) = asked.ask else { return Err("no delta".into()) };
            let run = || Loss::of(&asked.events, &asked.scope).map(|loss| loss.epsilon(delta));
            let (answer, seconds) = timed(run);
            let answer = answer?;
            (answer.upper, answer.lower, seconds)
        };
        let shown = |number: f64| if number.is_finite() { json!(number) } else { json!("inf") };
        let line = json!({
            "name": vector["name"], "upper": shown(upper), "lower": shown(lower), "seconds": seconds, "peak_mb": peak(),
        });
        println!("{line}");
    }
    Ok(())
}
