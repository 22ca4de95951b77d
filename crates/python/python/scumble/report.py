"""The report as a page that needs nothing else."""

from __future__ import annotations

import html
import os
from pathlib import Path


class Report:
    """What the ledger holds, for people: shown inline in a notebook."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        #: Where the page is.
        self.path = Path(path)

    def __repr__(self) -> str:
        return f"Report({str(self.path)!r})"

    def _repr_html_(self) -> str:
        page = html.escape(self.path.read_text(encoding="utf-8"), quote=True)
        return f'<iframe srcdoc="{page}" sandbox="" style="width:100%;height:40em;border:0" title="report"></iframe>'
