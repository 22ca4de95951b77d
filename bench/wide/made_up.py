"""Other made-up tables, so that nothing is tuned to one of them: each is a function of its name alone (standard library only).

    python3 made_up.py NAME FOLDER     writes FOLDER/NAME.csv and FOLDER/NAME.json (column -> number of values)
"""
import csv, json, pathlib, random, sys

ROWS = 30_000


def skewed(rng, size, power):
    weights = [1.0 / (value + 1) ** power for value in range(size)]
    rng.shuffle(weights)
    return weights


def independent(rng):
    sizes = [2, 3, 5, 8, 12, 20, 40, 80, 4, 6, 10, 16]
    weights = [skewed(rng, size, 0.7) for size in sizes]
    return sizes, lambda: [rng.choices(range(size), own)[0] for size, own in zip(sizes, weights)]


def factors(rng):
    """Every column depends on the same two hidden numbers: all pairs go together, and no tree of pairs says it."""
    sizes = [4, 6, 8, 10, 12, 16, 5, 3, 9, 7, 20, 30]
    loads = [(rng.uniform(-1, 1), rng.uniform(-1, 1), rng.uniform(0.4, 0.9)) for _ in sizes]

    def row():
        one, two = rng.gauss(0, 1), rng.gauss(0, 1)
        values = []
        for size, (a, b, noise) in zip(sizes, loads):
            x = a * one + b * two + noise * rng.gauss(0, 1)
            values.append(min(size - 1, max(0, int((x + 2.2) / 4.4 * size))))
        return values

    return sizes, row


def triples(rng):
    """In each group of three the third is the sum of the others, except for a fifth of the rows: no pair shows it."""
    sizes = [4, 4, 4, 6, 6, 6, 3, 3, 3, 5, 5, 5]

    def row():
        values = []
        for first in range(0, len(sizes), 3):
            size = sizes[first]
            a, b = rng.randrange(size), rng.randrange(size)
            values += [a, b, (a + b) % size if rng.random() < 0.8 else rng.randrange(size)]
        return values

    return sizes, row


def skewed_chain(rng):
    """Most people in few cells, a long tail, and each column follows the one before it."""
    sizes = [50, 30, 70, 20, 40, 60, 25, 35, 15, 45, 10, 55]
    first = skewed(rng, sizes[0], 1.5)
    tables = [[skewed(rng, size, 1.6) for _ in range(before)] for before, size in zip(sizes, sizes[1:])]

    def row():
        values = [rng.choices(range(sizes[0]), first)[0]]
        for size, table in zip(sizes[1:], tables):
            values.append(rng.choices(range(size), table[values[-1]])[0])
        return values

    return sizes, row


def binary(rng):
    """100 columns of two values: each follows one or two earlier ones."""
    sizes = [2] * 100
    parents = [(rng.randrange(column), rng.randrange(column)) if column else (0, 0) for column in range(100)]
    chances = [[rng.betavariate(0.6, 0.6) for _ in range(4)] for _ in range(100)]

    def row():
        values = []
        for column in range(100):
            one, two = parents[column]
            seen = 2 * values[one] + values[two] if column else 0
            values.append(int(rng.random() < chances[column][seen]))
        return values

    return sizes, row


def forty(rng):
    """40 columns of 50 values: each is near to an earlier one."""
    sizes = [50] * 40
    parents = [rng.randrange(column) if column else 0 for column in range(40)]
    widths = [rng.uniform(2, 12) for _ in range(40)]

    def row():
        values = [min(49, max(0, int(rng.gauss(25, 10))))]
        for column in range(1, 40):
            values.append(min(49, max(0, int(rng.gauss(values[parents[column]], widths[column])))))
        return values

    return sizes, row


TABLES = {"independent": independent, "factors": factors, "triples": triples, "skewed": skewed_chain, "binary": binary, "forty": forty}


def make(name, folder):
    rng = random.Random(f"scumble {name}")
    sizes, row = TABLES[name](rng)
    names = [f"c{column}" for column in range(len(sizes))]
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    with open(folder / f"{name}.csv", "w", newline="") as file:
        out = csv.writer(file)
        out.writerow(names)
        out.writerows(row() for _ in range(ROWS))
    (folder / f"{name}.json").write_text(json.dumps(dict(zip(names, sizes))))


if __name__ == "__main__":
    make(sys.argv[1], sys.argv[2])
