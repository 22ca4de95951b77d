"""What people wrote elsewhere (the tables in docs/coming-from), and what they write here: about the same number, where the peer is installed."""

from typing import Any

import pandas as pd
import pytest
import scumble as sc

ROWS = 30_000
PEOPLE = pd.DataFrame({"age": [i % 100 for i in range(ROWS)], "disease": [["none", "none", "flu"][i % 3] for i in range(ROWS)]})


def session() -> sc.Session:
    columns = {"age": sc.int(0, 120), "disease": sc.category(["none", "flu"], sensitive=True)}
    return sc.Session({"people": PEOPLE}, owner=None, columns=columns, budget=sc.Budget(person=(100, 1e-9)))


def near(theirs: Any, ours: Any, within: float) -> None:
    """Both have noise of a scale below ten at epsilon 0.5, but for quantiles: further apart than this has a probability below 1e-9."""
    assert abs(float(theirs) - float(ours)) < within, (theirs, ours)


def test_opendp() -> None:
    dp = pytest.importorskip("opendp.prelude")
    dp.enable_features("contrib")
    count = dp.t.make_count(dp.vector_domain(dp.atom_domain(T=int)), dp.symmetric_distance()) >> dp.m.then_laplace(scale=2.0)
    near(count(PEOPLE["age"].tolist()), session().plan("SELECT COUNT(*) AS n FROM people", epsilon=0.5).release()["n"][0], 300)


def test_opendp_with_polars() -> None:
    dp = pytest.importorskip("opendp.prelude")
    polars = pytest.importorskip("polars")
    dp.enable_features("contrib")
    try:
        context = dp.Context.compositor(
            data=polars.from_pandas(PEOPLE).lazy(), privacy_unit=dp.unit_of(contributions=1), privacy_loss=dp.loss_of(epsilon=0.5), split_evenly_over=1
        )
        theirs = context.query().select(dp.len()).release().collect().item()
    except (AttributeError, TypeError, ImportError) as error:
        pytest.skip(f"OpenDP wants another version of polars ({type(error).__name__})")
    near(theirs, session().plan("SELECT COUNT(*) AS n FROM people", epsilon=0.5).release().to_polars()["n"][0], 300)


def test_diffprivlib() -> None:
    tools = pytest.importorskip("diffprivlib.tools", exc_type=ImportError)
    theirs = tools.mean(PEOPLE["age"].to_numpy(dtype=float), epsilon=0.5, bounds=(0, 120))
    near(theirs, session().plan("SELECT AVG(age) AS mean FROM people", epsilon=0.5).release()["mean"][0], 5)


def test_pipeline_dp() -> None:
    pdp = pytest.importorskip("pipeline_dp")
    accountant = pdp.NaiveBudgetAccountant(total_epsilon=0.5, total_delta=1e-9)
    engine = pdp.DPEngine(accountant, pdp.LocalBackend())
    parameters = pdp.AggregateParams(metrics=[pdp.Metrics.COUNT], max_partitions_contributed=1, max_contributions_per_partition=1)
    extractors = pdp.DataExtractors(
        privacy_id_extractor=lambda row: row[0], partition_extractor=lambda row: row[1], value_extractor=lambda row: 0
    )
    made = engine.aggregate(list(enumerate(PEOPLE["disease"])), parameters, extractors, public_partitions=["none", "flu"])
    accountant.compute_budgets()
    theirs = {key: metrics.count for key, metrics in made}
    answer = session().plan("SELECT disease, COUNT(*) AS n FROM people GROUP BY disease", epsilon=0.5).release()
    for disease, n in zip(answer["disease"], answer["n"]):
        near(theirs[disease], n, 400)


def test_dp_accounting() -> None:
    accounting = pytest.importorskip("dp_accounting")
    theirs = accounting.pld.PLDAccountant().compose(accounting.GaussianDpEvent(1.0), 100).get_epsilon(1e-6)
    near(theirs, sc.account(sc.Gaussian(1.0, times=100), delta=1e-6).epsilon, 0.01 * theirs)
    multiplier = accounting.calibrate_dp_mechanism(accounting.pld.PLDAccountant, accounting.GaussianDpEvent, 1.0, 1e-6, tol=1e-4)
    near(multiplier, sc.calibrate(sc.Gaussian(), epsilon=1.0, delta=1e-6).to_dict()["sigma"], 0.01)
