#!/usr/bin/env python3
"""Checks the tables of the fast path (noise/blocks.rs) against the laws they stand for.

Reads certificates from standard input, as the example `table_certificates` prints them. Everything is integers: a real
is enclosed between two of them in units of 2^-PRECISION, rounded down and up. Nothing is shared with the Rust code.

What is checked are the hypotheses of Blocks.v: each stored end is a lower bound of the cumulative probability, which
is below the end plus the uncertainty (`certified`); a decided first word lies wholly inside its cell (`sound`); the
scan of an undecided word starts at a cell that begins at or below it; cells cut the integers; and what is surely kept
is at most what is kept at the far end of the block.
"""

import math
import sys
from fractions import Fraction

PRECISION = 256
UNIT = 1 << PRECISION
FIRST_WORDS = 1 << 16


def ceiling_shift(value, by):
    return -((-value) >> by)


def exp_minus(x):
    """Encloses e^-x for a rational x >= 0."""
    if x > PRECISION:
        return 0, 1  # e^-x < 2^-x
    halvings = 8
    while x * 256 >= 1 << halvings:
        halvings += 1
    scaled = x * UNIT / (1 << halvings)
    low_y = scaled.numerator // scaled.denominator
    low, high = exp_of_small(low_y + 1)[0], exp_of_small(low_y)[1]
    for _ in range(halvings):
        low, high = low * low >> PRECISION, ceiling_shift(high * high, PRECISION)
    return low, min(high, UNIT)


def exp_of_small(y):
    """Encloses e^-(y/UNIT) for y/UNIT at most 1/128: the series alternates, and its terms fall."""
    low = high = UNIT
    term_low = term_high = UNIT
    place = 0
    while True:
        place += 1
        term_low = (term_low * y >> PRECISION) // place
        term_high = -(-ceiling_shift(term_high * y, PRECISION) // place)
        if place % 2:
            low, high = low - term_high, high - term_low
        else:
            low, high = low + term_low, high + term_high
        if term_high <= 1:
            # What follows is less than this term.
            return low - 1, high + 1


class Law:
    """Weights relative to the mode, and how cells are ordered."""

    def __init__(self, name, numerator, denominator):
        self.name, self.parameter = name, Fraction(numerator, denominator)
        if name not in ("geometric", "laplace", "gaussian"):
            raise ValueError(f"there is no law {name}")

    def weight(self, z):
        return exp_minus(self.exponent(z))

    def exponent(self, z):
        if self.name == "gaussian":
            return Fraction(z * z) / (2 * self.parameter * self.parameter)
        return Fraction(abs(z)) / self.parameter

    def two_sided(self):
        return self.name != "geometric"


def cut(law, cells):
    """Complains unless cells of one length cut the integers from the mode outwards: right, left, right, left ..."""
    lengths = {length for _, _, length, _, _ in cells}
    if len(lengths) != 1:
        return "the blocks are of several lengths"
    length = lengths.pop()
    for place, (side, start, _, _, _) in enumerate(cells):
        expected = place // 2 if law.two_sided() else place
        # Starts are brought into 64 bits. Only blocks of at most 2^24 integers are found by them.
        if start != min(expected << length, (1 << 64) - 1 if length > 24 else expected << length):
            return f"cell {place} starts at {start}"
        if side != (-(place % 2) if law.two_sided() else 0):
            return f"cell {place} is on the wrong side"
    return None


def edge(side, start):
    return start if side == 0 else -1 - start


def cumulative(law, length, count):
    """Encloses the cumulative probabilities of the first `count` cells, in units of 2^-PRECISION."""
    sums, low, high, place = [], 0, 0, 0
    sides = [0, -1] if law.two_sided() else [0]
    while True:
        edges = [edge(side, place << length) for side in sides]
        weights = [law.weight(z) for z in edges]
        for weight in weights:
            low, high = low + (weight[0] << length), high + (weight[1] << length)
            sums.append((low, high))
        if place and len(sums) >= count and all(weight[1] << length <= low >> 130 for weight in weights):
            # All laws are log-concave: on each side the ratio of neighbouring blocks never rises.
            for side, z, (_, now) in zip(sides, edges, weights):
                step = law.exponent(z) - law.exponent(edge(side, (place - 1) << length))
                ratio = Fraction(exp_minus(step)[1], UNIT)
                high += math.ceil((now << length) * ratio / (1 - ratio))
            break
        place += 1
    enclosed = [((part[0] << PRECISION) // high, -(-(part[1] << PRECISION) // low)) for part in sums[:count]]
    return enclosed


def problems(law, uncertainty, cells, firsts):
    """All that is wrong with a table."""
    wrong = cut(law, cells)
    if wrong:
        yield wrong
        return
    length = cells[0][2]
    ends = cumulative(law, length, len(cells))
    for place, ((low, high), (side, _, _, kept, end)) in enumerate(zip(ends, cells)):
        start = (place // 2 if law.two_sided() else place) << length
        if end << (PRECISION - 64) > low:
            yield f"end {place} is above the cumulative probability"
        if (end + uncertainty) << (PRECISION - 64) <= high:
            yield f"end {place} and the uncertainty are below the cumulative probability"
        far = start + (1 << length) - 1
        ratio = exp_minus(law.exponent(edge(side, far)) - law.exponent(edge(side, start)))
        if kept << (PRECISION - 24) > (ratio[0] if length else UNIT):
            yield f"cell {place} does not surely keep {kept}"
    if len(firsts) != FIRST_WORDS:
        yield f"{len(firsts)} first words"
    decided = 0
    for first, (candidate, cell, offset) in enumerate(firsts):
        low, high = first << (PRECISION - 16), (first + 1) << (PRECISION - 16)
        if candidate > 0 and ends[candidate - 1][1] > low:
            yield f"the scan of first word {first} starts too late"
        if cell is not None:
            decided += 1
            if ends[cell][0] < high:
                yield f"first word {first} reaches beyond its cell"
            if cell > 0 and ends[cell - 1][1] > low:
                yield f"first word {first} begins before its cell"
        if offset is not None and (cell is None or length > 0 or offset != edge(*cells[cell][:2])):
            yield f"first word {first} has the wrong offset"
    if decided < FIRST_WORDS * 9 // 10:
        yield f"only {decided} first words are decided"


def main():
    tables = failures = 0
    law, uncertainty, cells, firsts = None, None, [], []
    for line in sys.stdin:
        kind, *words = line.split()
        if kind == "table":
            law, uncertainty, cells, firsts = Law(words[0], int(words[1]), int(words[2])), None, [], []
        elif kind == "uncertainty":
            uncertainty = int(words[0])
        elif kind == "cell":
            cells.append(tuple(int(word) for word in words))
        elif kind == "first":
            if int(words[0]) != len(firsts):
                raise ValueError(f"first word {words[0]} is out of order")
            firsts.append(tuple(None if word == "-" else int(word) for word in words[1:]))
        elif kind == "end":
            wrong = list(problems(law, uncertainty, cells, firsts))
            tables += 1
            failures += bool(wrong)
            verdict = f"{len(wrong)} problems, first: {wrong[0]}" if wrong else "as certified"
            print(f"{law.name} {float(law.parameter)}: {len(cells)} cells, uncertainty {uncertainty}: {verdict}")
            law = None
        else:
            raise ValueError(f"{kind} is not a line of a certificate")
    if tables == 0 or law is not None:
        sys.exit("no whole certificate was read")
    sys.exit(1 if failures else 0)


main()
