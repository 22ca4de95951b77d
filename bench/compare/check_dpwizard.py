"""DP Wizard: the program that it writes is run, and its server is asked for its first page."""

import os
import subprocess
import sys
import tempfile
import time
import urllib.request

# It keeps a note in the home folder; this check leaves none.
home = tempfile.mkdtemp()
os.environ["HOME"] = home

import polars as pl
from dp_wizard.types import Product
from dp_wizard.utils.code_generators import AnalysisPlan, AnalysisPlanColumn
from dp_wizard.utils.code_generators.script_generator import ScriptGenerator

from facts import ROWS, end, fact, package

package("dp_wizard")
package("opendp")
table = os.path.join(home, "t.csv")
pl.DataFrame(ROWS, schema=["owner", "key", "value"], orient="row").write_csv(table)
plan = AnalysisPlan(
    product=Product.STATISTICS,
    path=table,
    contributions=5,
    contributions_entity="Person",
    epsilon=1.0,
    max_rows=10_000,
    groups={},
    analysis_columns={"value": [AnalysisPlanColumn("Histogram", 0, 50, 5, 1)]},
    schema_columns={"owner": pl.Int64(), "key": pl.String(), "value": pl.Int64()},
)
script = ScriptGenerator(plan, note="").make_py()


@fact("it writes a Python program for the OpenDP library; the answers carry an accuracy at 95%")
def _():
    assert "dp.Context.compositor" in script and "accuracy" in script
    path = os.path.join(home, "made.py")
    open(path, "w").write(script)
    run = subprocess.run([sys.executable, path, "--csv", table], capture_output=True, text=True)
    assert run.returncode == 0, run.stderr[-300:]
    assert "95%" in run.stdout
    return run.stdout


@fact("contributions are declared as a number of rows per person, not enforced: the program names no owner")
def _():
    assert "contributions = 5" in script and "identifier" not in script
    return [line for line in script.splitlines() if "contributions" in line][:3]


@fact("what was spent is not kept: the program builds a new accountant on each run, and writes no file about it")
def _():
    assert script.count("Context.compositor") == 1
    assert not any(word in script for word in ("ledger", "pickle", "sqlite"))
    return [line.strip() for line in script.splitlines() if "privacy_loss" in line]


@fact("a graphical interface in the browser, served on this machine")
def _():
    command = [os.path.join(os.path.dirname(sys.executable), "dp-wizard"), "--demo", "--no_browser", "--port", "18765"]
    server = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        for _ in range(120):
            time.sleep(1)
            try:
                page = urllib.request.urlopen("http://127.0.0.1:18765/", timeout=5).read().decode()
                break
            except OSError:
                assert server.poll() is None, "the server ended"
        assert "DP Wizard" in page
        return f"a page of {len(page)} bytes"
    finally:
        server.terminate()
        server.wait()


end()
