//! Records of jobs, and what they say of a result.

use scumble_cluster::protobuf::operator_metric::Metric;
use scumble_cluster::protobuf::{GetJobMetricsResult, JobStageMetrics, OperatorMetric, OperatorWithMetrics};
use scumble_cluster::whole::{Verdict, verdict};

fn operator(kind: &str, description: &str, rows: &[u64]) -> OperatorWithMetrics {
    let metric = |rows: &u64| OperatorMetric { partition: Some(0), metric: Some(Metric::OutputRows(*rows)) };
    OperatorWithMetrics {
        depth: 0,
        operator_type: kind.to_string(),
        operator_desc: description.to_string(),
        metrics: rows.iter().map(metric).collect(),
    }
}

fn reader(from: u32, rows: &[u64]) -> OperatorWithMetrics {
    operator("ShuffleReaderExec", &format!("ShuffleReaderExec: upstream_stage: {from}, partitioning: Hash"), rows)
}

fn step(stage_id: u32, written: &[u64], below: Vec<OperatorWithMetrics>) -> JobStageMetrics {
    let writer = operator("SortShuffleWriterExec", "", written);
    JobStageMetrics { stage_id, partitions: 2, operators: [vec![writer], below].concat() }
}

fn judge(stages: Vec<JobStageMetrics>, received: u64) -> Verdict {
    verdict(&GetJobMetricsResult { stages }, received)
}

#[test]
fn a_result_of_every_row_once_is_whole() {
    let stages = || vec![step(1, &[60, 40], vec![]), step(2, &[4, 4], vec![reader(1, &[50, 50])])];
    assert_eq!(judge(stages(), 8), Verdict::Whole);
    // What came back is more, or less, than what the last step wrote.
    assert_eq!(judge(stages(), 12), Verdict::Unknown);
    assert_eq!(judge(stages(), 4), Verdict::Unknown);
}

#[test]
fn rows_that_were_read_twice_or_lost_are_noticed() {
    let stages = |read: u64| vec![step(1, &[60, 40], vec![]), step(2, &[8], vec![reader(1, &[50, read])])];
    assert_eq!(judge(stages(50), 8), Verdict::Whole);
    assert_eq!(judge(stages(51), 8), Verdict::Unknown);
    assert_eq!(judge(stages(49), 8), Verdict::Unknown);
}

#[test]
fn a_join_may_stop_early_and_never_reads_more() {
    let join = operator("HashJoinExec", "", &[0]);
    let stages = |left: u64, right: u64| {
        let below = vec![join.clone(), reader(1, &[left]), reader(2, &[right])];
        vec![step(1, &[0], vec![]), step(2, &[9], vec![]), step(3, &[0], below)]
    };
    assert_eq!(judge(stages(0, 9), 0), Verdict::Whole);
    assert_eq!(judge(stages(0, 3), 0), Verdict::Short);
    assert_eq!(judge(stages(0, 10), 0), Verdict::Unknown);
}

#[test]
fn records_that_do_not_fit_together_are_no_proof() {
    assert_eq!(judge(vec![], 0), Verdict::Unknown);
    // A step that is missing, a step that nobody reads, one that two read, one that is reported twice.
    assert_eq!(judge(vec![step(2, &[1], vec![reader(1, &[1])])], 1), Verdict::Unknown);
    assert_eq!(judge(vec![step(1, &[1], vec![]), step(2, &[1], vec![])], 1), Verdict::Unknown);
    let twice = vec![step(1, &[1], vec![]), step(2, &[2], vec![reader(1, &[1]), reader(1, &[1])])];
    assert_eq!(judge(twice, 2), Verdict::Unknown);
    assert_eq!(judge(vec![step(1, &[1], vec![]), step(1, &[1], vec![])], 1), Verdict::Unknown);
    // Words that are not known here, and numbers that are missing.
    let broadcast = operator("ShuffleReaderExec", "ShuffleReaderExec: upstream_stage: 1, broadcast: true", &[1]);
    assert_eq!(judge(vec![step(1, &[1], vec![]), step(2, &[1], vec![broadcast])], 1), Verdict::Unknown);
    let range = operator("RangeShuffleReaderExec", "upstream_stage: 1", &[1]);
    assert_eq!(judge(vec![step(1, &[1], vec![]), step(2, &[1], vec![range])], 1), Verdict::Unknown);
    assert_eq!(judge(vec![step(1, &[], vec![])], 0), Verdict::Unknown);
}
