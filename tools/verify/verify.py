#!/usr/bin/env python3
"""A second opinion on what Scumble says that its releases cost. It shares no code with Scumble; it needs Python and mpmath only.

    verify.py REPORT LEDGER    REPORT: out/report.json, or what 'scumble ledger show --json' printed
                               LEDGER: what 'scumble ledger export' printed, or the ledger's own file

It checks the hash chain and its head, and computes every epsilon, delta and rho anew from the events: the sums by closed forms, and what
the events give away for certain by composing their privacy losses in exact integers. Each number is confirmed (and within what), not
confirmed, or refuted. Status: 0 all confirmed, 1 something refuted, 3 nothing refuted but something not confirmed, 2 wrong input.
docs/second-opinion.md says what that means, and docs/refs.md what is cited in brackets.
"""
import bisect, decimal, functools, hashlib, itertools, json, math, pathlib, sqlite3, sys
from fractions import Fraction
try:
    from mpmath import mp, mpf
except ImportError:
    print("mpmath is missing: 'pip install mpmath', then run this again", file=sys.stderr)
    sys.exit(2)

mp.dps = 60  # what follows is rounded at 1e-60 and compared at 1e-9
INF, ZERO = mpf("inf"), mpf("0")

class Bad(Exception): """The input is wrong; the text is one sentence."""
class NoRule(Exception): """A filter has no cost for this event."""

# ------------------------------------------------------------------------------------------------------------------ reading
def parse(text, where):
    def once(pairs):
        if len({key for key, _ in pairs}) < len(pairs):
            raise ValueError("a field is named twice")
        return dict(pairs)
    def constant(word):
        raise ValueError(f"{word} is no number")
    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=constant)
    except (ValueError, RecursionError) as error:
        raise Bad(f"{where} is not JSON that can be read: {error}") from None

def load(path):
    try:
        with open(path, encoding="utf-8") as file:
            return parse(file.read(), path)
    except (OSError, UnicodeDecodeError) as error:
        raise Bad(f"{path} cannot be read: {error}") from None

def load_ledger(path):
    """The version, the entries as (number, text, hash), how many there should be, and the head."""
    try:
        with open(path, "rb") as file:
            is_database = file.read(15) == b"SQLite format 3"
        if is_database:
            log = pathlib.Path(path + "-wal")
            way = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"  # which leaves nothing beside the file
            base = sqlite3.connect(f"{pathlib.Path(path).resolve().as_uri()}?{way}", uri=True)
            rows = [(n, body, bytes(hash_).hex()) for n, body, hash_ in base.execute("SELECT sequence, body, hash FROM entry ORDER BY 1")]
            (number, head), = base.execute("SELECT entries, hash FROM head")
            return base.execute("PRAGMA user_version").fetchone()[0], rows, number, bytes(head).hex()
    except (OSError, sqlite3.Error, ValueError, TypeError) as error:
        raise Bad(f"{path} cannot be read as a ledger: {error}") from None
    try:
        export = load(path)
        if any(parse(entry["text"], path) != entry["body"] for entry in export["entries"]):
            raise Bad(f"{path}: the text and the body of an entry say different things")
        rows = [(entry["sequence"], entry["text"], entry["hash"]) for entry in export["entries"]]
        return export["version"], rows, len(rows), export["head"]
    except (KeyError, TypeError, AttributeError):
        raise Bad(f"{path} is not what 'scumble ledger export' prints") from None

def chain(path, out):
    """The verified bodies, and the head after each entry [docs/ledger-format.md]."""
    version, rows, number, head = load_ledger(path)
    if version not in (1, 2, 3) or not all(isinstance(text, str) for _, text, _ in rows):
        raise Bad(f"{path} is a ledger of another version than 1 to 3, or an entry of it is not a text")
    link, heads, bodies = bytes(32), [bytes(32).hex()], []
    for place, (sequence, text, hash_) in enumerate(rows, 1):
        link = hashlib.sha256(link + place.to_bytes(8, "big") + text.encode()).digest()
        if sequence != place or hash_ != link.hex():
            return out.say("refuted", f"entry {place}", "its hash is not that of its text and place: it was edited, moved or put there later")
        heads.append(link.hex())
        bodies.append(parse(text, f"{path}, entry {place}"))
    if number != len(rows) or head != heads[-1]:
        return out.say("refuted", "hash chain and head", "the head is not that of the last entry: the end is missing, or was put there later")
    out.say("confirmed", "hash chain and head", f"{len(rows)} entries, head {head}")
    return bodies, heads

# ------------------------------------------------------------------------------------------------------------------- events
PARAMETERS = {"gaussian": ["sigma"], "discrete-gaussian": ["sigma"], "laplace": ["scale"], "discrete-laplace": ["scale"],
              "sinh-normal": ["sigma", "a"], "randomized-response": ["epsilon", "values"], "exponential": ["epsilon"],
              "pure": ["epsilon"], "approximate": ["epsilon", "delta"], "zcdp": ["rho"], "tcdp": ["rho", "omega"],
              "heavy-hitters": ["scale", "clip", "rise", "levels"], "new-keys": ["noise", "delta", "keys"], "pair": ["p", "q"],
              "smooth-noise": ["family", "gamma", "alpha", "levels"]}
ADDITIVE = ["gaussian", "discrete-gaussian", "laplace", "discrete-laplace", "sinh-normal", "new-keys"]

class Event:
    """One event as docs/events.md describes it."""
    def __init__(self, value, where):
        try:
            self.word, self.times, self.costs = value["mechanism"], value.get("times", 1), {}
            known = ["mechanism", "sensitivity", "cells", "moves", "times", "sampling"] + PARAMETERS[self.word]
            self.p = {name: self.parameter(name, value[name], where) for name in PARAMETERS[self.word]}
            self.everywhere, self.moves = self.read_moves(value)
            self.kind = value["sampling"]["kind"] if "sampling" in value else None
            if not set(value) <= set(known) or self.kind not in (None, "poisson", "without-replacement") or self.times < 1:
                raise ValueError
        except (KeyError, TypeError, ValueError, AttributeError):
            raise Bad(f"{where} is not an event that this program knows") from None
    def parameter(self, name, value, where):
        if name in ("noise", "p", "q"):
            return Event({**value, "sensitivity": 1}, where) if name == "noise" else [mpf(mass) for mass in value]
        if name in ("family", "gamma", "alpha"):
            if name == "family" and value != "cauchy4":  # of the other families there is no opinion here
                raise ValueError
            return value if name == "family" else Fraction(value)
        if isinstance(value, bool) or value < 0 or (value == 0 and name not in ("epsilon", "delta", "rho")):
            raise ValueError
        return mpf(value)
    def read_moves(self, value):
        shifts = lambda found: [(one["cells"], mpf(one["by"])) for one in found if one["cells"] > 0 and one["by"] > 0]
        moves = value.get("moves", {"everywhere": {"cells": value.get("cells", 1), "by": value.get("sensitivity")}})
        if "everywhere" in moves:
            one = moves["everywhere"]
            return True, shifts([{**one, "by": 1 if one["by"] is None and self.word not in ADDITIVE else one["by"]}])
        touches = [(frozenset(touch["attributes"]), shifts(touch["shifts"])) for touch in moves.get("touches", [])]
        return False, {"presence": shifts(moves["presence"]), "person": shifts(moves["person"]), "touches": touches}
    def shifts(self, scope):
        """How neighbours can move it, as (cells, by): in presence, person, or a set of attributes."""
        if self.everywhere or isinstance(scope, str):
            return self.moves if self.everywhere else self.moves[scope]
        return [shift for names, shifts in self.moves["touches"] if names & scope for shift in shifts]

# ----------------------------------------------------------------------------------- what a filter charges: closed forms, exact sums
def path_epsilon(scale, clip, rise, levels):
    """2/λ + Σφ: φ is how much less likely a test passes where a string loses somebody; each level is `rise` higher above its threshold."""
    r = mp.exp(-1 / scale)
    passes = lambda above: r ** (1 - above) / (1 + r) if above <= 0 else 1 - r ** above / (1 + r)
    heights = [1 - clip + level * rise for level in range(1, int(min(levels, (140 * scale + clip) / rise + 3)))]
    return 2 / scale + sum(mp.log(passes(above) / passes(max(above - 1, -clip))) for above in heights)

def path_rho(scale, clip, rise, levels, known={}):
    """sup D_α/α of the tests along a path, where one string loses and one gains, by composition; between orders K is below its chord."""
    key, closed = (scale, clip, rise, levels), 2 * levels / scale * mp.tanh(1 / (2 * scale))
    lam, kappa, mu, height = float(scale), int(clip), int(rise), int(levels)
    if key in known or (kappa + height * mu + 40 * lam) * height > 2e5:
        return known.get(key, closed)
    r, far = math.exp(-1 / lam), int(40 * lam) + 10
    ln_pass = lambda u: (u - 1) / lam - math.log1p(r) if u <= 0 else math.log1p(-math.exp(-u / lam) / (1 + r))
    def both(u, order, step, is_root):
        """ln Σ P^α·Q^{1−α} over passing and failing, u above the threshold."""
        here, there = max(u, -kappa), max(u + step, -kappa)
        mix = lambda p, q: math.exp(min(order * p + (1 - order) * q, 700))
        failed, passed = mix(ln_pass(1 - here), ln_pass(1 - there)), mix(ln_pass(here), ln_pass(there))
        if is_root and here != there:  # its noisy count is published too: P/Q is e^{±1/λ} on the two sides of the larger count
            beyond = math.exp(ln_pass(here - max(here, there, 1) + 1))
            less, more = math.exp((order - 1) / lam * step), math.exp(-(order - 1) / lam * step)
            passed = beyond * more + max(math.exp(ln_pass(here)) - beyond, 0.0) * less
        return math.log(failed + passed)
    def moment(order):
        sum_ = 0.0
        for step in (-1, 1):
            tables = [[both(u, order, step, root) for u in range(-kappa - 1, far + 1)] for root in (False, True)]
            total = [0.0] * (kappa + (height - 1) * mu + far + 3)
            for level in range(height):
                table = tables[level == height - 1]
                for place in range(len(total)):
                    total[place] += table[min(max(place - level * mu - 1, 0), len(table) - 1)]
                for place in range(len(total) - 2, -1, -1):  # counts do not grow upwards
                    total[place] = max(total[place], total[place + 1])
            sum_ += total[0]
        return sum_
    pure, x = 2 * height / lam, 0.005
    before = min(moment(1 + x), pure * x)
    bound = before / x
    while pure / (1 + x) > bound and x * pure < 600:
        next_x, after = x * 1.1, min(moment(1 + x * 1.1), pure * x * 1.1)
        b = (after - before) / (next_x - x)
        a = before - b * x
        roots = [(-a + sign * math.sqrt(max(a * a - a * b, 0))) / b for sign in (1, -1)] if b else []
        bound = max([bound] + [(a + b * t) / (t + t * t) for t in [x, next_x] + [t for t in roots if x < t < next_x]])
        x, before = next_x, after
    return known.setdefault(key, closed if x * pure >= 600 else min(mpf(bound), closed))

def smooth_epsilon(gamma, alpha, levels, known={}):
    """sup ln p_s(z − D)/p_s′(z) of noise ∝ 1/(1 + (z/s)^4) over neighbouring levels, both orders, D = ⌊γ^l⌋ of the lesser level. With w = z − D it is
    ln N(s′)/N(s) + ln(1 + ((w + D)/s′)^4) − ln(1 + (w/s)^4), which rises and then falls in w ≥ 0 and is less for w < 0: a ternary search on integers."""
    if (gamma, alpha, levels) in known:
        return known[gamma, alpha, levels]
    grow, t, table = (gamma - 1).denominator, 2 ** 64, []
    for _ in range(int(levels) + 1):
        scale = Fraction(-(-16 * t * alpha.denominator // (alpha.numerator << 64)), 16)
        table.append((float(scale) if Fraction(float(scale)) >= scale else math.nextafter(float(scale), math.inf), t >> 64))
        t += t // grow
    def norm(s):
        x = math.sqrt(2) * math.pi * s
        if x < 0.1:
            return 1 + 2 * sum(s ** 4 / (s ** 4 + z ** 4) for z in range(1, 200))
        d = math.exp(-x)
        return math.pi * s / math.sqrt(2) * (1 - d * d + 2 * d * math.sin(x)) / (1 + d * d - 2 * d * math.cos(x))
    def worst(s, other, shift):
        loss = lambda w: math.log1p(((w + shift) / other) ** 4) - math.log1p((w / s) ** 4)
        low, high = 0, int(100 * (s + other + shift)) + 10
        while high - low > 100:
            one, two = low + (high - low) // 3, high - (high - low) // 3
            low, high = (one, high) if loss(one) < loss(two) else (low, two)
        return math.log(norm(other) / norm(s)) + max(loss(w) for w in range(max(low - 100, 0), high + 101))
    pairs = [(s, s, d) for s, d in table]
    for (s, d), (wider, _) in zip(table, table[1:]):
        pairs += [(s, wider, d), (wider, s, d)]
    return known.setdefault((gamma, alpha, levels), mpf(max(worst(*pair) for pair in pairs)))

def shown(event, by, k):
    """With which probability a key shows that only a group of k owners has. If that of one owner is published with p, that of j is with at
    most e^ε·p by a pure bound for j − 1 more, and with exp(−(√ln(1/p) − √ρ)²) by zCDP (Hölder at the best order)."""
    delta, keys, noise = event.p["delta"], event.p["keys"], event.p["noise"]
    if k == 1 or delta in (0, 1):
        return delta
    one = -mp.log1p(-delta) / keys
    most, j = one, 1
    while j < k and most < INF:
        end = min(max(j + 1, j + j // 16), k)
        pure, rho, _, fail = cost(noise, 1, by * (end - 1), 1)
        ln_p = min(mp.log(-mp.expm1(-one)) - mp.log1p(-fail), ZERO) if fail < 1 else ZERO
        ways = ([pure + ln_p] if pure is not None else []) + [-(mp.sqrt(-ln_p) - mp.sqrt(rho)) ** 2 if -ln_p > rho else ZERO]
        likely = fail + mp.exp(min(ways))
        hazards = [-mp.log1p(-likely) if likely < 1 else INF]
        if not fail:  # the same of the complement
            hazards += [(mp.sqrt(rho) + mp.sqrt(one)) ** 2] + ([pure + one] if pure is not None else [])
        most, j = max(most, min(hazards) / (j + 1)), end
    return max(-mp.expm1(-k * keys * most), delta) if most < INF else mpf(1)

def growth(epsilon, owners):
    return owners if epsilon == 0 else mp.expm1(owners * epsilon) / mp.expm1(epsilon)

def cost(event, cells, by, k):
    """(Σε, ρ, (ρ up to ω, ω), δ) of one run that k owners move; None where there is none."""
    word, p, far, owners = event.word, event.p, by * k, mp.ceil(by) * k
    pure_cells = lambda each: (cells * each, cells * each * mp.tanh(each / 2), None, ZERO)
    if word in ("gaussian", "discrete-gaussian"):
        return None, cells * far ** 2 / (2 * p["sigma"] ** 2), None, ZERO
    if word in ("laplace", "discrete-laplace", "randomized-response", "pure"):
        return pure_cells(far / p["scale"] if "scale" in p else owners * p["epsilon"])
    if word == "exponential":  # a loss of range ε is ε²/8-zCDP [CR21]
        return cells * far * p["epsilon"], cells * (far * p["epsilon"]) ** 2 / 8, None, ZERO
    if word == "approximate":
        pure = cells * owners * p["epsilon"]
        return pure, pure * mp.tanh(pure / 2), None, min(p["delta"] * growth(p["epsilon"], cells * owners), mpf(1))
    if word == "zcdp":
        return None, p["rho"] * cells * owners ** 2, None, ZERO
    if word == "tcdp" and p["omega"] > owners:
        return None, None, (p["rho"] * cells * owners ** 2, p["omega"] / owners), ZERO
    if word == "heavy-hitters":
        path = [p[name] for name in PARAMETERS[word]]
        return path_epsilon(*path) * cells * owners, path_rho(*path) * (cells * owners) ** 2, None, ZERO
    if word == "smooth-noise":
        return pure_cells(owners * smooth_epsilon(p["gamma"], p["alpha"], p["levels"]))
    if word == "new-keys":
        pure, rho, truncated, delta = cost(p["noise"], cells, by, k)
        return pure, rho, truncated, delta + shown(event, by, k)
    raise NoRule

class Sum:
    """Σε, Σρ of events without ε, Σρ, Σρ up to ω, ω, Σδ: what 'after' in a ledger holds. None where an event has no such cost."""
    def __init__(self, events, scope, k=1):
        self.pure, self.rest, self.all, self.truncated, self.omega, self.delta, self.loose = ZERO, ZERO, ZERO, ZERO, INF, ZERO, mpf("1e-9")
        for event in events:
            self.add(event, "person" if event.kind == "without-replacement" and scope == "presence" else scope, k)
    def add(self, event, scope, k):
        costs = event.costs.get((scope, k))
        if costs is None:
            costs = event.costs[scope, k] = [cost(event, cells, by, k) for cells, by in event.shifts(scope)]
        if not costs:
            return
        self.loose = max(self.loose, mpf("1e-6" if event.word in ("heavy-hitters", "new-keys") else "0"))  # they search over orders
        worst = lambda values: None if None in values else max(values)
        plus = lambda sum_, one: None if sum_ is None or one is None else sum_ + event.times * one
        pure, rho = worst([one[0] for one in costs]), worst([one[1] for one in costs])
        truncated = rho if rho is not None or None in [one[2] for one in costs] else max(one[2][0] for one in costs)
        if pure is None and truncated is None:
            raise NoRule
        self.delta += event.times * max(one[3] for one in costs)
        self.all, self.truncated = plus(self.all, rho), plus(self.truncated, truncated)
        self.omega = None if self.truncated is None else min([self.omega] + [one[2][1] for one in costs if rho is None])
        self.pure, self.rest = (plus(self.pure, pure), self.rest) if pure is not None else (self.pure, plus(self.rest, rho))
    def epsilon(self, delta):
        """The filter's rule: a quarter of δ for the events' own, 7/10 for one conversion, 1/400 for each of twenty at fixed orders."""
        if self.delta * 4 > delta:
            return None
        ways = [self.pure] if self.rest == 0 else []
        if self.rest is not None and delta > 0:
            ways += [self.pure + converted(self.rest, delta / 400, 1 + mpf(2) ** j) for j in range(-2, 18)]
        if self.all is not None and (delta > 0 or self.all == 0):
            ways.append(best_converted(self.all, delta * 7 / 10) if self.all else ZERO)
        return min(ways, default=None)
    def rho(self, delta):
        return self.all if self.delta <= delta else None

def converted(rho, delta, order):
    """[CKS20, Proposition 12] at one order."""
    return max(rho * order - mp.log(order * delta) / (order - 1) + mp.log(1 - 1 / order), ZERO) if rho else ZERO
def best_converted(rho, delta):
    """At its best order, searched by thirds: the bound has one valley in ln(α − 1)."""
    r, ln_d, low, high = float(rho), float(mp.log(delta)), -13.8, 20.7
    value = lambda x: r * (1 + math.exp(x)) - (math.log1p(math.exp(x)) + ln_d) * math.exp(-x) - math.log1p(math.exp(-x))
    for _ in range(90):
        third = (high - low) / 3
        low, high = (low, high - third) if value(low + third) <= value(high - third) else (low + third, high)
    return converted(rho, delta, 1 + mp.exp(low))

# ------------------------------------------------------- what events give away for certain: losses composed in integers, rounded down
# A law of the loss Y = ln(P/Q) under P: P[Y > y] as a function, the least loss, the largest, P's mass where Q has none, and the mean.
def gaussian(mu):
    return lambda y: mp.erfc((y / mu - mu / 2) / mp.sqrt(2)) / 2, mu * (mu / 2 - 13), mu * (mu / 2 + 13), ZERO, mu ** 2 / 2
def laplace(lam):
    tail = lambda y: ZERO if y >= lam else 1 - mp.exp((y - lam) / 2) / 2 if y >= -lam else mpf(1)
    return tail, -lam, lam, ZERO, lam - 1 + mp.exp(-lam)

def atoms(pairs):
    """Finitely many outcomes with their masses under P and under Q."""
    finite = sorted((mp.log(p / q), p) for p, q in pairs if p > 0 and q > 0) or [(ZERO, ZERO)]
    losses, above = [loss for loss, _ in finite], [ZERO]
    for _, p in reversed(finite):
        above.append(above[-1] + p)
    tail = lambda y: above[len(losses) - bisect.bisect_right(losses, y)]
    infinite = sum((p for p, q in pairs if q == 0), ZERO)
    return tail, losses[0], losses[-1], infinite, ZERO if infinite else sum(loss * p for loss, p in finite)
def response(epsilon, values=2, delta=ZERO):
    """Randomized response; with two values and δ, the worst of all that is (ε, δ)-private [KOV15]."""
    keep, all_ = 1 - delta, mp.exp(epsilon) + values - 1
    p, q, rest = keep * mp.exp(epsilon) / all_, keep / all_, keep * (values - 2) / all_
    return atoms([(p, q), (q, p), (rest, rest), (delta, ZERO)])
@functools.lru_cache(None)
def discrete_gaussian(sigma, s):
    reach, weights, ratio = int(14 * sigma) + s, [mpf(1)], mp.exp(-1 / (2 * sigma ** 2))  # what lies beyond is left out
    if reach > 100000:
        return None
    for x in range(reach):
        weights.append(weights[-1] * ratio ** (2 * x + 1))
    sums = list(itertools.accumulate(weights[:0:-1] + weights))
    last = lambda y: min(max(int(mp.ceil(mpf(s) / 2 - y * sigma ** 2 / s)) - 1, -reach - 1), reach)  # outcomes up to it have a loss above y
    tail = lambda y: sums[last(y) + reach] / sums[-1] if last(y) >= -reach else ZERO
    return tail, (s - 2 * reach) * s / (2 * sigma ** 2), (s + 2 * reach) * s / (2 * sigma ** 2), ZERO, (s / sigma) ** 2 / 2
def discrete_laplace(u, s):
    """Outcomes up to some number of steps have a loss above y."""
    r, last = mp.exp(-u), lambda y: min(max(mp.ceil((s - y / u) / 2) - 1, 0), s - 1)
    tail = lambda y: ZERO if y >= u * s else 1 - r ** (last(y) + 1) / (1 + r) if y >= -u * s else mpf(1)
    return tail, -u * s, u * s, ZERO, u * (s + 2 * (r ** (s + 1) - r) / (1 - r ** 2))

def attained(word, p, by, k):
    """Laws, each with a number of runs, that some mechanism with this event has where k owners move a cell by `by`."""
    far, owners, s = by * k, mp.ceil(by) * k, int(mp.floor(by)) * k
    if word in ("gaussian", "zcdp", "tcdp"):
        mu = far / p["sigma"] if word == "gaussian" else mp.sqrt(2 * p["rho"]) * owners
        return [(gaussian(mu), 1)] if mu else []
    if word in ("discrete-gaussian", "discrete-laplace"):
        law = s and (discrete_laplace(1 / p["scale"], s) if word == "discrete-laplace" else discrete_gaussian(p["sigma"], s))
        return [(law, 1)] if law else []
    if word in ("laplace", "exponential"):
        return [(laplace(far / p["scale"]) if word == "laplace" else response(far * p["epsilon"] / 2), 1)]
    if word == "randomized-response":
        return [(response(p["epsilon"], p["values"]), int(owners))]
    if word in ("pure", "approximate"):  # of several owners: noise with the ratio e^ε, or each owner's own δ
        delta = p.get("delta", ZERO)
        return [(response(p["epsilon"], 2, delta), 1)] if owners == 1 else \
            [(discrete_laplace(p["epsilon"], int(owners)), 1)] if p["epsilon"] else [(response(ZERO, 2, delta), int(owners))]
    return attained(p["noise"].word, p["noise"].p, by, k) if word == "new-keys" else []

def convolved(a, b):
    """Exact products of integer polynomials, by one long multiplication of decimals."""
    width, number = len(str(max(a))) + len(str(max(b))) + len(str(min(len(a), len(b)))), len(a) + len(b) - 1
    text = lambda values: decimal.Decimal("".join(f"{value:0{width}d}" for value in reversed(values)))
    context = decimal.Context(prec=width * (number + 1), Emax=decimal.MAX_EMAX, Emin=decimal.MIN_EMIN, traps=[decimal.Inexact])
    digits = format(context.multiply(text(a), text(b)), "f").zfill(width * number)
    return [int(digits[i - width:i]) for i in range(len(digits), 0, -width)][:number]

class Truth:
    """Lower bounds of ε(δ) and ρ of some events in a scope, for neighbours who move each event in one of the ways that it allows.

    Each loss is rounded down to a multiple of h, and so are masses: moving P's mass to a smaller loss only takes from E_P[(1 − e^{ε−Y})₊],
    also in a product. What leaves the window above is put at its end, what leaves it below is dropped, for the same reason."""
    SCALE, NODES = 10 ** 40, 600
    def __init__(self, events, scope, k=1):
        self.parts, self.whole = [], (0, [self.SCALE], 0)
        for event in events:
            shifts = event.shifts(scope) if event.kind is None else []  # what a sample hides is not looked at here
            if shifts:
                cells, by = max(shifts, key=lambda shift: shift[0] * shift[1] ** 2)
                self.parts += [(law, times * cells * event.times) for law, times in attained(event.word, event.p, by, k)]
        self.rho = sum(times * law[4] for law, times in self.parts)  # D_α/α is at least D_1
        end = min(sum(times * max(law[2], -law[1]) for law, times in self.parts), 11 * mp.sqrt(2 * self.rho) + 2 * self.rho)
        self.h = 2 * end / self.NODES if end else mpf(1) / self.NODES
        if sum(times for _, times in self.parts) < 10 ** 6:
            for law, times in self.parts:
                self.whole = self.product(self.whole, self.power(self.rounded(*law), times))
    def rounded(self, tail, bottom, top, infinite, _):
        low, high = int(mp.floor(bottom / self.h)) - 1, int(mp.floor(top / self.h))
        tails = [tail(j * self.h) for j in range(low, high + 1)] + [ZERO]
        return low, [int(max(a - b, ZERO) * self.SCALE) for a, b in zip(tails, tails[1:])], int(infinite * self.SCALE)
    def product(self, one, two):
        (low1, ps1, inf1), (low2, ps2, inf2) = one, two
        ps, low, end = [x // self.SCALE for x in convolved(ps1, ps2)], low1 + low2, self.NODES // 2 + 1
        if low < -end:
            ps, low = ps[-end - low:] or [0], -end
        if low + len(ps) - 1 > end:
            cut = max(end - low + 1, 1)
            ps[cut - 1:] = [sum(ps[cut - 1:])]
        return low, ps, (inf1 * (sum(ps2) + inf2) + sum(ps1) * inf2) // self.SCALE
    def power(self, square, times):
        result = None
        while times:
            if times & 1:
                result = square if result is None else self.product(result, square)
            times >>= 1
            square = self.product(square, square) if times else None
        return result
    def epsilon(self, delta):
        """The ε at which the hockey-stick curve of these masses is δ."""
        low, masses, infinite = self.whole
        target, p, q = delta * self.SCALE - infinite, ZERO, ZERO
        if target < 0:
            return INF
        for place in range(len(masses) - 1, -1, -1):
            y = (low + place) * self.h
            if y < 0 or p - mp.exp(y) * q > target:
                break
            p, q = p + masses[place], q + masses[place] * mp.exp(-y)
        return max(mp.log((p - target) / q), ZERO) if p > target else ZERO

# -------------------------------------------------------------------------------------------------------------------- the verdicts
class Out:
    """Findings. Those that are many are told together, unless something is wrong with one."""
    def __init__(self):
        self.count, self.lines, self.together = {"confirmed": 0, "not confirmed": 0, "refuted": 0}, [], {}
    def say(self, verdict, name, text, many=None, off=ZERO):
        self.count[verdict] += 1
        if many and verdict == "confirmed":
            number, worst = self.together.get(many, (0, ZERO))
            self.together[many] = number + 1, max(worst, off)
        else:
            self.lines.append(f"{verdict:14} {name}: {text}")
    def number(self, name, claim, value, low=ZERO, loose=mpf("1e-9"), many=None):
        """A number that is `value` by the rule, and certainly not below `low`."""
        claim = claim if claim is None else mpf(claim)
        if claim is not None and claim < low * (1 - mpf("1e-12")):
            return self.say("refuted", name, f"it says {nice(claim)}, and it is certainly at least {nice(low)}")
        if claim is None and value is None:
            return self.say("confirmed", name, "no finite bound by the rule, as it says", many)
        if None in (claim, value) or claim < value * (1 - mpf("1e-9")) or claim > value * (1 + loose) + mpf("1e-15"):
            return self.say("not confirmed", name, f"it says {nice(claim)}, the events add up to {nice(value)}")
        off = abs(claim - value) / value if value else claim
        self.say("confirmed", name, f"{nice(claim)} within {nice(off)}" + (f"; certainly at least {nice(low)}" if low else ""), many, off)
    def end(self):
        lines = [f"{'confirmed':14} {name}: {number} numbers, each within {nice(worst)}" for name, (number, worst) in self.together.items()]
        print("\n".join(self.lines + lines + ["; ".join(f"{number} {verdict}" for verdict, number in self.count.items())]))
        return 1 if self.count["refuted"] else 3 if self.count["not confirmed"] else 0

def nice(number):
    return "none" if number is None else mp.nstr(number, 8) if number > mpf("1e-30") else "0"

def exactly(text):
    """A sum as the ledger writes it: a decimal, a fraction, 'inf' or 'none'."""
    if text in ("none", "inf"):
        return None if text == "none" else INF
    return mpf(Fraction(text).numerator) / Fraction(text).denominator

# --------------------------------------------------------------------------------------------------------------- ledger and report
class Charge:
    def __init__(self, sequence, body):
        if not isinstance(body.get("events"), list):
            raise Bad(f"entry {sequence} has no list of events")
        self.events = [Event(value, f"entry {sequence}, event {number}") for number, value in enumerate(body["events"], 1)]
        self.sequence, self.release, self.kind, self.state = sequence, body.get("release"), body.get("kind"), "interrupted"
    def for_groups(self, scope):
        """Entries from before 'new-keys', and trees of heavy hitters with a δ: counted as a whole (docs/events.md)."""
        has_delta = lambda event: event.word == "approximate" and event.p["delta"] > 0
        *others, last = self.events or [None]
        is_old = others and has_delta(last) and last.p["epsilon"] == 0 and \
            all(event.word in ("discrete-laplace", "discrete-gaussian", "exponential") for event in others)
        is_tree = self.kind == "heavy-hitters" and any(map(has_delta, self.events))
        if sum(bool(event.shifts(scope)) for event in self.events) < 2 or not (is_old or is_tree):
            return self.events
        one, whole = Sum(self.events, scope), Event({"mechanism": "approximate", "epsilon": 0, "delta": 0}, "")
        epsilon, delta = (one.pure, one.delta) if one.rest == 0 else (one.epsilon(4 * one.delta), 4 * one.delta)
        whole.p = {"epsilon": ZERO, "delta": mpf(1)} if epsilon is None else {"epsilon": epsilon, "delta": min(delta, mpf(1))}
        return [whole]

def history(bodies, heads, out):
    """All charges and what is in force; every running sum is compared."""
    charges, noted, kinds = [], {"declaration": None, "data": None, "budget": None}, {}
    for sequence, body in enumerate(bodies, 1):
        entry = body.get("entry") if isinstance(body, dict) else None
        if entry in noted:
            noted[entry] = (sequence, body)
        elif entry == "commit":
            if body.get("of") not in [charge.sequence for charge in charges]:
                raise Bad(f"entry {sequence} commits what was not reserved")
            next(charge for charge in charges if charge.sequence == body["of"]).state = "committed"
        elif entry == "reserve":
            charges.append(Charge(sequence, body))
            kinds[charges[-1].kind] = kinds.get(charges[-1].kind, 0) + 1
            if body.get("after"):
                running(sequence, body["after"], charges, kinds, noted, heads, out)
        else:
            raise Bad(f"entry {sequence} is of a form that this program does not know")
    return charges, noted

def running(sequence, after, charges, kinds, noted, heads, out):
    try:
        events, sums = [event for charge in charges for event in charge.events], after["sums"]
        links = {name: found and {"entry": found[0], "hash": heads[found[0]]} for name, found in noted.items()}
        if after["kinds"] != kinds or any(after[name] != link for name, link in links.items()):
            out.say("refuted", f"entry {sequence}", "what it says of kinds and of the entries in force is not so")
        if after["rule"] != 1 or sums is None:
            return out.say("not confirmed", f"entry {sequence}", "its sums are not there, or by another rule than the one that is known here")
        scopes = [("presence", sums["presence"]), ("person", sums["person"]), (None, sums["others"])]
        scopes += [(frozenset([name]), text) for name, text in sums["attributes"].items()]
        scopes += [(frozenset(one["attributes"]), one["spent"]) for one in sums["sets"]]
        for scope, text in scopes:
            mine = Sum([event for event in events if scope or event.everywhere], scope or "person")
            claims = [exactly(word) for word in text.split(" ")]
            values = [mine.pure, mine.rest, mine.all, mine.truncated, mine.omega, mine.delta]
            for word, claim, value in zip(["Σε", "Σρ without ε", "Σρ", "Σρ below ω", "ω", "Σδ"], claims, values, strict=True):
                name, same = f"entry {sequence}, {title(scope) if scope else 'any other attribute'}, {word}", claim == INF == value
                out.number(name, ZERO if same else claim, ZERO if same else value, ZERO, mine.loose, "running sums in the ledger")
    except NoRule:
        out.say("refuted", f"entry {sequence}", "it has sums, and there is an event that none can count")
    except (KeyError, TypeError, ValueError, AttributeError, ZeroDivisionError):
        raise Bad(f"the sums in entry {sequence} are not in a form that this program knows") from None
def title(scope):
    return scope if isinstance(scope, str) else " + ".join(sorted(scope))

def read_limits(noted):
    """The budget in force: scope → (word, most, ω or order, δ)."""
    def limit(text):
        words = text.split()
        value = {name: exactly(words[words.index(name) + 1]) for name in ("delta", "omega", "order") if name in words}
        return words[0], exactly(words[1]), value.get("omega"), value.get("order"), value["delta"]
    try:
        found = noted["budget"][1]["limits"] if noted["budget"] else {"attributes": {}, "presence": None, "person": None, "every_attribute": None}
        limits = {frozenset([name]): limit(text) for name, text in found["attributes"].items()}
        limits.update({name: limit(found[name]) for name in ("presence", "person") if found[name]})
        return {**limits, "*": limit(found["every_attribute"])} if found["every_attribute"] else limits
    except (KeyError, TypeError, ValueError, AttributeError):
        raise Bad(f"the budget in entry {noted['budget'][0]} is not in a form that this program knows") from None
def limit_of(limits, scope):
    return limits.get(scope) or (limits.get("*") if isinstance(scope, frozenset) and len(scope) == 1 else None)
def usual_delta(limits, scope):
    own = limit_of(limits, scope)
    if own and (own[4] > 0 or (own[0] == "epsilon" and own[3] is None)):
        return own[4]
    least = min((limit[4] for limit in limits.values()), default=ZERO)
    return least if least > 0 else mpf("1e-9")

def check_costs(where, told, events_of, names, limits, k, out):
    """ε, δ and ρ of each scope in one part of a summary; without limits δ is whatever was asked for."""
    scopes = [(scope, told[scope]) for scope in ("presence", "person")]
    scopes += [(frozenset([name] if name in names else name.split(",")), one) for name, one in told["attributes"].items()]
    for scope, claim in scopes:
        events, name, delta = events_of(scope), f"{where}{title(scope)}", mpf(claim["delta"])
        usual = usual_delta(limits, scope) if limits is not None else delta
        if abs(delta - usual) > usual * mpf("1e-12"):
            out.say("not confirmed", f"{name}, δ", f"it says {nice(delta)}, the budget says {nice(usual)}")
        try:
            mine, truth = Sum(events, scope, k), Truth(events, scope, k)
            out.number(f"{name}, ε at δ = {nice(delta)}", claim["epsilon"], mine.epsilon(delta), truth.epsilon(delta), mine.loose)
            out.number(f"{name}, ρ", (claim.get("approximate_zcdp") or claim).get("rho"), mine.rho(delta), truth.rho, mine.loose)
        except NoRule:
            out.say("not confirmed", name, "there is an event that no sum can count")

def check(report, bodies, heads, out):
    summary = report.get("summary", report) if isinstance(report, dict) else {}
    if not isinstance(summary, dict) or "presence" not in summary:
        raise Bad("the report is neither a report.json nor what 'scumble ledger show --json' prints")
    entries, head = report.get("ledger_entries", report.get("entries")), report.get("ledger_head", report.get("head"))
    if not isinstance(entries, int) or not 0 <= entries < len(heads) or heads[entries] != head:
        return out.say("refuted", "the report's head", f"{head} after {entries} entries is not in this ledger's chain")
    out.say("confirmed", "the report's head", f"it is the ledger's, after {entries} of {len(bodies)} entries")
    charges, noted = history(bodies[:entries], heads, out)
    limits, events = read_limits(noted), [event for charge in charges for event in charge.events]
    names = {name for event in events if not event.everywhere for touch in event.moves["touches"] for name in touch[0]}
    names |= {name for table in noted["declaration"][1]["tables"].values() for name in table["columns"]} if noted["declaration"] else set()
    deltas = limits if "summary" in report else None
    check_costs("", summary, lambda scope: events, names, deltas, 1, out)
    by_sequence = {charge.sequence: charge for charge in charges}
    for told in summary["releases"]:
        charge = by_sequence.get(told["sequence"])
        if charge is None or [charge.release, charge.kind, charge.state] != [told[f] for f in ("release", "kind", "state")]:
            out.say("refuted", f"release {told['release']!r}", "the ledger's entry says otherwise")
            continue
        check_costs(f"{charge.release}, ", told, lambda scope: charge.events, names, deltas, 1, out)
    number = len(summary["releases"]) + report.get("earlier_releases", 0)
    if number != len(charges):
        out.say("refuted", "number of releases", f"{number} are told of, {len(charges)} are in the ledger")
    if "groups" in summary:
        k, of_groups = summary["groups"]["size"], lambda scope: [event for charge in charges for event in charge.for_groups(scope)]
        check_costs(f"groups of {k}, ", summary["groups"], of_groups, names, None, k, out)
    left = {frozenset([name]): one for name, one in summary["remaining"]["attributes"].items()}
    for scope, one in {**summary["remaining"], **left}.items():
        if scope != "attributes":
            check_left(scope, one, limit_of(limits, scope), Sum(events, scope), out)
    for curve in report.get("curves", []):
        scope = curve["scope"] if curve["scope"] in ("presence", "person") else frozenset([curve["scope"]])
        mine, truth = Sum(events, scope), Truth(events, scope)
        for epsilon, delta in curve["epsilon_delta"]:
            name, delta = f"curve of {title(scope)} at δ = {delta}", mpf(delta)
            out.number(name, epsilon, mine.epsilon(delta), truth.epsilon(delta), mine.loose, "points of the curves")

def check_left(scope, left, limit, spent, out):
    name = f"left in the budget of {title(scope)}"
    if limit is None:
        return out.say("not confirmed", name, "the ledger holds no such limit")
    word, most, omega, order, delta = limit
    reach = None if spent.truncated is None or spent.delta > delta or (omega or order or 0) > spent.omega else spent.truncated
    used = spent.rho(delta) if word == "rho" and not omega else reach if word == "rho" else \
        (reach and reach * order) if order else spent.epsilon(delta)
    value, claim = max(most - used, ZERO) if used is not None else ZERO, mpf(left[word])
    off = abs(claim - value)
    if off <= max(spent.loose, mpf("1e-9")) * most and mpf(left["delta"]) == mpf(float(delta)):
        return out.say("confirmed", name, f"{word} {nice(claim)} within {nice(off)}")
    out.say("refuted" if claim > most else "not confirmed", name, f"it says {nice(claim)}, {nice(value)} of {nice(most)} is left")

def main(arguments):
    try:
        if len(arguments) != 2 or arguments[0].startswith("-"):
            raise Bad("give two files: verify.py REPORT LEDGER (the first lines of verify.py say which)")
        out = Out()
        report, found = load(arguments[0]), chain(arguments[1], out)
        found and check(report, *found, out)
        return out.end()
    except Bad as error:
        print(error, file=sys.stderr)
    except (ArithmeticError, LookupError, TypeError, AttributeError, ValueError) as error:
        print(f"{arguments[0]} or {arguments[1]} is not in a form that this program knows ({type(error).__name__}: {error})", file=sys.stderr)
    return 2

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
