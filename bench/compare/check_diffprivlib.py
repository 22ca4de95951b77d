"""IBM's diffprivlib."""

import math
import pickle
import warnings

import diffprivlib
from diffprivlib import BudgetAccountant, mechanisms, models, tools

from facts import ROWS, end, fact, package, refusal, words

package("diffprivlib")
VALUES = [value for _, _, value in ROWS]


def mean(epsilon, **options):
    return tools.mean(VALUES, epsilon=epsilon, bounds=(0, 50), **options)


@fact("an accountant enforces a budget, and goes on after a refusal")
def _():
    accountant = BudgetAccountant(epsilon=1.0, delta=0.0)
    mean(0.4, accountant=accountant)
    message = refusal(lambda: mean(0.9, accountant=accountant), "not permissible")
    mean(0.5, accountant=accountant)
    return f"{message}; total {accountant.total()}"


@fact("the accountant can be pickled, and its spends can be given to a new one; nothing writes it to disk by itself")
def _():
    accountant = BudgetAccountant(epsilon=1.0, delta=0.0)
    mean(0.4, accountant=accountant)
    again = BudgetAccountant(epsilon=1.0, delta=0.0, spent_budget=accountant.spent_budget)
    assert pickle.loads(pickle.dumps(accountant)).total() == again.total() == (0.4, 0.0)
    return again


@fact("integer mechanisms draw from f64 formulas: Geometric takes the logarithm of a uniform double")
def _():
    import inspect

    assert isinstance(mechanisms.Geometric(epsilon=0.5, sensitivity=1).randomise(5), int)
    source = inspect.getsource(mechanisms.Geometric.randomise)
    assert "np.log(" in source and "self._rng.random()" in source
    return [line.strip() for line in source.splitlines() if "np.log(" in line]


@fact("without bounds it warns and computes them from the data")
def _():
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        tools.mean(VALUES, epsilon=1.0)
    assert any("PrivacyLeakWarning" in str(warning.category) for warning in caught)
    return caught[0].message


@fact("a budget of NaN is accepted and the answer is NaN")
def _():
    answer = mechanisms.Laplace(epsilon=float("nan"), sensitivity=1).randomise(5)
    assert math.isnan(answer)
    return answer


@fact("answers are plain numbers and arrays, without errors")
def _():
    counts = tools.histogram(VALUES, epsilon=0.5, bins=5, range=(0, 50))
    assert len(counts) == 2
    return counts


@fact("private learners with the interface of scikit-learn")
def _():
    found = sorted(name for name in dir(models) if name[0].isupper())
    assert {"LogisticRegression", "RandomForestClassifier", "PCA"} <= set(found)
    return found


@fact("no owners, keys, joins, accounts per attribute, loss distributions, synthetic rows, audit or server among the names that the package offers")
def _():
    wanted = ["owner", "user", "join", "partition", "attribute", "ledger", "pld", "loss_dist", "synth", "audit", "server"]
    found = words([diffprivlib, tools, mechanisms, models, BudgetAccountant], wanted, "diffprivlib")
    assert not found, found
    return found


end()
