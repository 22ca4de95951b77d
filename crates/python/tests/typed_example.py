"""A program as users write it, for type checkers."""

import scumble as sc


def publish(frame: object) -> list[int]:
    columns = {"age": sc.int(0, 120), "disease": sc.category(["none", "flu"], sensitive=True)}
    session = sc.Session({"people": frame}, owner=None, columns=columns, budget=sc.Budget(person=(1.0, 1e-9)))
    plan = session.plan("SELECT COUNT(*) AS n FROM people", epsilon=0.5)
    median = session.quantiles(table="people", column="age", quantiles=[0.5], epsilon=0.1)
    if not (plan.fits and median.fits):
        return []
    spent: float = session.ledger.person.epsilon
    print(spent, plan.costs, [event.mechanism for event in plan.events])
    return [int(n) for n in plan.release()["n"]]


loss = sc.account([sc.Gaussian(sigma=1.0), sc.Laplace(scale=2.0)], delta=1e-6)
bound: float = loss.epsilon
noise = sc.noise.discrete_laplace(1.0, size=(2, 3))
total: int = int(noise.sum())
