"""bench/run accounting: our accountant beside Google's dp_accounting (and, with --prv, Microsoft's prv_accountant).

CPU seconds of one answer, both measured in this run on this machine; "off" is the relative distance of the printed number from the
truth (golden vectors), negative where it is *below* the truth, that is, where a claim would be false.
"""
import json
import math
import os
import resource
import signal
import subprocess
import sys
import time
from pathlib import Path

here = Path(__file__).resolve().parent
vectors_path = here.parent.parent / "testdata" / "accounting.json"
vectors = json.loads(vectors_path.read_text())["vectors"]

import dp_accounting
from dp_accounting import dp_event
from dp_accounting.pld import common, pld_privacy_accountant
from dp_accounting.pld import privacy_loss_distribution as pld

INTERVAL = 1e-4
# A peer that takes more CPU seconds, or more memory, than this for one answer is reported as having given up.
MOST_SECONDS = 120
MOST_BYTES = 6 << 30


def google_pld(event):
    kind = event["mechanism"]
    options = {"value_discretization_interval": INTERVAL}
    if kind == "gaussian":
        rate = event.get("sampling", {}).get("rate", 1.0)
        one = pld.from_gaussian_mechanism(event["sigma"], sensitivity=event["sensitivity"], sampling_prob=rate, **options)
    elif kind == "laplace":
        one = pld.from_laplace_mechanism(event["scale"], sensitivity=event["sensitivity"], **options)
    elif kind == "discrete-laplace":
        one = pld.from_discrete_laplace_mechanism(1 / event["scale"], sensitivity=event["sensitivity"], **options)
    elif kind == "discrete-gaussian":
        one = pld.from_discrete_gaussian_mechanism(event["sigma"], sensitivity=event["sensitivity"], **options)
    elif kind == "randomized-response":
        k, e = event["values"], math.exp(event["epsilon"])
        one = pld.from_randomized_response(k / (e + k - 1), k, **options)
    elif kind == "approximate":
        parameters = common.DifferentialPrivacyParameters(event["epsilon"], event["delta"])
        one = pld.from_privacy_parameters(parameters, **options)
    else:
        return None
    return one.self_compose(event["times"]) if event["times"] > 1 else one


def google(vector):
    events, delta = vector["inputs"]["events"], vector["delta"]
    if vector["command"] == "calibrate":
        rate, times = events[0].get("sampling", {}).get("rate", 1.0), events[0]["times"]

        def event(sigma):
            noise = dp_event.GaussianDpEvent(sigma)
            return dp_event.SelfComposedDpEvent(dp_event.PoissonSampledDpEvent(rate, noise), times)

        return dp_accounting.calibrate_dp_mechanism(
            pld_privacy_accountant.PLDAccountant, event, vector["inputs"]["epsilon"], delta,
            dp_accounting.ExplicitBracketInterval(0.5, 50), tol=1e-5)
    whole = None
    for event in events:
        one = google_pld(event)
        if one is None:
            return None
        whole = one if whole is None else whole.compose(one)
    return whole.get_epsilon_for_delta(delta)


def prv(vector):
    from prv_accountant import PRVAccountant
    from prv_accountant.privacy_random_variables import GaussianMechanism, LaplaceMechanism, PoissonSubsampledGaussianMechanism

    event = vector["inputs"]["events"][0]
    if len(vector["inputs"]["events"]) > 1 or vector["command"] == "calibrate":
        return None
    if event["mechanism"] == "gaussian" and "sampling" in event:
        one = PoissonSubsampledGaussianMechanism(event["sampling"]["rate"], event["sigma"])
    elif event["mechanism"] == "gaussian":
        one = GaussianMechanism(event["sigma"])
    elif event["mechanism"] == "laplace":
        one = LaplaceMechanism(mu=1 / event["scale"])
    else:
        return None
    error = 1e-3 * float(vector["eps_upper"])
    accountant = PRVAccountant(prvs=[one], max_self_compositions=[event["times"]], eps_error=error, delta_error=vector["delta"] / 1000)
    return accountant.compute_epsilon(vector["delta"], [event["times"]])[2]


def give_up(*_):
    raise TimeoutError(f"more than {MOST_SECONDS} CPU seconds")


def timed(run, vector):
    signal.signal(signal.SIGPROF, give_up)
    signal.setitimer(signal.ITIMER_PROF, MOST_SECONDS)
    start = time.process_time()
    try:
        value = run(vector)
    except Exception as error:  # a peer that gives up is reported as such
        print(f"# {run.__name__} on {vector['name']}: {type(error).__name__}: {error}", file=sys.stderr)
        return None, None
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)
    return value, time.process_time() - start


def truth(vector):
    name = "sigma" if vector["command"] == "calibrate" else "eps"
    value = vector[f"{name}_upper"]
    return math.inf if value == "inf" else value


def off(value, vector):
    if value is None:
        return "—"
    expected = truth(vector)
    if math.isinf(expected) or math.isinf(value):
        return "exact" if value == expected else "∞"
    return f"{value / expected - 1:+.1e}"


def main():
    binary = Path(os.environ.get("CARGO_TARGET_DIR", here.parent / "target")) / "release" / "accounting"
    lines = subprocess.run([binary, vectors_path], check=True, capture_output=True, text=True).stdout.splitlines()
    ours = {line["name"]: line for line in map(json.loads, lines)}
    with_prv = "--prv" in sys.argv
    resource.setrlimit(resource.RLIMIT_AS, (MOST_BYTES, MOST_BYTES))
    header = f"{'task':38} {'ours s':>10} {'off':>9} {'google s':>9} {'off':>9} {'ratio':>8}"
    print(header + (f" {'prv s':>8} {'off':>9}" if with_prv else ""))
    for vector in vectors:
        if not vector["name"].startswith("T"):
            continue
        mine = ours[vector["name"]]
        value = math.inf if mine["upper"] == "inf" else mine["upper"]
        theirs, seconds = timed(google, vector)
        ratio = f"{seconds / mine['seconds']:8.0f}" if seconds else "       —"
        spent = f"{seconds:9.3f}" if seconds is not None else "        —"
        line = f"{vector['name']:38} {mine['seconds']:10.6f} {off(value, vector):>9} {spent} {off(theirs, vector):>9} {ratio}"
        if with_prv:
            theirs, seconds = timed(prv, vector)
            line += f" {seconds:8.2f} {off(theirs, vector):>9}" if theirs is not None else f" {'—':>8} {'—':>9}"
        print(line, flush=True)
    print(f"peak memory of ours: {max(line['peak_mb'] for line in ours.values()):.0f} MB")


main()
