#!/usr/bin/env python3
"""A second opinion on what Scumble says that its releases cost. It shares no code with Scumble; it needs Python and mpmath only.

    verify.py REPORT LEDGER    REPORT: out/report.json, or what 'scumble ledger show --json' printed
                               LEDGER: what 'scumble ledger export' printed, or the ledger's own file

It checks the hash chain and its head, and computes every epsilon, delta and rho anew from the events: the sums by closed forms, and what
the events give away for certain by composing their privacy losses in exact integers. Each number is confirmed (and within what), not
confirmed, or refuted. Status: 0 all confirmed, 1 something refuted, 3 nothing refuted but something not confirmed, 2 wrong input.
docs/officers/verify.md says what that means, and docs/reference/references.md what is cited in brackets.
"""
import bisect, contextlib, decimal, functools, hashlib, itertools, json, math, pathlib, re, sqlite3, sys
from fractions import Fraction
try:
    from mpmath import mp, mpf
except ImportError:
    print("mpmath is missing: 'pip install mpmath', then run this again", file=sys.stderr)
    sys.exit(2)

mp.dps = 60  # what follows is rounded at 1e-60 and compared at 1e-9
INF, ZERO = mpf("inf"), mpf("0")  # INF also where an event has no cost of a kind, or a report says that there is no finite bound

class Bad(Exception): """The input is wrong; the text is one sentence."""
@contextlib.contextmanager
def reading(sentence):
    """What is not in the form that is expected gets this sentence."""
    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, ArithmeticError):
        raise Bad(sentence) from None

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
        return pathlib.Path(path).read_bytes()
    except OSError as error:
        raise Bad(f"{path} cannot be read: {error}") from None
def load_ledger(path):
    """The version, the entries as (number, text, hash, and in an export the body), how many there should be, and the head."""
    data = load(path)
    if data.startswith(b"SQLite format 3"):
        log = pathlib.Path(path + "-wal")
        way = "mode=ro" if log.exists() and log.stat().st_size else "immutable=1"  # which leaves nothing beside the file
        try:
            base = sqlite3.connect(f"{pathlib.Path(path).resolve().as_uri()}?{way}", uri=True)
            rows = [(n, body, bytes(hash_).hex()) for n, body, hash_ in base.execute("SELECT sequence, body, hash FROM entry ORDER BY 1")]
            (number, head), = base.execute("SELECT entries, hash FROM head")
            return base.execute("PRAGMA user_version").fetchone()[0], rows, number, bytes(head).hex()
        except (sqlite3.Error, ValueError, TypeError) as error:
            raise Bad(f"{path} cannot be read as a ledger: {error}") from None
    with reading(f"{path} is not what 'scumble ledger export' prints"):
        export = parse(data, path)
        rows = [(entry["sequence"], entry["text"], entry["hash"], entry["body"]) for entry in export["entries"]]
        return export["version"], rows, len(rows), export["head"]

def chain(path, out):
    """The verified bodies, and the head after each entry [docs/engineers/ledger-format.md]."""
    version, rows, number, head = load_ledger(path)
    if version not in (1, 2, 3, 4, 5, 6, 7) or not all(isinstance(text, str) for _, text, *_ in rows):
        raise Bad(f"{path} is a ledger of another version than 1 to 7, or an entry of it is not a text")
    link, heads, bodies = bytes(32), [bytes(32).hex()], []
    for place, (sequence, text, hash_, *body) in enumerate(rows, 1):
        link = hashlib.sha256(link + place.to_bytes(8, "big") + text.encode()).digest()
        if sequence != place or hash_ != link.hex():
            return out.say("refuted", f"entry {place}", "its hash is not that of its text and place: it was edited, moved or put there later")
        heads.append(link.hex())
        bodies.append(parse(text, f"{path}, entry {place}"))
        if body and body[0] != bodies[-1]:
            return out.say("refuted", f"entry {place}", "its body says something else than its text, whose hash is right: the export was edited")
    if number != len(rows) or head != heads[-1]:
        return out.say("refuted", "hash chain and head", "the head is not that of the last entry: the end is missing, or was put there later")
    out.say("confirmed", "hash chain and head", f"{len(rows)} entries, head {head}")
    return bodies, heads

# ------------------------------------------------------------------------------------------------------------------- events
PARAMETERS = {"gaussian": ["sigma"], "discrete-gaussian": ["sigma"], "laplace": ["scale"], "discrete-laplace": ["scale"],
              "sinh-normal": ["sigma", "a"], "randomized-response": ["epsilon", "values"], "exponential": ["epsilon"],
              "pure": ["epsilon"], "approximate": ["epsilon", "delta"], "zcdp": ["rho"], "tcdp": ["rho", "omega"],
              "heavy-hitters": ["scale", "clip", "rise", "levels"], "new-keys": ["noise", "delta", "keys"], "pair": ["p", "q"],
              "smooth-noise": ["family", "gamma", "alpha", "levels"], "parity": ["keep", "give_up"]}
ADDITIVE = ["gaussian", "discrete-gaussian", "laplace", "discrete-laplace", "sinh-normal", "new-keys"]
class Event:
    """One event as docs/reference/events.md describes it. Of a word that is not known only its moves are read, and no sum that it is in is confirmed."""
    def __init__(self, value, where, charge=None):
        self.charge = charge
        with reading(f"{where} is not in the form that docs/reference/events.md gives it"):
            self.word, self.times = value["mechanism"], value.get("times", 1)
            self.is_known = str(self.word) in PARAMETERS and value.get("family") != "discrete-gaussian"  # whose orders nobody searches here
            names = PARAMETERS[self.word] if self.is_known else []
            known = ["mechanism", "sensitivity", "cells", "moves", "times", "sampling"] + names if self.is_known else value
            self.p = {name: self.parameter(name, value[name], where) for name in names}
            self.everywhere, self.moves = self.read_moves(value)
            self.kind = value["sampling"]["kind"] if "sampling" in value else None
            if not set(value) <= set(known) or self.kind not in (None, "poisson", "without-replacement") or self.times < 1:
                raise ValueError
    def parameter(self, name, value, where):
        if name in ("noise", "p", "q"):
            return Event({**value, "sensitivity": 1}, where) if name == "noise" else [mpf(mass) for mass in value]
        if name in ("family", "gamma", "alpha", "keep", "give_up"):
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
        self.adds_up = moves.get("touches_add_up", False)
        return False, {"presence": shifts(moves["presence"]), "person": shifts(moves["person"]), "touches": touches}
    def leaves_presence(self):
        """Whether presence moves what a person does not: other events of the charge say what a person costs."""
        covered = lambda cells, by: any(own[0] >= cells and own[1] >= by for own in self.moves["person"])
        return not self.everywhere and not all(covered(*shift) for shift in self.moves["presence"])
    def shifts(self, scope):
        """How neighbours can move it, as (cells, by): in presence, person, or a set of attributes."""
        if self.everywhere or isinstance(scope, str):
            return self.moves if self.everywhere else self.moves[scope]
        found = [shift for names, shifts in self.moves["touches"] if names & scope for shift in shifts]
        most = max((by for _, by in self.moves["person"]), default=0)
        return [(1, min(most, sum(by for _, by in found)))] if self.adds_up and found else found

# ----------------------------------------------------------------------------------- what a filter charges: closed forms, exact sums
@functools.lru_cache(None)
def path(scale, clip, rise, levels):
    """ε and ρ of the tests along a path, where one string loses and one gains. ε is 2/λ + Σφ: φ is how much less likely a test passes where a string
    loses somebody; each level is `rise` higher above its threshold. ρ is sup D_α/α by composition; between orders K is below its chord."""
    lam, kappa, mu, height = float(scale), int(clip), int(rise), int(levels)
    r, far = math.exp(-1 / lam), int(40 * lam) + 10
    ln_pass = lambda u: (u - 1) / lam - math.log1p(r) if u <= 0 else math.log1p(-math.exp(-u / lam) / (1 + r))
    heights = [1 - kappa + level * mu for level in range(1, int(min(height, (140 * lam + kappa) / mu + 3)))]
    epsilon = 2 / scale + sum(ln_pass(above) - ln_pass(max(above - 1, -kappa)) for above in heights)
    closed = 2 * levels / scale * mp.tanh(1 / (2 * scale))
    if (kappa + height * mu + 40 * lam) * height > 2e5:
        return epsilon, closed
    def both(u, order, step, is_root):
        """ln Σ P^α·Q^{1−α} over passing and failing, u above the threshold."""
        here, there = max(u, -kappa), max(u + step, -kappa)
        mix = lambda p, q: math.exp(min(order * p + (1 - order) * q, 700))
        failed, passed = mix(ln_pass(1 - here), ln_pass(1 - there)), mix(ln_pass(here), ln_pass(there))
        if is_root and here != there:  # its noisy count is published too: P/Q is e^{±1/λ} on the two sides of the larger count
            beyond = math.exp(ln_pass(here - max(here, there, 1) + 1))
            less = math.exp((order - 1) / lam * step)
            passed = beyond / less + max(math.exp(ln_pass(here)) - beyond, 0.0) * less
        return math.log(failed + passed)
    def moment(order):
        both_ways = 0.0
        for step in (-1, 1):
            tables = [[both(u, order, step, root) for u in range(-kappa - 1, far + 1)] for root in (False, True)]
            total = [0.0] * (kappa + (height - 1) * mu + far + 3)
            for level in range(height):
                table = tables[level == height - 1]
                total = [sum_ + table[min(max(place - level * mu - 1, 0), len(table) - 1)] for place, sum_ in enumerate(total)]
                total = list(itertools.accumulate(reversed(total), max))[::-1]  # counts do not grow upwards
            both_ways += total[0]
        return both_ways
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
    return epsilon, closed if x * pure >= 600 else min(mpf(bound), closed)
def lowest(value, low, high):
    """Where a function with one valley is lowest, by thirds."""
    for _ in range(90):
        third = (high - low) / 3
        low, high = (low, high - third) if value(low + third) <= value(high - third) else (low + third, high)
    return low
@functools.lru_cache(None)
def smooth_epsilon(gamma, alpha, levels):
    """sup ln p_s(z − D)/p_s′(z) of noise ∝ 1/(1 + (z/s)^4) over neighbouring levels, both orders, D = ⌊γ^l⌋ of the lesser level. With w = z − D it is
    ln N(s′)/N(s) + ln(1 + ((w + D)/s′)^4) − ln(1 + (w/s)^4), which rises and then falls in w ≥ 0 and is less for w < 0."""
    grow, t, table = (gamma - 1).denominator, 2 ** 64, []
    for _ in range(int(levels) + 1):
        scale = Fraction(-(-16 * t * alpha.denominator // (alpha.numerator << 64)), 16)
        table.append((float(scale) if Fraction(float(scale)) >= scale else math.nextafter(float(scale), math.inf), t >> 64))
        t += t // grow
    def norm(s):
        x = math.sqrt(2) * math.pi * s
        d = math.exp(-x)
        return math.pi * s / math.sqrt(2) * (1 - d * d + 2 * d * math.sin(x)) / (1 + d * d - 2 * d * math.cos(x))
    def worst(s, other, shift):
        loss = lambda w: math.log1p(((w + shift) / other) ** 4) - math.log1p((w / s) ** 4)
        top = int(lowest(lambda w: -loss(w), 0.0, 100 * (s + other + shift) + 10))
        return math.log(norm(other) / norm(s)) + max(loss(w) for w in range(max(top - 100, 0), top + 101))
    steps = zip(table, table[1:] + table[-1:])
    return mpf(max(worst(*pair) for (s, d), (wider, _) in steps for pair in ((s, s, d), (s, wider, d), (wider, s, d))))
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
        pure, rho, _, _, fail = cost(noise, 1, by * (end - 1), 1)
        ln_p = min(mp.log(-mp.expm1(-one)) - mp.log1p(-fail), ZERO) if fail < 1 else ZERO
        likely = fail + mp.exp(min(pure + ln_p, -(mp.sqrt(-ln_p) - mp.sqrt(rho)) ** 2 if -ln_p > rho else ZERO))
        hazards = [-mp.log1p(-likely) if likely < 1 else INF]
        if not fail:  # the same of the complement
            hazards += [(mp.sqrt(rho) + mp.sqrt(one)) ** 2, pure + one]
        most, j = max(most, min(hazards) / (j + 1)), end
    return max(-mp.expm1(-k * keys * most), delta) if most < INF else mpf(1)
@functools.lru_cache(None)
def cost(event, cells, by, k):
    """Σε, ρ, ρ up to ω, ω and δ of one run that k owners move."""
    word, p, far, owners = event.word, event.p, by * k, mp.ceil(by) * k
    cost_of = lambda pure, rho, delta=ZERO: (pure, rho, rho, INF, delta)
    pure_cells = lambda each: cost_of(cells * each, cells * each * mp.tanh(each / 2))
    if word in ("gaussian", "discrete-gaussian"):
        return cost_of(INF, cells * far ** 2 / (2 * p["sigma"] ** 2))
    if word in ("laplace", "discrete-laplace", "randomized-response", "pure"):
        return pure_cells(far / p["scale"] if "scale" in p else owners * p["epsilon"])
    if word == "exponential":  # a loss of range ε is ε²/8-zCDP [CR21]
        return cost_of(cells * far * p["epsilon"], cells * (far * p["epsilon"]) ** 2 / 8)
    if word == "approximate":
        pure = cells * owners * p["epsilon"]
        grown = mp.expm1(pure) / mp.expm1(p["epsilon"]) if pure else cells * owners
        return cost_of(pure, pure * mp.tanh(pure / 2), min(p["delta"] * grown, mpf(1)))
    if word == "zcdp":
        return cost_of(INF, p["rho"] * cells * owners ** 2)
    if word == "tcdp" and p["omega"] > owners:
        return INF, INF, p["rho"] * cells * owners ** 2, p["omega"] / owners, ZERO
    if word == "heavy-hitters":
        epsilon, rho = path(*[p[name] for name in PARAMETERS[word]])
        return cost_of(epsilon * cells * owners, rho * (cells * owners) ** 2)
    if p.get("family") == "cauchy4":
        return pure_cells(owners * smooth_epsilon(p["gamma"], p["alpha"], p["levels"]))
    if word == "parity":  # a move of 1 is a row that comes or goes, one of 2 a row that is replaced
        keep, rest = mpf(p["keep"].numerator) / p["keep"].denominator, 1 / p["give_up"] - 1
        return pure_cells(k * mp.ceil(by / 2) * mp.log(max((1 + keep * (by > 1)) / (1 - keep), 1 + keep * rest.numerator / rest.denominator)))
    if word == "new-keys":
        *costs, delta = cost(p["noise"], cells, by, k)
        return *costs, delta + shown(event, by, k)
    return cost_of(INF, INF)

CONVEX = ["gaussian", "discrete-gaussian", "laplace", "discrete-laplace", "exponential", "zcdp"]
ALONE = 3  # the second rule for the events of a person by themselves
def by_rate(event, scope, k):
    """Of alternatives whose loss is not convex in the move: the largest sum of moves, in cells that each move by the most. None where the largest alternative is enough."""
    noise = event.p["noise"].word if event.word == "new-keys" else event.word
    shifts = event.shifts(scope)
    heights = sorted({mp.ceil(by) for _, by in shifts})
    if noise in CONVEX + ["sinh-normal"] or len(heights) < 2 or (len(heights) == 2 and (heights[1] - heights[0]) * k <= 1):
        return None
    most = max(by for _, by in shifts)
    return max(mp.ceil(cells * mp.ceil(by) / mp.ceil(most)) for cells, by in shifts), most

class Sum:
    """Σε, Σρ of events without ε, Σρ, Σρ up to ω, ω, Σδ: what 'after' in a ledger holds. `hole` says why no sum counts all of the events."""
    def __init__(self, events, scope, k=1, rule=2):
        self.pure, self.rest, self.all, self.truncated, self.omega, self.delta, self.loose = ZERO, ZERO, ZERO, ZERO, INF, ZERO, mpf("1e-9")
        self.hole, self.is_known = None, True  # whether every word in it is known here
        self.mixed = rule > 1  # the first rule took the largest alternative, which a mixture of two may exceed
        for _, charge in itertools.groupby(events, lambda event: event.charge):
            charge = list(charge)
            if scope == "person" and rule == 2 and any(map(Event.leaves_presence, charge)):
                self.add_worse(Sum(charge, "person", k, rule=ALONE), Sum(charge, "presence", k))
                continue
            for event in charge:
                self.add(event, "person" if event.kind == "without-replacement" and scope == "presence" else scope, k)
    def add_worse(self, person, presence):
        """A charge whose events say side by side what scopes cost: a person costs at least what presence does, in every number."""
        if any(one > other for one, other in zip(presence.numbers(), person.numbers())):
            worse = [max(getattr(person, name), getattr(presence, name)) for name in ("pure", "rest", "all", "truncated", "delta")]
            person.pure, person.rest, person.all, person.truncated, person.delta = worse
            person.omega = min(person.omega, presence.omega)
        self.pure, self.rest, self.all = self.pure + person.pure, self.rest + person.rest, self.all + person.all
        self.truncated, self.omega, self.delta = self.truncated + person.truncated, min(self.omega, person.omega), self.delta + person.delta
        self.hole, self.is_known = self.hole or person.hole or presence.hole, self.is_known and person.is_known and presence.is_known
        self.loose = max(self.loose, person.loose, presence.loose)
    def numbers(self):
        """What is read off, the larger the worse."""
        at = [self.epsilon(mpf(delta)) for delta in ("0.5", "1e-3", "1e-6", "1e-9", "1e-15")]
        return [self.delta, self.pure if self.rest == 0 else INF, self.all, self.truncated, -self.omega, *at]
    def add(self, event, scope, k):
        costs = list(zip(*[cost(event, cells, by, k) for cells, by in event.shifts(scope)]))
        if not costs:
            return
        pure = event.times * max(costs[0])
        rate = by_rate(event, scope, k) if self.mixed else None
        if rate:  # Σε of a mixture is no more than that of its parts; what adds up over cells may be
            costs = [column + (number,) for column, number in zip(costs, cost(event, *rate, k))]
        rho, truncated, delta = [event.times * max(costs[i]) for i in (1, 2, 4)]
        if pure == truncated == INF:
            self.is_known = self.is_known and event.is_known
            self.hole = f"there is {event.word!r}, which " + ("no sum can count" if event.is_known else "this program does not know")
        if event.word in ("heavy-hitters", "new-keys"):  # they search over orders
            self.loose = mpf("1e-6")
        self.all, self.truncated, self.omega, self.delta = self.all + rho, self.truncated + truncated, min(self.omega, *costs[3]), self.delta + delta
        self.pure, self.rest = (self.pure + pure, self.rest) if pure < INF else (self.pure, self.rest + rho)
    def epsilon(self, delta):
        """The filter's rule: a quarter of δ for the events' own, 7/10 for one conversion, 1/400 for each of twenty at fixed orders."""
        if self.delta * 4 > delta:
            return INF
        ways = [self.pure] if self.rest == 0 else []
        if self.rest < INF and delta > 0:
            ways += [self.pure + converted(self.rest, delta / 400, 1 + mpf(2) ** j) for j in range(-2, 18)]
        if self.all < INF and (delta > 0 or self.all == 0):
            ways.append(best_converted(self.all, delta * 7 / 10) if self.all else ZERO)
        return min(ways, default=INF)
    def rho(self, delta):
        return self.all if self.delta <= delta else INF
def converted(rho, delta, order):
    """[CKS20, Proposition 12] at one order."""
    return max(rho * order - mp.log(order * delta) / (order - 1) + mp.log(1 - 1 / order), ZERO) if rho else ZERO
def best_converted(rho, delta):
    """At its best order: the bound has one valley in ln(α − 1)."""
    r, ln_d = float(rho), float(mp.log(delta))
    value = lambda x: r * (1 + math.exp(x)) - (math.log1p(math.exp(x)) + ln_d) * math.exp(-x) - math.log1p(math.exp(-x))
    return converted(rho, delta, 1 + mp.exp(lowest(value, -13.8, 20.7)))

# ------------------------------------------------------- what events give away for certain: losses composed in integers, rounded down
# A law of the loss Y = ln(P/Q) under P: P[Y > y] as a function, the least loss, the largest, P's mass where Q has none, and the mean.
def gaussian(mu):
    return lambda y: mp.erfc((y / mu - mu / 2) / mp.sqrt(2)) / 2, mu * (mu / 2 - 13), mu * (mu / 2 + 13), ZERO, mu ** 2 / 2
def laplace(lam):
    tail = lambda y: ZERO if y >= lam else 1 - mp.exp((y - lam) / 2) / 2 if y >= -lam else mpf(1)
    return tail, -lam, lam, ZERO, lam - 1 + mp.exp(-lam)
def atoms(outcomes, infinite=ZERO):
    """Finitely many outcomes, as (loss, mass under P)."""
    outcomes = sorted(outcomes)
    losses, above = [loss for loss, _ in outcomes], [ZERO, *itertools.accumulate(mass for _, mass in reversed(outcomes))]
    tail = lambda y: above[len(losses) - bisect.bisect_right(losses, y)]
    return tail, losses[0], losses[-1], infinite, ZERO if infinite else sum(loss * mass for loss, mass in outcomes)
def response(epsilon, values=2, delta=ZERO):
    """Randomized response; with two values and δ, the worst of all that is (ε, δ)-private [KOV15]."""
    one = (1 - delta) / (mp.exp(epsilon) + values - 1)
    return atoms([(epsilon, one * mp.exp(epsilon)), (-epsilon, one), (ZERO, one * (values - 2))], delta)
@functools.lru_cache(None)
def discrete_gaussian(sigma, s):
    reach = int(14 * sigma) + s  # what lies beyond is left out
    if reach > 100000:
        return None
    masses = [(x, mp.exp(-mpf(x * x) / (2 * sigma ** 2))) for x in range(-reach, reach + 1)]
    total = sum(mass for _, mass in masses)
    return atoms(((s * s - 2 * s * x) / (2 * sigma ** 2), mass / total) for x, mass in masses)
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
    def power(self, one, times):
        if times == 1:
            return one
        half = self.power(one, times // 2)
        even = self.product(half, half)
        return self.product(even, one) if times % 2 else even
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
    """Findings. Those that are many are shown together, unless something is wrong with one."""
    def __init__(self):
        self.count, self.lines, self.together = {"confirmed": 0, "not confirmed": 0, "refuted": 0}, [], {}
    def say(self, verdict, name, text, many=None, off=ZERO):
        self.count[verdict] += 1
        if many:
            number, worst = self.together.get((verdict, many), (0, ZERO))
            self.together[verdict, many] = number + 1, max(worst, off)
        else:
            self.lines.append(f"{verdict:14} {name}: {text}")
    def number(self, name, claim, value, sum_, low=ZERO, many=None):
        """A number that is `value` by the rule of `sum_`, and certainly not below `low`."""
        claim = INF if claim is None else mpf(claim)
        if claim < low * (1 - mpf("1e-12")):
            return self.say("refuted", name, f"it says {nice(claim)}, and it is certainly at least {nice(low)}")
        if sum_.hole:
            return self.say("not confirmed", name, sum_.hole, many)
        if claim == value == INF:
            return self.say("confirmed", name, "no finite bound by the rule, as it says", many)
        if claim < value * (1 - mpf("1e-9")) or claim > value * (1 + sum_.loose) + mpf("1e-15"):
            return self.say("not confirmed", name, f"it says {nice(claim)}, the events add up to {nice(value)}")
        off = abs(claim - value) / value if value else claim
        self.say("confirmed", name, f"{nice(claim)} within {nice(off)}" + (f"; certainly at least {nice(low)}" if low else ""), many, off)
    def end(self):
        for (verdict, name), (number, worst) in self.together.items():
            within = f", each within {nice(worst)}" if verdict == "confirmed" else ", for want of a sum"
            self.lines.append(f"{verdict:14} {name}: {number} numbers{within}")
        print("\n".join(self.lines + ["; ".join(f"{number} {verdict}" for verdict, number in self.count.items())]))
        return 1 if self.count["refuted"] else 3 if self.count["not confirmed"] else 0
def nice(number):
    return "none" if number == INF else mp.nstr(number, 8) if number > mpf("1e-30") else "0"
def exactly(text):
    """A sum as the ledger writes it: a decimal, a fraction, 'inf' or 'none'."""
    return INF if text in ("none", "inf") else mpf(Fraction(text).numerator) / Fraction(text).denominator

# --------------------------------------------------------------------------------------------------------------- ledger and report
class Charge:
    def __init__(self, sequence, body):
        with reading(f"entry {sequence} has no list of events"):
            self.events = [Event(value, f"entry {sequence}, event {number}", sequence) for number, value in enumerate(body["events"], 1)]
        self.release, self.kind, self.state, self.one_draw = body.get("release"), body.get("kind"), "interrupted", body.get("one_draw")
        self.drawn, self.commits, self.is_reading = 0, 0, False
    def follow(self, body):
        """Whether an entry may come next (docs/engineers/ledger-format.md, the life of a charge). Older charges do not say `one_draw`."""
        number, drawn, was_reading = max(self.drawn, self.commits) + 1, self.drawn, self.is_reading
        if body["entry"] == "commit":
            self.commits, self.state = self.commits + 1, "committed"
            return self.one_draw is None or drawn >= (1 if self.one_draw else self.commits)
        self.is_reading, is_next = body["entry"] == "reading", body.get("answer") == number
        if self.is_reading:
            return self.one_draw is False and drawn > 0 and not was_reading and is_next
        self.drawn = number
        return drawn == 0 if self.one_draw else is_next and re.fullmatch("[0-9a-f]{64}", str(body.get("state")))
    def for_groups(self, scope):
        """Entries from before 'new-keys', and trees of heavy hitters with a δ: counted as a whole (docs/reference/events.md)."""
        has_delta = lambda event: event.word == "approximate" and event.p["delta"] > 0
        *others, last = self.events or [None]
        is_old = others and has_delta(last) and last.p["epsilon"] == 0 and \
            all(event.word in ("discrete-laplace", "discrete-gaussian", "exponential") for event in others)
        is_tree = self.kind == "heavy-hitters" and any(map(has_delta, self.events))
        if sum(bool(event.shifts(scope)) for event in self.events) < 2 or not (is_old or is_tree):
            return self.events
        one, whole = Sum(self.events, scope), Event({"mechanism": "approximate", "epsilon": 0, "delta": 0}, "")
        epsilon, delta = (one.pure, one.delta) if one.rest == 0 else (one.epsilon(4 * one.delta), 4 * one.delta)
        whole.p = {"epsilon": ZERO, "delta": mpf(1)} if epsilon == INF else {"epsilon": epsilon, "delta": min(delta, mpf(1))}
        return [whole]
def history(bodies, heads, out):
    """The charges by their entries, and what is in force; every running sum is compared."""
    charges, noted, last = {}, {"declaration": None, "data": None, "budget": None}, 0
    for sequence, body in enumerate(bodies, 1):
        entry = body.get("entry") if isinstance(body, dict) else None
        if entry in noted:
            noted[entry] = (sequence, body)
        elif entry in ("reading", "drawn", "commit") and type(of := body.get("of")) is int and of in charges and charges[of].follow(body):
            pass
        elif entry == "reserve":
            charges[sequence] = Charge(sequence, body)
            body.get("after") and running(sequence, body["after"], charges.values(), noted, heads, out)
        elif entry != "asked":
            raise Bad(f"entry {sequence} is of a form that this program does not know, or out of order")
        elif body.get("since") != {"entry": last, "hash": heads[last]}:  # Nothing was charged; it says where the entries before its run end.
            out.say("refuted", f"entry {sequence}", "what it says of where the entries before it end is not so")
        last = last if entry == "asked" else sequence
    return charges, noted
def running(sequence, after, charges, noted, heads, out):
    with reading(f"the sums in entry {sequence} are not in a form that this program knows"):
        events, sums, kinds = [event for charge in charges for event in charge.events], after["sums"], [charge.kind for charge in charges]
        links = {name: found and {"entry": found[0], "hash": heads[found[0]]} for name, found in noted.items()}
        if after["kinds"] != {kind: kinds.count(kind) for kind in kinds} or any(after[name] != link for name, link in links.items()):
            out.say("refuted", f"entry {sequence}", "what it says of kinds and of the entries in force is not so")
        if after["rule"] not in (1, 2) or sums is None:
            return out.say("not confirmed", f"entry {sequence}", "its sums are not there, or by another rule than the one that is known here")
        scopes = [("presence", sums["presence"]), ("person", sums["person"]), (None, sums["others"])]
        scopes += [(frozenset([name]), text) for name, text in sums["attributes"].items()]
        scopes += [(frozenset(one["attributes"]), one["spent"]) for one in sums["sets"]]
        for scope, text in scopes:
            mine = Sum([event for event in events if scope or event.everywhere], scope or "person", rule=after["rule"])
            if mine.hole:
                return out.say("refuted" if mine.is_known else "not confirmed", f"entry {sequence}", f"it has sums, and {mine.hole}")
            claims = [exactly(word) for word in text.split(" ")]
            values = [mine.pure, mine.rest, mine.all, mine.truncated, mine.omega, mine.delta]
            for word, claim, value in zip(["Σε", "Σρ without ε", "Σρ", "Σρ below ω", "ω", "Σδ"], claims, values, strict=True):
                name = f"entry {sequence}, {title(scope) if scope else 'any other attribute'}, {word}"
                out.number(name, claim, value, mine, ZERO, "running sums in the ledger")
def title(scope): return scope if isinstance(scope, str) else " + ".join(sorted(scope))

def read_limits(noted):
    """The budget in force: scope → (word, most, ω, order, δ)."""
    def number(text):  # a number of JSON would be a float here
        if not isinstance(text, str) or not re.fullmatch(r"[0-9]+(\.[0-9]+|/[0-9]+)?", text):
            raise ValueError
        return exactly(text)
    def limit(held):
        if isinstance(held, str):  # in words, up to version 6: rho 0.1 below omega 20 at delta 0
            words = [word for word in held.split(" ") if word not in ("at", "below")]
            held = dict(zip(words[::2], words[1::2], strict=True))
        if set(held) not in ({"epsilon", "delta"}, {"rho", "delta"}, {"rho", "omega", "delta"}, {"order", "epsilon", "delta"}):
            raise ValueError
        value, word = {name: number(text) for name, text in held.items()}, "rho" if "rho" in held else "epsilon"
        return word, value[word], value.get("omega"), value.get("order"), value["delta"]
    with reading("the budget in force is not in a form that this program knows"):
        found = noted["budget"] and noted["budget"][1]["limits"]
        if found is None:  # no entry holds limits, or the last one says that there are none
            return {}
        limits = {frozenset([name]): limit(text) for name, text in found["attributes"].items()}
        limits.update({name: limit(found[name]) for name in ("presence", "person") if found[name]})
        return {**limits, "*": limit(found["every_attribute"])} if found["every_attribute"] else limits
def limit_of(limits, scope): return limits.get(scope) or (limits.get("*") if isinstance(scope, frozenset) and len(scope) == 1 else None)
def usual_delta(limits, scope):
    own, least = limit_of(limits, scope), min((limit[4] for limit in limits.values()), default=ZERO)
    is_own = own and (own[4] > 0 or (own[0] == "epsilon" and own[3] is None))
    return own[4] if is_own else least if least > 0 else mpf("1e-9")

def check_costs(where, told, events_of, names, limits, k, out):
    """ε, δ and ρ of each scope in one part of a summary; without limits δ is whatever was asked for."""
    scopes = [(scope, told[scope]) for scope in ("presence", "person")]
    scopes += [(frozenset([name] if name in names else name.split(",")), one) for name, one in told["attributes"].items()]
    for scope, claim in scopes:
        events, name, delta = events_of(scope), f"{where}{title(scope)}", mpf(claim["delta"])
        usual = usual_delta(limits, scope) if limits is not None else delta
        if abs(delta - usual) > usual * mpf("1e-12"):
            out.say("not confirmed", f"{name}, δ", f"it says {nice(delta)}, the budget says {nice(usual)}")
        mine, truth, rho = Sum(events, scope, k), Truth(events, scope, k), (claim.get("approximate_zcdp") or claim).get("rho")
        out.number(f"{name}, ε at δ = {nice(delta)}", claim["epsilon"], mine.epsilon(delta), mine, truth.epsilon(delta))
        out.number(f"{name}, ρ", rho, mine.rho(delta), mine, truth.rho)

def check(report, bodies, heads, out):
    summary = report.get("summary", report) if isinstance(report, dict) else {}
    if not isinstance(summary, dict) or "presence" not in summary:
        raise Bad("the report is neither a report.json nor what 'scumble ledger show --json' prints")
    entries, head = report.get("ledger_entries", report.get("entries")), report.get("ledger_head", report.get("head"))
    if not isinstance(entries, int) or not 0 <= entries < len(heads) or heads[entries] != head:
        return out.say("refuted", "the report's head", f"{head} after {entries} entries is not in this ledger's chain")
    out.say("confirmed", "the report's head", f"it is the ledger's, after {entries} of {len(bodies)} entries")
    charges, noted = history(bodies[:entries], heads, out)
    limits, events = read_limits(noted), [event for charge in charges.values() for event in charge.events]
    names = {name for event in events if not event.everywhere for touch in event.moves["touches"] for name in touch[0]}
    names |= {name for table in noted["declaration"][1]["tables"].values() for name in table["columns"]} if noted["declaration"] else set()
    deltas = limits if "summary" in report else None
    check_costs("", summary, lambda scope: events, names, deltas, 1, out)
    for told in summary["releases"]:
        charge = charges.get(told["sequence"])
        if charge is None or [charge.release, charge.kind, charge.state] != [told[f] for f in ("release", "kind", "state")]:
            out.say("refuted", f"release {told['release']!r}", "the ledger's entry says otherwise")
            continue
        check_costs(f"{charge.release}, ", told, lambda scope: charge.events, names, deltas, 1, out)
    if (number := len(summary["releases"]) + report.get("earlier_releases", 0)) != len(charges):
        out.say("refuted", "number of releases", f"{number} are shown, {len(charges)} are in the ledger")
    if "groups" in summary:
        k, of_groups = summary["groups"]["size"], lambda scope: [event for one in charges.values() for event in one.for_groups(scope)]
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
            out.number(name, epsilon, mine.epsilon(delta), mine, truth.epsilon(delta), "points of the curves")
    if attackers := report.get("attackers"):
        out.lines.append(f"not looked at  attackers: the report's claims about those who know less ({len(attackers)}) are not computed anew here")

def check_left(scope, left, limit, spent, out):
    name = f"left in the budget of {title(scope)}"
    if limit is None or spent.hole:
        return out.say("not confirmed", name, spent.hole or "the ledger holds no such limit")
    word, most, omega, order, delta = limit
    if omega or order:
        used = spent.truncated * (order or 1) if spent.delta <= delta and (omega or order) <= spent.omega else INF
    else:
        used = spent.rho(delta) if word == "rho" else spent.epsilon(delta)
    off = abs((claim := mpf(left[word])) - (value := max(most - used, ZERO)))
    if off <= max(spent.loose, mpf("1e-9")) * most and mpf(left["delta"]) == mpf(float(delta)):
        return out.say("confirmed", name, f"{word} {nice(claim)} within {nice(off)}")
    out.say("refuted" if claim > most else "not confirmed", name, f"it says {nice(claim)}, {nice(value)} of {nice(most)} is left")

def main(arguments):
    try:
        if len(arguments) != 2 or arguments[0].startswith("-"):
            raise Bad("give two files: verify.py REPORT LEDGER (the first lines of verify.py say which)")
        out, report = Out(), parse(load(arguments[0]), arguments[0])
        with reading(f"{arguments[0]} or {arguments[1]} is not in a form that this program knows"):
            found = chain(arguments[1], out)
            found and check(report, *found, out)
        return out.end()
    except Bad as error:
        print(error, file=sys.stderr)
        return 2

if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
