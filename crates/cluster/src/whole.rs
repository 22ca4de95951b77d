//! Whether the result of a job is made of every row once.
//!
//! A step of a statement ("stage") leaves its rows on the executors, and the next one fetches them. Where an executor
//! dies, Ballista 55 does what it had done again, but forgets neither what a step that is begun anew has already handed
//! on, nor the rows of a last step that is: these are counted twice. An owner would be counted twice, which no bound
//! allows for; so a result counts only if what was read is what was written, on every way.
//!
//! Why that suffices: the scheduler keeps one record of each part of a step, that of its last run, so the
//! rows *written* are those of a run in which each part ran once. Parts of an earlier run that are read beside it are
//! rows that were read and not written.

use ballista_core::serde::protobuf::operator_metric::Metric;
use ballista_core::serde::protobuf::{GetJobMetricsResult, JobStageMetrics, OperatorWithMetrics};
use std::collections::BTreeMap;

/// What the rows that were written and read say of a result.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Verdict {
    /// Every row was read once.
    Whole,
    /// A join read fewer rows than were there for it, which it does where its other side has none; rows that were lost
    /// look like that too.
    Short,
    /// Rows were read twice, or nobody knows.
    Unknown,
}

/// A step: how many rows it wrote, how many it read from each other step, and whether it may stop before it has read
/// all.
struct JobStage {
    written: u64,
    read: Vec<(u32, u64)>,
    joins: bool,
}

/// What a job's records say of a result of so many rows.
pub fn verdict(job: &GetJobMetricsResult, received: u64) -> Verdict {
    match judged(job, received) {
        Some(true) => Verdict::Whole,
        Some(false) => Verdict::Short,
        None => Verdict::Unknown,
    }
}

/// Whether all was read; nothing where more was, where the records do not fit together, or where they have words that
/// are not known here.
fn judged(job: &GetJobMetricsResult, received: u64) -> Option<bool> {
    let step = |stage: &JobStageMetrics| Some((stage.stage_id, step_of(stage)?));
    let steps = job.stages.iter().map(step).collect::<Option<BTreeMap<u32, JobStage>>>()?;
    if steps.len() != job.stages.len() {
        return None;
    }
    let mut readers: BTreeMap<u32, usize> = steps.keys().map(|id| (*id, 0)).collect();
    let mut all = true;
    for step in steps.values() {
        for (from, rows) in &step.read {
            *readers.get_mut(from)? += 1;
            let there = steps.get(from)?.written;
            if *rows > there || (*rows < there && !step.joins) {
                return None;
            }
            all &= *rows == there;
        }
    }
    // Nobody but the one who asked reads the last step; every other has one reader.
    let mut unread = readers.iter().filter(|(_, readers)| **readers == 0);
    let (last, _) = unread.next()?;
    let others = readers.iter().filter(|(id, _)| *id != last).all(|(_, readers)| *readers == 1);
    (others && steps.get(last)?.written == received).then_some(all)
}

fn step_of(stage: &JobStageMetrics) -> Option<JobStage> {
    let (writer, below) = stage.operators.split_first()?;
    if !matches!(writer.operator_type.as_str(), "ShuffleWriterExec" | "SortShuffleWriterExec") {
        return None;
    }
    let mut read = Vec::new();
    for operator in below.iter().filter(|operator| operator.operator_type.contains("Shuffle")) {
        if operator.operator_type != "ShuffleReaderExec" || operator.operator_desc.contains("broadcast") {
            return None;
        }
        read.push((upstream(&operator.operator_desc)?, rows(operator)?));
    }
    let joins = below.iter().any(|operator| operator.operator_type.contains("Join"));
    Some(JobStage { written: rows(writer)?, read, joins })
}

/// The step that a reader names in its description.
fn upstream(description: &str) -> Option<u32> {
    let (_, behind) = description.split_once("upstream_stage: ")?;
    behind.split(|c: char| !c.is_ascii_digit()).next()?.parse().ok()
}

/// How many rows came out of an operator, over all of its parts; nothing where no part says so.
fn rows(operator: &OperatorWithMetrics) -> Option<u64> {
    let of = |metric: &Option<Metric>| match metric {
        Some(Metric::OutputRows(rows)) => Some(*rows),
        _ => None,
    };
    let counted: Vec<u64> = operator.metrics.iter().filter_map(|metric| of(&metric.metric)).collect();
    (!counted.is_empty()).then(|| counted.iter().sum())
}
