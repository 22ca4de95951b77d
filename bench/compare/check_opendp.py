"""OpenDP (Python, with its Polars interface)."""

import pickle
import warnings

import opendp.combinators
import opendp.measurements
import opendp.prelude as dp
import polars as pl

from facts import ROWS, end, fact, package, refusal, words

warnings.filterwarnings("ignore")
dp.enable_features("contrib")
package("opendp")
TABLE = pl.LazyFrame(ROWS, schema=["owner", "key", "value"], orient="row")


def context(epsilon=1.0, delta=1e-7, **options):
    return dp.Context.compositor(
        data=TABLE,
        privacy_unit=dp.unit_of(contributions=1, identifier="owner"),
        privacy_loss=dp.loss_of(epsilon=epsilon, delta=delta),
        margins=[dp.polars.Margin(by=["key"], max_length=1000, max_groups=10)],
        **options,
    )


def by_key(query):
    bounded = query.truncate_per_group(1, by=["key"]).truncate_num_groups(3, by=["key"], keep="first")
    return bounded.group_by("key").agg(dp.len(signed=True))


def single(epsilon):
    return dp.Context.compositor(
        data=TABLE, privacy_unit=dp.unit_of(contributions=5), privacy_loss=dp.loss_of(epsilon=epsilon)
    )


@fact("contribution bounding and private key selection: groups with enough owners are published, with noise")
def _():
    answer = by_key(context(epsilon=10.0, split_evenly_over=1).query()).release().collect()
    assert set(answer["key"]) <= {"a", "b", "c"} and answer.height > 0
    return answer.rows()


@fact('with keep="first", a limit of n groups per owner keeps n - 1: of three groups, two are published at a limit of three')
def _():
    sizes = []
    for most in (2, 3, 4):
        query = context(epsilon=10.0, split_evenly_over=1).query().truncate_per_group(1, by=["key"])
        query = query.truncate_num_groups(most, by=["key"], keep="first").group_by("key").agg(dp.len(signed=True))
        sizes.append(query.release().collect().height)
    assert sizes == [1, 2, 3], sizes
    return f"groups published at limits of 2, 3 and 4: {sizes}"


@fact("the error is shown by summarize(), before the release, not in the released table")
def _():
    query = by_key(context(split_evenly_over=1).query())
    summary = query.summarize(alpha=0.05)
    assert "accuracy" in summary.columns
    assert query.release().collect().columns == ["key", "len"]
    return summary.rows(named=True)


@fact("a privacy filter: costs may be chosen adaptively, under a budget fixed before")
def _():
    one = single(1.0)
    for epsilon in (0.3, 0.2):
        one.query(epsilon=epsilon).select(dp.len(signed=True)).release().collect()
    assert abs(one.remaining_privacy_loss() - 0.5) < 1e-9
    return f"left after 0.3 and 0.2 of 1.0: {one.remaining_privacy_loss()}"


@fact("after one request that would pass the budget, the filter answers nothing more")
def _():
    one = single(1.0)
    ask = lambda epsilon: one.query(epsilon=epsilon).select(dp.len(signed=True)).release().collect()
    ask(0.3)
    first = refusal(lambda: ask(0.9), "would exceed privacy budget")
    second = refusal(lambda: ask(0.1), "filter is exhausted")
    return f"{first}; then for 0.1: {second}"


@fact("the accountant lives in memory: a context can be neither pickled nor serialized")
def _():
    one = single(1.0)
    return refusal(lambda: pickle.dumps(one)) + "; " + refusal(lambda: dp.serialize(one))[:80]


@fact("integer noise on integers; on floats, the noise is drawn on a grid and not as an f64")
def _():
    whole = dp.m.make_laplace(dp.atom_domain(T=int), dp.absolute_distance(T=int), scale=2.0)
    grid = dp.m.make_laplace(dp.atom_domain(T=float, nan=False), dp.absolute_distance(T=float), scale=2.0, k=-10)
    answers = [grid(5.0) for _ in range(100)]
    assert all(isinstance(whole(5), int) for _ in range(100))
    assert all((answer * 2**10).is_integer() for answer in answers)
    return f"with k = -10 every answer is a multiple of 2^-10: {answers[:3]}"


@fact("quantiles by the exponential mechanism, among candidates that the user gives")
def _():
    median = pl.col("value").fill_null(0).dp.median(candidates=[0, 10, 20, 30, 40])
    answer = (
        dp.Context.compositor(
            data=TABLE,
            privacy_unit=dp.unit_of(contributions=5),
            privacy_loss=dp.loss_of(epsilon=1.0),
            split_evenly_over=1,
            margins=[dp.polars.Margin(max_length=1000)],
        )
        .query()
        .select(median)
        .release()
        .collect()
    )
    return answer.rows()


@fact("rows cannot be joined: neither with a public table nor with another private one")
def _():
    public = pl.LazyFrame({"key": ["a", "b"], "weight": [1, 2]})
    return refusal(lambda: by_key(context(split_evenly_over=1).query().join(public, on="key")).release(), "INNER JOIN")


@fact("keys that are public can be joined to the answer (with_keys)")
def _():
    query = by_key(context(split_evenly_over=1).query()).with_keys(pl.LazyFrame({"key": ["a", "b", "z"]}))
    answer = query.release().collect()
    assert set(answer["key"]) == {"a", "b", "z"}
    return answer.rows()


@fact("a scale of NaN is refused")
def _():
    return refusal(
        lambda: dp.m.make_gaussian(dp.atom_domain(T=int), dp.absolute_distance(T=float), scale=float("nan")), "finite"
    )


@fact("proof documents are linked from the functions' documentation")
def _():
    modules = [opendp.measurements, opendp.combinators, opendp.transformations]
    makers = [getattr(module, name) for module in modules for name in dir(module) if name.startswith("make_")]
    proven = sorted({maker.__name__ for maker in makers if "Proof Document" in (maker.__doc__ or "")})
    assert len(proven) >= 10
    return f"{len(proven)} of {len({maker.__name__ for maker in makers})} constructors: {proven[:4]} …"


@fact("no accounts per attribute, no loss distributions, no cluster, no audit and no server among the names that the package offers")
def _():
    wanted = ["attribute", "ledger", "pld", "loss_dist", "spark", "cluster", "audit", "server"]
    found = words([dp, opendp.measurements, opendp.combinators, dp.Context], wanted, "opendp")
    assert not found, found
    return found


end()
