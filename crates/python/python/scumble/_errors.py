"""Why something was refused: each exception says one sentence, the same that the program says."""

from __future__ import annotations


class Error(Exception):
    """What all exceptions of scumble are."""


class InputError(Error, ValueError):
    """Wrong input: a frame, a declaration, a query, a number. Nothing was charged."""


class BudgetError(Error):
    """The budget refuses the charge. Nothing was charged."""


class MachineError(Error, RuntimeError):
    """The machine failed: a disk, a damaged ledger, or a release behind its charge."""


for _error in (Error, InputError, BudgetError, MachineError):
    _error.__module__ = "scumble"
