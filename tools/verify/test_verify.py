#!/usr/bin/env python3
"""Tests of verify.py: python3 tools/verify/test_verify.py. They need no build; what the program printed is in testdata/ledger."""
import contextlib
import copy
import io
import json
import math
import pathlib
import sys
import tempfile
import unittest
from fractions import Fraction

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE))
import make_ledger
import verify
from verify import mp, mpf

# Coarser than for users, and quicker: most of these tests are about verdicts.
FINE, verify.Truth.NODES = verify.Truth.NODES, 150
TESTDATA = HERE.parent.parent / "testdata" / "ledger"
REPORT = json.loads((TESTDATA / "every-word.report.json").read_text())
LEDGER = json.loads((TESTDATA / "every-word.export.json").read_text())


def run(report, ledger):
    """Status, what was printed, and what was said."""
    with tempfile.TemporaryDirectory() as folder:
        paths = []
        for name, value in (("report.json", report), ("ledger.json", ledger)):
            paths.append(str(pathlib.Path(folder) / name))
            pathlib.Path(paths[-1]).write_text(value if isinstance(value, str) else json.dumps(value))
        return called(paths)


def called(arguments):
    out, said = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(said):
        status = verify.main(arguments)
    return status, out.getvalue(), said.getvalue()


def rechained(ledger):
    """The ledger as somebody would write it who can rewrite all hashes."""
    rows = make_ledger.chained([entry["body"] for entry in ledger["entries"]])
    entries = [{"sequence": n, "text": text, "hash": hash_.hex(), "body": json.loads(text)} for n, text, hash_ in rows]
    return {**ledger, "entries": entries, "head": entries[-1]["hash"]}


def small(person={"rho": "1", "delta": "0.000001"}, version=7):
    """A report and a ledger of one release with a budget, quick to look at."""
    charge = {"release": "r", "kind": "sql", "events": [{"mechanism": "gaussian", "sigma": 2.0, "sensitivity": 1.0}]}
    limits = {"attributes": {}, "every_attribute": None, "person": person, "presence": None}
    after = {"rule": 1, "kinds": {"sql": 1}, "declaration": None, "data": None, "budget": None,
             "sums": {"presence": "0 0.125 0.125 0.125 inf 0", "person": "0 0.125 0.125 0.125 inf 0",
                      "others": "0 0.125 0.125 0.125 inf 0", "attributes": {}, "sets": []}}
    first = [{"entry": "budget", "time": "t", "limits": limits}]
    head = make_ledger.chained(first)[0][2].hex()
    bodies = first + [{**make_ledger.bodies([charge])[0], "after": {**after, "budget": {"entry": 1, "hash": head}}},
                      {"entry": "commit", "time": "t", "of": 2, "output": "00"}]
    ledger = rechained({"version": version, "entries": [{"body": body} for body in bodies], "head": ""})
    epsilon = float(verify.best_converted(mpf("0.125"), mpf(1e-6) * 7 / 10) * (1 + mpf("1e-12")))
    cost = {"epsilon": epsilon, "delta": 1e-6, "rho": 0.125}
    costs = {"presence": cost, "person": cost, "attributes": {}}
    release = {"sequence": 2, "release": "r", "kind": "sql", "state": "committed", **costs}
    summary = {**costs, "releases": [release], "remaining": {"person": {"rho": 0.875, "delta": 1e-6}, "attributes": {}}}
    return {"summary": summary, "ledger_entries": 3, "ledger_head": ledger["head"], "curves": []}, ledger


def scaled(value, names, factor):
    """The same with every number in a field of these names times a factor; how many were not 0."""
    if isinstance(value, list):
        found = [scaled(one, names, factor) for one in value]
        return [one[0] for one in found], sum(one[1] for one in found)
    if not isinstance(value, dict):
        return value, 0
    result, count = {}, 0
    for name, one in value.items():
        if name in names and isinstance(one, (int, float)):
            result[name], number = one * factor, int(one != 0)
        else:
            result[name], number = scaled(one, names, factor)
        count += number
    return result, count


class WhatTheProgramPrinted(unittest.TestCase):
    def test_every_number_is_confirmed(self):
        status, out, said = run(REPORT, LEDGER)
        self.assertEqual((status, said), (0, ""), out)
        self.assertRegex(out, r"\n4\d\d confirmed; 0 not confirmed; 0 refuted\n$")

    def test_a_ledger_from_before_new_keys_and_its_groups_are_confirmed(self):
        status, out, _ = called([str(TESTDATA / "before-new-keys.json"), str(TESTDATA / "before-new-keys.ledger")])
        self.assertEqual(status, 0, out)
        self.assertIn("groups of 3, person, ρ: 13.5328", out)

    def test_every_running_sum_in_ledgers_of_older_versions_is_confirmed(self):
        """By the rule of their time, which counted a person less for local reports and products of two parties."""
        for version, entries, numbers in ((3, 32, 792), (4, 50, 1596), (5, 73, 2298), (6, 10, 36)):
            found, out = verify.Out(), io.StringIO()
            bodies, heads = verify.chain(str(TESTDATA / f"version-{version}.ledger"), found)
            verify.history(bodies, heads, found)
            with contextlib.redirect_stdout(out):
                self.assertEqual(found.end(), 0, out.getvalue())
            self.assertEqual((len(bodies), found.count["confirmed"]), (entries, 1 + numbers), version)

    def test_every_number_that_is_one_percent_off_is_found(self):
        points = [point for curve in REPORT["curves"] for point in curve["epsilon_delta"]]
        for names, factor in ((["epsilon", "rho"], 1.01), (["epsilon", "rho"], 0.99), (["delta"], 1.01)):
            report = copy.deepcopy(REPORT)
            report["summary"], changed = scaled(REPORT["summary"], names, factor)
            if "rho" in names:
                changed += sum(epsilon > 0 for epsilon, _ in points)
                for curve in report["curves"]:
                    curve["epsilon_delta"] = [[epsilon * factor, delta] for epsilon, delta in curve["epsilon_delta"]]
            status, out, _ = run(report, LEDGER)
            wrong = [line for line in out.splitlines() if line.startswith(("not confirmed", "refuted"))]
            self.assertIn(status, (1, 3))
            # A wrong δ is shown once, and once more if ε is another one at that δ.
            self.assertTrue(len(wrong) == changed if "rho" in names else len(wrong) >= changed, (names, factor, changed, len(wrong), out))


class Tampering(unittest.TestCase):
    def test_the_small_ledger_is_right(self):
        status, out, said = run(*small())
        self.assertEqual((status, said), (0, ""), out)

    def test_an_epsilon_far_below_the_truth_is_refuted(self):
        report, ledger = small()
        report["summary"]["person"] = {"epsilon": 1.5, "delta": 1e-6, "rho": 0.12}
        status, out, _ = run(report, ledger)
        self.assertEqual(status, 1)
        self.assertEqual(out.count("refuted        person"), 2, out)

    def test_an_edited_moved_removed_or_added_entry_breaks_the_chain(self):
        report, ledger = small()

        def edited(change):
            other = copy.deepcopy(ledger)
            change(other["entries"])
            return run(report, other)[:2]

        def text(entries):
            entries[1]["text"] = entries[1]["text"].replace("2.0", "9.0")
            entries[1]["body"] = json.loads(entries[1]["text"])

        def body(entries):
            entries[1]["body"]["events"][0]["sigma"] = 9.0

        def nonsense(entries):
            entries[1]["text"] = entries[1]["text"][1:]
        for change in (text, body, nonsense, lambda e: e.reverse(), lambda e: e.pop(0), lambda e: e.pop(), lambda e: e.append(e[-1])):
            status, out = edited(change)
            self.assertEqual(status, 1, out)
            self.assertIn("refuted", out)
        self.assertEqual(run(report, {**ledger, "head": "00" * 32})[0], 1)
        # Which of them it is, and what: an export is read by people who look at bodies.
        self.assertIn("entry 2: its body says something else than its text", edited(body)[1])

    def test_what_is_not_looked_at_is_said(self):
        report, ledger = small()
        self.assertNotIn("not looked at", run(report, ledger)[1])
        status, out, _ = run({**report, "attackers": [{"release": "r", "epsilon": 0.1}]}, ledger)
        self.assertEqual(status, 0, out)
        self.assertIn("not looked at  attackers: the report's claims about those who know less (1)", out)

    def test_a_rewritten_chain_does_not_hold_the_reports_head(self):
        report, ledger = small()
        ledger["entries"][1]["body"]["events"][0]["sigma"] = 9.0
        status, out, _ = run(report, rechained(ledger))
        self.assertEqual(status, 1)
        self.assertIn("is not in this ledger's chain", out)

    def test_running_sums_and_links_that_were_rewritten_are_found(self):
        report, ledger = small()
        for place, changed in (("person", "0 0.124 0.125 0.125 inf 0"), ("presence", "0 0.125 0.125 0.125 90 0"), ("others", "0 0 0 0 inf 0")):
            other = copy.deepcopy(ledger)
            other["entries"][1]["body"]["after"]["sums"][place] = changed
            other = rechained(other)
            status, out, _ = run({**report, "ledger_head": other["head"]}, other)
            self.assertEqual(status, 3, out)
        other = copy.deepcopy(ledger)
        other["entries"][1]["body"]["after"]["kinds"] = {"sql": 2}
        other = rechained(other)
        self.assertEqual(run({**report, "ledger_head": other["head"]}, other)[0], 1)

    def test_releases_budgets_and_states_must_be_those_of_the_ledger(self):
        for change in (lambda s: s["releases"][0].update(state="interrupted"), lambda s: s["releases"].pop(),
                       lambda s: s["remaining"]["person"].update(rho=0.88), lambda s: s["remaining"]["person"].update(rho=1.5)):
            report, ledger = small()
            change(report["summary"])
            self.assertIn(run(report, ledger)[0], (1, 3))


class Words(unittest.TestCase):
    """Every word of docs/reference/events.md is known; of others nothing is confirmed, and nothing is said to be wrong."""

    def told(self, event):
        """The small ledger with one event more, which its report and its sums do not know of."""
        report, ledger = small()
        ledger["entries"][1]["body"]["events"].append(event)
        ledger = rechained(ledger)
        return run({**report, "ledger_head": ledger["head"]}, ledger)

    def test_the_words_are_those_of_the_page(self):
        page = (HERE.parent.parent / "docs" / "reference" / "events.md").read_text()
        table = page.split("## The words")[1].split("\n## ")[0]
        words = {line.split("`")[1] for line in table.splitlines() if line.startswith("| `") and not line.startswith("| `mechanism`")}
        self.assertGreater(len(words), 14)
        self.assertEqual(words, set(verify.PARAMETERS))

    def test_nothing_is_confirmed_of_a_word_that_is_not_known(self):
        moved = {"presence": [{"cells": 1, "by": 1}], "person": [{"cells": 1, "by": 1}], "touches": []}
        for event in ({"mechanism": "magic", "power": 9}, {"mechanism": "magic", "moves": moved, "power": "strong"},
                      {"mechanism": "smooth-noise", "family": "discrete-gaussian", "gamma": "9/8", "alpha": "1/3", "levels": 24}):
            status, out, said = self.told(event)
            self.assertEqual((status, said), (3, ""), out)
            confirmed = [line for line in out.splitlines() if line.startswith("confirmed")]
            self.assertTrue(all("head" in line for line in confirmed), confirmed)
            self.assertIn(f"not confirmed  person, ρ: there is '{event['mechanism']}', which this program does not know", out)

    def test_touches_add_up_where_the_event_says_so(self):
        """Several attributes that move one score were alternatives, of which the worst counts: all five of a choice were charged as one."""
        touches = [{"attributes": [name], "shifts": [{"cells": 1, "by": 1}]} for name in "abcde"]
        moves = {"presence": [{"cells": 1, "by": 2}], "person": [{"cells": 1, "by": 3.5}], "touches": touches}
        event = lambda more: verify.Event({"mechanism": "exponential", "epsilon": 0.5, "moves": {**moves, **more}}, "it")
        one, added = event({}), event({"touches_add_up": True})
        self.assertEqual(one.shifts(frozenset("ab")), [(1, 1), (1, 1)])
        self.assertEqual([added.shifts(frozenset(names)) for names in ("a", "ab", "abcde", "z")], [[(1, 1)], [(1, 2)], [(1, 3.5)], []])

    def test_what_no_sum_can_count_is_not_confirmed_and_sums_of_it_are_refuted(self):
        for event in ({"mechanism": "sinh-normal", "sigma": 3.0, "a": 2.0, "sensitivity": 1.0},
                      {"mechanism": "pair", "p": [0.6, 0.4], "q": [0.4, 0.6]},
                      {"mechanism": "smooth-noise", "family": "discrete-laplace", "gamma": "9/8", "alpha": "1/3", "levels": 24}):
            status, out, said = self.told(event)
            self.assertEqual((status, said), (1, ""), out)
            self.assertIn("refuted        entry 2: it has sums, and there is", out)
            self.assertIn("not confirmed  person, ρ", out)

    def test_a_claim_below_what_the_known_events_give_away_is_refuted(self):
        report, ledger = small()
        report["summary"]["person"] = {"epsilon": 1.5, "delta": 1e-6, "rho": 0.12}
        ledger["entries"][1]["body"]["events"].append({"mechanism": "magic"})
        ledger = rechained(ledger)
        status, out, _ = run({**report, "ledger_head": ledger["head"]}, ledger)
        self.assertEqual((status, out.count("refuted        person")), (1, 2), out)


class TheLifeOfACharge(unittest.TestCase):
    def test_what_was_committed_was_drawn(self):
        """Rounds of interactive releases and what parties publish had no entry `drawn`: a ledger in which eight answers were seen for one charge was confirmed."""
        drawn, commit = {"entry": "drawn"}, {"entry": "commit", "output": "00"}
        answer = lambda number: {"entry": "drawn", "answer": number, "state": "ab" * 32}
        reading = lambda number: {"entry": "reading", "answer": number}
        for one_draw, entries, is_right in (
            (True, [drawn, commit], True), (True, [commit], False), (True, [drawn, drawn], False), (True, [drawn, reading(2)], False),
            (False, [], True), (False, [answer(1), commit, reading(2), answer(2), commit, reading(3)], True),
            (False, [answer(1), reading(2), answer(2), commit], True), (False, [answer(1), commit, answer(2), commit], True),
            (False, [commit], False), (False, [answer(1), commit, commit], False), (False, [answer(1), answer(1)], False),
            (False, [answer(2)], False), (False, [drawn], False), (False, [reading(1)], False), (False, [answer(1), reading(3)], False),
            (False, [answer(1), reading(2), reading(2)], False),
            (None, [commit, commit, answer(3), commit], True), (None, [commit, answer(1)], False), (None, [drawn], False),
        ):
            report, ledger = small()
            body = ledger["entries"][1]["body"]
            body.update({} if one_draw is None else {"one_draw": one_draw})
            del ledger["entries"][2:]
            ledger["entries"] += [{"body": {**entry, "time": "t", "of": 2}} for entry in entries]
            ledger = rechained({**ledger, "version": 7})
            report["summary"]["releases"][0]["state"] = "committed" if commit in entries else "interrupted"
            status, out, said = run({**report, "ledger_entries": 2 + len(entries), "ledger_head": ledger["head"]}, ledger)
            self.assertEqual(status, 0 if is_right else 2, (one_draw, entries, out, said))
            self.assertEqual("out of order" in said, not is_right, said)


class Limits(unittest.TestCase):
    """What an entry `budget` holds: numbers, and words in ledgers up to version 6."""

    def held(self, limits):
        return verify.read_limits({"budget": (1, {"limits": limits})})

    def test_numbers_and_words_say_the_same(self):
        third = mpf(1) / 3
        for numbers, words, limit in (
            ({"epsilon": "1.5", "delta": "0.000000001"}, "epsilon 1.5 at delta 0.000000001", ("epsilon", mpf("1.5"), None, None, mpf("1e-9"))),
            ({"rho": "0.1", "delta": "0"}, "rho 0.1 at delta 0", ("rho", mpf("0.1"), None, None, 0)),
            ({"rho": "0.1", "omega": "20", "delta": "0"}, "rho 0.1 below omega 20 at delta 0", ("rho", mpf("0.1"), 20, None, 0)),
            ({"order": "8", "epsilon": "1", "delta": "0"}, "epsilon 1 at order 8 at delta 0", ("epsilon", 1, None, 8, 0)),
            ({"epsilon": "1/3", "delta": "0"}, "epsilon 1/3 at delta 0", ("epsilon", third, None, None, 0)),
        ):
            for one in (numbers, words):
                found = self.held({"attributes": {"a b": one}, "every_attribute": one, "person": None, "presence": one})
                self.assertEqual(found, {frozenset(["a b"]): limit, "*": limit, "presence": limit})

    def test_both_forms_are_confirmed_and_what_is_left_is_held_against_them(self):
        for person, version in (({"rho": "1", "delta": "0.000001"}, 7), ("rho 1 at delta 0.000001", 6), ("rho 1 at delta 0.000001", 2)):
            status, out, said = run(*small(person, version))
            self.assertEqual((status, said), (0, ""), out)
            self.assertIn("left in the budget of person: rho 0.875", out)
        for person in ({"rho": "2", "delta": "0.000001"}, "rho 2 at delta 0.000001"):
            status, out, _ = run(*small(person))
            self.assertEqual(status, 3, out)
            self.assertIn("it says 0.875, 1.875 of 2.0 is left", out)

    def test_a_ledger_of_version_6_holds_its_limits(self):
        bodies, heads = verify.chain(str(TESTDATA / "version-6.ledger"), verify.Out())
        _, noted = verify.history(bodies, heads, verify.Out())
        self.assertEqual(verify.read_limits(noted), {
            "presence": ("rho", mpf("0.5"), 20, None, 0), "person": ("epsilon", 2, None, None, mpf("1e-9")), "*": ("epsilon", mpf("0.3"), None, None, 0),
            frozenset(["age"]): ("rho", mpf("0.1"), None, None, mpf("1e-6")), frozenset(["sex"]): ("epsilon", mpf("1.25"), None, 8, 0)})

    def test_no_limits_are_none(self):
        """A ledger whose limits had been taken back was said to be of a form that is not known."""
        self.assertEqual((self.held(None), verify.read_limits({"budget": None})), ({}, {}))

    def test_another_form_is_wrong_input(self):
        for one in ("epsilon 1", "epsilon 1 at delta", "epsilon 1e0 at delta 0", {"epsilon": "1"}, {"epsilon": 1, "delta": "0"}, {"epsilon": "1", "delta": "1e-9"},
                    {"epsilon": "1", "rho": "1", "delta": "0"}, {"epsilon": "1/0", "delta": "0"}, {"mu": "1", "delta": "0"}, ["1", "0"], 1):
            with self.assertRaises(verify.Bad, msg=one):
                self.held({"attributes": {}, "every_attribute": None, "person": one, "presence": None})


class BadInput(unittest.TestCase):
    def test_one_sentence_and_status_2(self):
        report, ledger = small()

        def event(**fields):
            other = copy.deepcopy(ledger)
            other["entries"][1]["body"]["events"][0].update(fields)
            other = rechained(other)
            return {**report, "ledger_head": other["head"]}, other
        for pair, words in (
            (("{", ledger), "report.json is not JSON"),
            (("[]", ledger), "neither a report.json"),
            (('{"summary": 1, "summary": 2}', ledger), "a field is named twice"),
            (('{"summary": NaN}', ledger), "NaN is no number"),
            ((report, "{}"), "not what 'scumble ledger export' prints"),
            ((report, {**ledger, "version": 9}), "another version"),
            (event(sigma=-1), "entry 2, event 1 is not in the form"),
            (event(secret=1), "entry 2, event 1 is not in the form"),
            (event(times=0), "entry 2, event 1 is not in the form"),
            ((dict(report, summary={"presence": 1}), ledger), "is not in a form"),
        ):
            status, out, said = run(*pair)
            self.assertEqual((status, out), (2, ""), said)
            self.assertIn(words, said)
            self.assertEqual(said.count("\n"), 1, said)
        for arguments in ([], ["one"], ["--help", "x"], ["/none", "/none"]):
            status, out, said = called(arguments)
            self.assertEqual((status, out, said.count("\n")), (2, "", 1), said)


class Mathematics(unittest.TestCase):
    """What the verdicts rest on, against sums over all outcomes."""

    def test_noise_that_follows_the_data_costs_its_worst_ratio(self):
        # One level of scale 3, moved by 1: all whole numbers near and far. And the golden value of 25 levels (testdata/survey.json).
        mass = lambda z: 1 / (1 + (z / 3) ** 4)
        found = verify.smooth_epsilon(Fraction(9, 8), Fraction(1, 3), 0)
        self.assertAlmostEqual(float(found), max(math.log(mass(z - 1) / mass(z)) for z in range(-5000, 5000)), 12)
        self.assertAlmostEqual(float(verify.smooth_epsilon(Fraction(9, 8), Fraction(1, 3), 24)), 0.9650081752636366, 9)

    def test_parities_cost_what_the_golden_vectors_say(self):
        # s9_parity_inconsistent of testdata/survey.json: a row that comes or goes, one that is replaced, and two that go.
        event = verify.Event({"mechanism": "parity", "keep": "1/2", "give_up": "1/3"}, "")
        found = [float(verify.cost(event, 1, mpf(by), owners)[0]) for by, owners in ((1, 1), (2, 1), (1, 2))]
        for epsilon, golden in zip(found, (math.log(2), math.log(3), math.log(4))):
            self.assertAlmostEqual(epsilon, golden, 12)

    def test_composed_losses_are_below_the_truth_and_near_it(self):
        # Gaussian noise: ε(δ) of n runs is that of one with √n times the ratio.
        event = {"mechanism": "gaussian", "sigma": 10.0, "sensitivity": 1.0, "times": 20}
        verify.Truth.NODES = FINE
        found = verify.Truth([verify.Event(event, "")], "presence").epsilon(mpf("1e-6"))
        verify.Truth.NODES = 150
        mu = mp.sqrt(20) / 10
        curve = lambda e: mp.ncdf(mu / 2 - e / mu) - mp.exp(e) * mp.ncdf(-mu / 2 - e / mu) - mpf("1e-6")
        truth = mp.findroot(curve, (1, 3), solver="bisect", tol=1e-30, maxsteps=300)
        self.assertTrue(truth * mpf("0.9") < found < truth, (found, truth))

    def test_laws_have_the_tails_and_means_of_their_sums(self):
        for law, s, mass in (
            (verify.discrete_laplace(mpf(1) / 3, 4), 4, lambda x: mp.exp(-abs(x) / mpf(3)) * mp.tanh(mpf(1) / 6)),
            (verify.discrete_gaussian(mpf(2), 3), 3, lambda x: mp.exp(-mpf(x * x) / 8)),
        ):
            total = sum(mass(x) for x in range(-400, 401))
            pairs = [(mass(x) / total, mp.log(mass(x) / mass(x - s))) for x in range(-400, 401)]
            for y in (mpf("-0.9"), mpf("-0.1"), mpf("0.3"), mpf("1.1"), mpf(2)):
                self.assertAlmostEqual(law[0](y), sum(p for p, loss in pairs if loss > y), 30)
            self.assertAlmostEqual(law[4], sum(p * loss for p, loss in pairs), 30)

    def test_products_of_long_lists_are_exact(self):
        a, b = [7 ** i % 1000003 for i in range(60)], [3 ** i % 999983 for i in range(45)]
        slow = [sum(a[i] * b[n - i] for i in range(60) if 0 <= n - i < 45) for n in range(104)]
        self.assertEqual(verify.convolved(a, b), slow)

    def test_paths_are_the_published_ones(self):
        epsilon, rho = verify.path(mpf(3), mpf(15), mpf(15), mpf(7))
        self.assertAlmostEqual(float(epsilon), 1.0011240172119986, 12)
        self.assertAlmostEqual(float(rho), 0.1114, 3)

class ScopesSideBySide(unittest.TestCase):
    def test_a_person_costs_at_least_its_presence(self):
        """A ledger held collections of reports that cost a person 1 and presence everything."""
        one, event = [{"cells": 1, "by": 1}], lambda word, presence, person, charge: verify.Event(
            {**word, "moves": {"presence": presence, "person": person, "touches": []}}, "", charge)
        seen, pure = {"mechanism": "approximate", "epsilon": 0, "delta": 1}, lambda epsilon: {"mechanism": "pure", "epsilon": epsilon}
        old = verify.Sum([event(seen, one, [], 1), event(pure(1), [], one, 1)], "person")
        self.assertEqual((old.pure, old.delta), (1, 1))
        # Charge by charge: 3 and 2, not the larger of 1 + 2 and 3 + 1.
        charges = [event(pure(3), one, [], 1), event(pure(1), [], one, 1), event(pure(1), one, [], 2), event(pure(2), [], one, 2)]
        self.assertEqual((verify.Sum(charges, "person").pure, verify.Sum(charges, "person", rule=1).pure), (5, 3))

if __name__ == "__main__":
    unittest.main()
