#!/usr/bin/env python3
"""How long the attacks and the audit take at the sizes that they are made for: sizes.py [NAME ...], CPU seconds of the whole program.

Plain Python, no peers. The program is bench/program.py's (SCUMBLE=PATH for another one). Each line says what was found, so that a quick wrong answer shows.
"""
import json
import pathlib
import random
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))
from program import child, scumble


def write(folder, name, lines):
    path = pathlib.Path(folder, name)
    with open(path, "w") as file:
        file.writelines(f"{line}\n" for line in lines)
    return str(path)


def run(*arguments):
    seconds, _, printed = child([scumble(), "lab", *arguments, "--json"])
    return seconds, json.loads(printed)


def exhaustive(folder, dice, people=24):
    """Every column of 24 people, 4 noisy counts for each."""
    truth = dice.getrandbits(people)
    masks = [dice.getrandbits(people) for _ in range(4 * people)]
    answers = [(mask & truth).bit_count() + dice.choice((-1, 0, 0, 1)) for mask in masks]
    document = write(folder, "x.json", [json.dumps({"n": people, "queries": masks, "answers": answers})])
    seconds, found = run("attack", "reconstruct", document, "--method", "exhaustive")
    wrong = (found["reconstructions"][0] ^ truth).bit_count()
    return seconds, f"{people} people, {len(masks)} queries: {wrong} wrong"


def dense(folder, dice, people, queries, method):
    truth = dice.getrandbits(people)
    rows = [dice.getrandbits(people) for _ in range(queries)]
    answers = [(row & truth).bit_count() + round(dice.gauss(0, people**0.5 / 4)) for row in rows]
    files = ["--queries", write(folder, "q.csv", (",".join(f"{row:0{people}b}") for row in rows)),
             "--answers", write(folder, "a.csv", answers), "--truth", write(folder, "t.csv", f"{truth:0{people}b}")]
    seconds, found = run("attack", "reconstruct", *files, "--method", method)
    return seconds, f"{people} people, {queries} dense queries: {people - found['recovered']['right']} wrong"


def linear(folder, dice):
    return dense(folder, dice, 2000, 20_000, "linear")


def sparse(folder, dice, people=100_000, each=20):
    """Least squares, twice as many queries as people, twenty people in each."""
    truth = [dice.getrandbits(1) for _ in range(people)]
    queries = [dice.sample(range(people), each) for _ in range(2 * people)]
    answers = [sum(truth[one] for one in query) for query in queries]
    files = ["--members", write(folder, "m.txt", (",".join(map(str, query)) for query in queries)), "--people", str(people),
             "--answers", write(folder, "a.csv", answers), "--truth", write(folder, "t.csv", truth)]
    seconds, found = run("attack", "reconstruct", *files, "--method", "least-squares")
    return seconds, f"{people} people, {2 * people} queries of {each}: {people - found['recovered']['right']} wrong"


def membership(folder, dice, means=1_000_000, people=1000):
    population = [0.1 + 0.8 * dice.random() for _ in range(means)]
    person = [int(dice.random() < p) for p in population]
    # The mean of a thousand, the person among them.
    published = [p + dice.gauss(0, (p * (1 - p) / people) ** 0.5) + (bit - p) / people for p, bit in zip(population, person)]
    document = {"published": published, "population": population, "person": person, "false_positive": 1e-6}
    seconds, found = run("attack", "membership", write(folder, "m.json", [json.dumps(document)]))
    return seconds, f"{means} means of {people} people: {'found' if found['accused'] else 'not found'}"


def outputs(folder, dice, half=500_000):
    files = [write(folder, name, (round((at + dice.choice((-1, 1)) * dice.expovariate(1)) * 2**20) / 2**20 for _ in range(half)))
             for at, name in enumerate(("x", "y"))]
    seconds, found = run("audit", "outputs", *files, "--epsilon", "1")
    return seconds, f"{2 * half} outputs of Laplace noise with ε = 1: ε is at least {found['epsilon_lower']:.4f}"


def one_run(folder, _):
    document = {"canaries": 10**7, "guesses": 10**7, "right": 51 * 10**5, "delta": 1e-9, "beta": 0.05}
    seconds, found = run("audit", "one-run", write(folder, "o.json", [json.dumps(document)]))
    return seconds, f"10000000 canaries: ε is at least {found['epsilon_lower']:.6f}"


ALL = [exhaustive, linear, sparse, membership, outputs, one_run]


def main(names):
    print("| | CPU seconds | what |\n|---|---|---|")
    for work in ALL:
        if not names or work.__name__ in names:
            with tempfile.TemporaryDirectory() as folder:
                seconds, found = work(folder, random.Random(20261116))
            print(f"| {work.__name__} | {seconds:.2f} | {found} |", flush=True)


main(sys.argv[1:])
