"""Google's dp_accounting, and PyDP, which wraps Google's C++ library."""

import importlib
import pickle
import warnings

import dp_accounting
import pydp.algorithms.laplacian
import pydp.algorithms.numerical_mechanisms as mechanisms
import pydp.algorithms.partition_selection as selection
from dp_accounting import dp_event
from dp_accounting.pld import pld_privacy_accountant, privacy_loss_distribution
from dp_accounting.rdp import rdp_privacy_accountant

from facts import end, fact, package, refusal, words

warnings.filterwarnings("ignore")
package("dp-accounting")
package("python-dp")


@fact("dp_accounting: privacy-loss distributions, also for subsampled mechanisms, from above and from below")
def _():
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.PoissonSampledDpEvent(0.01, dp_event.GaussianDpEvent(1.0)), 1000)
    above, below = (
        privacy_loss_distribution.from_gaussian_mechanism(
            1.0, pessimistic_estimate=pessimistic, use_connect_dots=False
        ).get_epsilon_for_delta(1e-6)
        for pessimistic in (True, False)
    )
    assert below < above
    return f"subsampled Gaussian, 1000 times: {accountant.get_epsilon(1e-6)}; one Gaussian: {below} to {above}"


@fact("dp_accounting: it accounts for what is described to it; it draws no noise and holds no budget; its `ledger` is a list in memory; no attributes")
def _():
    wanted = ["noise", "budget", "remaining", "filter", "odometer", "save", "attribute"]
    found = words([dp_accounting, dp_accounting.PrivacyAccountant], wanted, "dp-accounting")
    assert not found, found
    return f"what an accountant offers: {[n for n in dir(dp_accounting.PrivacyAccountant) if not n.startswith('_')]}"


@fact("dp_accounting: an accountant can be pickled")
def _():
    accountant = pld_privacy_accountant.PLDAccountant()
    accountant.compose(dp_event.GaussianDpEvent(1.0))
    again = pickle.loads(pickle.dumps(accountant))
    assert again.get_epsilon(1e-6) == accountant.get_epsilon(1e-6)
    return again.get_epsilon(1e-6)


@fact("dp_accounting: an event that an accountant does not know is refused")
def _():
    return refusal(lambda: pld_privacy_accountant.PLDAccountant().compose(dp_event.UnsupportedDpEvent()), "Unsupported")


@fact("dp_accounting: a Gaussian with sigma NaN costs 0 in the Rényi accountant and is an error in the other")
def _():
    renyi = rdp_privacy_accountant.RdpAccountant()
    renyi.compose(dp_event.GaussianDpEvent(float("nan")))
    assert renyi.get_epsilon(1e-6) == 0
    other = pld_privacy_accountant.PLDAccountant()
    return "0; " + refusal(lambda: other.compose(dp_event.GaussianDpEvent(float("nan"))))


@fact("PyDP: integer answers for integers; a confidence interval can be asked for")
def _():
    mechanism = mechanisms.LaplaceMechanism(1.0, 1.0)
    assert all(isinstance(mechanism.add_noise(5), int) for _ in range(20))
    interval = mechanism.noise_confidence_interval(0.95, 0.0)
    ends = {name: getattr(interval, name) for name in dir(interval) if not name.startswith("_")}
    return f"{[mechanism.add_noise(5) for _ in range(5)]}, {ends}"


@fact("PyDP: noise on doubles lies on a grid: at scale 1, on multiples of 2^-40")
def _():
    mechanism = mechanisms.LaplaceMechanism(1.0, 1.0)
    answers = [mechanism.add_noise(5.0) for _ in range(1000)]
    assert all((answer * 2**40).is_integer() for answer in answers)
    return answers[:3]


@fact("PyDP: partition selection as a function of the number of owners; bounding contributions is left to the caller")
def _():
    strategy = selection.create_partition_strategy("truncated_geometric", 1.0, 1e-6, 3)
    kept = sum(strategy.should_keep(50) for _ in range(200))
    never = sum(strategy.should_keep(1) for _ in range(200))
    assert kept > 100 and never == 0
    return f"of 200 tries, a key of 50 owners was kept {kept} times and a key of one owner {never} times"


@fact("PyDP: the statistics have no account over several of them; no joins, synthetic rows, audit or server")
def _():
    wanted = ["account", "budget", "ledger", "compos", "join", "synth", "audit", "server"]
    found = words([pydp.algorithms, pydp.algorithms.laplacian, mechanisms, selection], wanted, "python-dp")
    assert found == ["accountant"], found
    return [name for name in dir(pydp.algorithms.laplacian) if name[0].isupper()]


@fact("PyDP: `pydp.ml` has an accountant in memory for its own models, and naive Bayes, which needs scikit-learn")
def _():
    from pydp.ml.util.accountant import BudgetAccountant

    accountant = BudgetAccountant(epsilon=1.0, delta=0.0)
    accountant.spend(0.4, 0)
    message = refusal(lambda: accountant.spend(0.9, 0), "budget")
    return message + "; " + refusal(lambda: importlib.import_module("pydp.ml.naive_bayes"), "sklearn")


end()
