"""PipelineDP (Python), on its local backend."""

import pipeline_dp
from pipeline_dp.report_generator import ExplainComputationReport

from facts import ROWS, end, fact, package, refusal, words

package("pipeline-dp")
package("python-dp")
COLUMNS = pipeline_dp.DataExtractors(
    privacy_id_extractor=lambda row: row[0],
    partition_extractor=lambda row: row[1],
    value_extractor=lambda row: row[2],
)


def aggregate(accountant, public=None, report=None, **options):
    parameters = pipeline_dp.AggregateParams(
        noise_kind=pipeline_dp.NoiseKind.LAPLACE,
        metrics=[pipeline_dp.Metrics.COUNT, pipeline_dp.Metrics.SUM],
        max_partitions_contributed=3,
        max_contributions_per_partition=1,
        min_value=0,
        max_value=50,
        **options,
    )
    engine = pipeline_dp.DPEngine(accountant, pipeline_dp.LocalBackend())
    return engine.aggregate(
        ROWS, parameters, COLUMNS, public_partitions=public, out_explain_computation_report=report
    )


def naive():
    return pipeline_dp.NaiveBudgetAccountant(total_epsilon=3.0, total_delta=1e-6)


@fact("contribution bounding, and private or public keys")
def _():
    answers = []
    for public in (None, ["a", "z"]):
        accountant = naive()
        answer = aggregate(accountant, public)
        accountant.compute_budgets()
        answers.append(dict(answer))
    assert set(answers[0]) <= {"a", "b", "c"} and set(answers[1]) == {"a", "z"}
    return answers


@fact("counts come out as doubles; the noise is drawn by PyDP, that is, by Google's C++ library")
def _():
    accountant = naive()
    answer = aggregate(accountant, ["a"])
    accountant.compute_budgets()
    count = dict(answer)["a"].count
    assert isinstance(count, float) and not count.is_integer()
    assert pipeline_dp.dp_computations.dp_mechanisms.__name__ == "pydp.algorithms.numerical_mechanisms"
    return count


@fact("the noise's standard deviation can be put beside each count and sum")
def _():
    accountant = naive()
    answer = aggregate(accountant, ["a"], output_noise_stddev=True)
    accountant.compute_budgets()
    answer = dict(answer)
    assert answer["a"].count_noise_stddev > 0
    return answer


@fact("a report explains each step of the computation in words")
def _():
    accountant, report = naive(), ExplainComputationReport()
    answer = aggregate(accountant, ["a"], report)
    accountant.compute_budgets()
    list(answer)
    assert "contribution bounding" in report.text()
    return report.text()


@fact("the budget is split over aggregations that are all named before any runs: after that, a new one is refused")
def _():
    accountant = naive()
    aggregate(accountant, ["a"])
    accountant.compute_budgets()
    return refusal(lambda: aggregate(accountant, ["a"]))


@fact("the accountant lives in memory and knows nothing of an earlier one")
def _():
    found = words([pipeline_dp.BudgetAccountant, pipeline_dp.NaiveBudgetAccountant], ["save", "load", "ledger", "spent", "remaining"], "pipeline-dp")
    assert not found, found
    return [name for name in dir(pipeline_dp.NaiveBudgetAccountant) if not name.startswith("_")]


@fact("backends for Beam and Spark are there (read, not run); no joins, accounts per attribute, synthetic rows, models, audit or server")
def _():
    assert {"BeamBackend", "SparkRDDBackend", "LocalBackend"} <= set(dir(pipeline_dp))
    found = words([pipeline_dp, pipeline_dp.DPEngine], ["join", "attribute", "synth", "model", "audit", "server"], "pipeline-dp")
    assert not found, found
    return [name for name in dir(pipeline_dp.Metrics) if name.isupper()]


end()
