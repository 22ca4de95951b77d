"""Accounting, calibration, limits, audits and attackers against the golden vectors of the Rust tests."""

import json
import math
import pathlib
from typing import Any

import pytest
import scumble as sc


def vectors(testdata: pathlib.Path, name: str) -> list[dict[str, Any]]:
    return json.loads((testdata / name).read_text())["vectors"]


def test_every_accounting_vector(testdata: pathlib.Path) -> None:
    seen = 0
    for vector in vectors(testdata, "accounting.json"):
        inputs, seen = vector["inputs"], seen + 1
        more = {key: inputs[key] for key in ("neighbours", "group", "attributes") if key in inputs}
        if vector["command"] == "calibrate":
            event = sc.calibrate(inputs["events"][0], epsilon=inputs["epsilon"], delta=vector["delta"], free=inputs.get("free"), **more)
            sigma = event.to_dict()["sigma"]
            assert vector["sigma_lower"] <= sigma <= vector["sigma_upper"] * (1 + 1e-4), vector["name"]
            continue
        loss = sc.account(inputs["events"], delta=vector["delta"], **more)
        if vector["eps_upper"] == "inf":
            assert loss.epsilon == math.inf, vector["name"]
            continue
        assert vector["eps_lower"] <= loss.epsilon <= vector["eps_upper"] * (1 + 1e-4), vector["name"]
        assert loss.epsilon_lower <= vector["eps_upper"], vector["name"]
    assert seen > 20


def test_events_are_what_the_ledger_says() -> None:
    event = sc.DiscreteGaussian(sigma=4.0, times=3, sampling=sc.poisson(0.1))
    assert repr(event) == "DiscreteGaussian(sigma=4.0, times=3, sampling={'kind': 'poisson', 'rate': 0.1})"
    assert sc.Event.from_dict(event.to_dict()) == event and type(sc.Event.from_dict(event.to_dict())) is sc.DiscreteGaussian
    assert repr(sc.Gaussian()) == "Gaussian(sigma=?)"
    assert len({sc.Pure(1.0), sc.Pure(epsilon=1), sc.Pure(2.0)}) == 2
    moves = {"presence": [{"cells": 1, "by": 1}], "person": [{"cells": 2, "by": 1}], "touches": []}
    by_scope = sc.DiscreteLaplace(scale=10, moves=moves)
    assert sc.account(by_scope, delta=0).epsilon < sc.account(by_scope, delta=0, neighbours="replace").epsilon
    for wrong in (
        lambda: sc.Gaussian(sigma=-1.0),
        lambda: sc.Gaussian(sigma=math.nan),
        lambda: sc.Event.from_dict({"mechanism": "gausian", "sigma": 1}),
        lambda: sc.account([], delta=1e-6),
        lambda: sc.account(sc.Pure(1.0)),
        lambda: sc.account(sc.Pure(1.0), delta=2),
        lambda: sc.account("gaussian", delta=1e-6),
        lambda: sc.account(sc.Gaussian(), delta=1e-6),
        lambda: sc.calibrate(sc.Gaussian(sigma=1.0), epsilon=1, delta=1e-6),
    ):
        with pytest.raises(sc.InputError) as caught:
            wrong()
        assert "\n" not in str(caught.value)


def test_every_word_has_a_class() -> None:
    """Each class makes an event that is read back as itself; the Rust tests compare the classes with the core's table."""
    values: dict[str, Any] = {
        "sigma": 2.0, "scale": 2.0, "a": 4.0, "epsilon": 0.5, "delta": 1e-9, "rho": 0.1, "omega": 3.0, "values": 3, "clip": 5, "rise": 2,
        "keys": 2, "family": "cauchy4", "gamma": "9/8", "alpha": "1/3", "keep": "1/2", "give_up": "1/3", "p": (0.75, 0.25), "q": (0.25, 0.75),
        "noise": sc.DiscreteLaplace(8.0), "levels": 7,
    }
    known = [word for word in sc.Event._known.values() if word._word]
    assert len(known) >= 16
    for word in known:
        assert getattr(sc, word.__name__) is word and word.__doc__
        said = {name: values[name] for name in word._parameters}
        event = word(**said)
        assert type(sc.Event.from_dict(event.to_dict())) is word and sc.Event.from_dict(event.to_dict()) == event
        assert event == word(*said.values()) and set(word._parameters) <= set(event.to_dict())
        assert sc.account(event, delta=1e-6).epsilon > 0
    assert sc.NewKeys({"mechanism": "discrete-laplace", "scale": 8}, 1e-9, 2) == sc.NewKeys(sc.DiscreteLaplace(8.0), 1e-9, 2)
    with pytest.raises(sc.InputError, match="give times to the event around it"):
        sc.NewKeys(sc.DiscreteLaplace(8.0, times=3), 1e-9, 2)


def test_pure_bounds_and_deltas() -> None:
    assert sc.account(sc.Gaussian(1.0), delta=0).epsilon == math.inf
    assert 2.5 <= sc.account(sc.Laplace(4.0, times=10), delta=0).epsilon < 2.500001
    loss = sc.account(sc.Gaussian(1.0), epsilon=1)
    assert loss.delta_lower <= 0.126_936_737_506_643_95 <= loss.delta
    assert [upper for upper, _ in loss.curve([0.0, 1.0, 2.0])] == sorted((upper for upper, _ in loss.curve([0.0, 1.0, 2.0])), reverse=True)
    assert "<svg" in sc.account(sc.Gaussian(1.0), delta=1e-5)._repr_html_()


def test_shown_bounds_are_bounds() -> None:
    """A repr once showed epsilon rounded to the nearest: what is printed must be at least what was computed."""
    for sigma in (0.7, 1.1, 1.3, 1.7, 2.3, 3.1, 4.7):
        loss = sc.account(sc.Gaussian(sigma), delta=1e-6)
        shown = float(repr(loss).split("≤ ")[1].split(" ")[0])
        assert loss.epsilon <= shown <= loss.epsilon * (1 + 1e-5)


def test_limits(testdata: pathlib.Path) -> None:
    found = [vector for vector in vectors(testdata, "survey.json") if vector["name"].startswith("s7_limits")]
    assert len(found) >= 2
    for vector in found:
        asked, expected = vector["input"], vector["expected"]
        close = lambda one, two: math.isclose(one, two, rel_tol=1e-9)  # noqa: E731
        assert close(sc.limits.neighbours(asked["epsilon"], asked["delta"]), expected["neighbour_success_at_most"])
        packing = sc.limits.packing(asked["epsilon"], asked["delta"], universe=asked["universe"], success=asked["success"])
        assert packing == expected["packing_count_error"]
        assert close(sc.limits.information(asked["epsilon"]), expected["mutual_information_nats_per_row"])
    assert 0 < sc.limits.count(1.0) < 1.5 and sc.limits.count(rho=0.5) > 0
    assert sc.limits.singular([[1, 1, 1, 1], [1, 0, 1, 0], [1, 1, 0, 0], [1, 0, 0, 1]], 0.1) >= 0
    assert sc.limits.fingerprinting(1000, 1.0, 1e-9, 0.05) > 10
    with pytest.raises(sc.InputError):
        sc.limits.neighbours(-1)


def test_audits(testdata: pathlib.Path) -> None:
    seen = 0
    for vector in vectors(testdata, "survey.json"):
        asked, expected = vector["input"], vector["expected"]
        if not vector["name"].startswith("e7_") or vector["name"] == "e7_dkw":
            continue
        seen += 1
        more = {key: asked[key] for key in ("delta", "beta") if key in asked}
        if "canaries" in asked:
            lower = sc.audit_one_run(asked["canaries"], asked["guesses"], asked["right"], **more)
            assert "epsilon_lower" not in expected or math.isclose(lower, expected["epsilon_lower"], rel_tol=1e-6), vector["name"]
            continue
        counts = [asked[key] for key in ("hits", "runs", "neighbour_hits", "neighbour_runs")]
        found = sc.audit_counts(*counts, claim=asked.get("claim"), **more).to_dict()
        for field, value in expected.items():
            if isinstance(value, bool) or value is None:
                assert bool(found[field]) == bool(value), vector["name"]
            else:
                assert math.isclose(found[field], value, rel_tol=1e-6), (vector["name"], field)
    assert seen >= 8


def test_an_audit_of_a_callable() -> None:
    def honest(count: int) -> int:
        return count + int(sc.noise.discrete_laplace(2.0)[0])

    def broken(count: int) -> int:
        return count + int(sc.noise.discrete_laplace(0.5)[0])

    # Both false alarms have a probability of at most 1e-9.
    event = sc.DiscreteLaplace(2.0)
    assert sc.audit(honest, 10, 11, runs=4000, claim=event, beta=1e-9).refuted is False
    found = sc.audit(broken, 10, 11, runs=4000, claim=event, beta=1e-9)
    assert found.refuted is True and 0.5 < found.epsilon_lower < 2 and "REFUTED" in repr(found)
    assert sc.audit(lambda word: word, "a", "b", runs=4000).epsilon_lower > 5
    with pytest.raises(sc.InputError):
        sc.audit(honest, 1, 2, runs=0)


def test_attacks() -> None:
    secret = [bool((7 * person) % 3 == 0) for person in range(40)]
    queries = [[(person * (query + 3) + query) % 5 % 2 for person in range(40)] for query in range(120)]
    queries += [[int(person == other) for other in range(40)] for person in range(0, 40, 2)]
    answers = [sum(bit for bit, is_in in zip(secret, query) if is_in) for query in queries]
    assert sum(one == two for one, two in zip(sc.attack.reconstruct(queries, answers), secret)) >= 30
    for method in ("linear", "min-max", "least-squares"):
        assert sc.attack.reconstruct([[1, 0], [0, 1]], [1, 0], method=method) == [True, False]
    with pytest.raises(sc.InputError):
        sc.attack.reconstruct([[1, 2]], [1])
    with pytest.raises(sc.InputError):
        sc.attack.reconstruct([[1, 0]], [1, 2])
    found = sc.attack.membership([0.9] * 200, [0.5] * 200, [[1] * 200, [0, 1] * 100], false_positive=1e-6)
    assert found.accused == [0] and found.scores[0] > found.threshold > found.scores[1]


def test_attackers() -> None:
    verdict = sc.attacker(
        population={"n_total": 100}, knowledge={"known_records": 0, "mode": "active"},
        uncertainty={"kind": "lambda", "lambda": 0.05, "independence": "declared"},
        release={"kind": "count", "releases_on_same_units": 1}, query={"epsilon": 1.0},
    )
    assert verdict["verdict"] == "guarantee" and math.isclose(verdict["delta"], 0.02249452154575958, rel_tol=1e-6)


class GaussianDpEvent:
    def __init__(self, noise_multiplier: float) -> None:
        self.noise_multiplier = noise_multiplier


class SelfComposedDpEvent:
    def __init__(self, event: Any, count: int) -> None:
        self.event, self.count = event, count


class PoissonSampledDpEvent:
    def __init__(self, sampling_probability: float, event: Any) -> None:
        self.sampling_probability, self.event = sampling_probability, event


class ComposedDpEvent:
    def __init__(self, events: list[Any]) -> None:
        self.events = events


class NonPrivateDpEvent:
    pass


def test_events_of_dp_accounting() -> None:
    """The shapes of Google's classes; `test_peers` reads the real ones where they are installed."""
    sampled = SelfComposedDpEvent(PoissonSampledDpEvent(0.01, GaussianDpEvent(1.0)), 1000)
    events = sc.Event.from_dp_event(ComposedDpEvent([sampled, GaussianDpEvent(5.0)]))
    assert events == [sc.Gaussian(1.0, times=1000, sampling=sc.poisson(0.01)), sc.Gaussian(5.0)]
    with pytest.raises(sc.InputError, match="NonPrivateDpEvent"):
        sc.Event.from_dp_event(NonPrivateDpEvent())
    with pytest.raises(sc.InputError, match="one sample"):
        sc.Event.from_dp_event(PoissonSampledDpEvent(0.1, SelfComposedDpEvent(GaussianDpEvent(1.0), 2)))
