"""Differential privacy that says what was given away, about whom and to whom.

>>> import scumble as sc
>>> sc.account(sc.Gaussian(sigma=1.0), delta=1e-5).method
'gaussian'

A :class:`Session` takes data frames or a project file, plans releases at no cost, and publishes them against a budget in a ledger that outlives the process.
"""

from . import _words, attack, events, limits, noise
from ._errors import BudgetError, Error, InputError, MachineError
from ._native import version as __version__
from ._words import *
from .answers import Answer, Plan
from .audits import Audit, audit, audit_counts, audit_one_run
from .budget import Budget
from .calculators import Loss, account, attacker, calibrate
from .columns import Column, Listed, category, date, real, timestamp
from .columns import bool as bool
from .columns import float as float
from .columns import int as int
from .events import Event, poisson, without_replacement
from .ledger import Ledger, Spent
from .report import Report
from .session import Session, Table, table

# The types of columns are called as in project files: sc.int, sc.float, sc.bool. A star would put them in the place of Python's own.
__all__ = [
    "Answer", "Audit", "Budget", "BudgetError", "Column", "Error", "Event", "InputError", "Ledger", "Listed", "Loss",
    "MachineError", "Plan", "Report", "Session", "Spent", "Table", "__version__", "account", "attack", "attacker",
    "audit", "audit_counts", "audit_one_run", "calibrate", "category", "date", "events", "limits", "noise", "poisson",
    "real", "table", "timestamp", "without_replacement",
]
__all__ += _words.__all__
