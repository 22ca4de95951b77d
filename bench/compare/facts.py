"""One fact, one function: it runs the peer, asserts what docs/coming-from/compare.md says, and returns the evidence that is printed beside it."""

import importlib.metadata
import pathlib
import sys
import traceback

failed = []


def fact(statement):
    """Runs the function at once. A fact that no longer holds is printed as such and makes the script's exit status 1."""

    def run(check):
        try:
            evidence, mark = check(), "holds"
        except Exception as error:
            evidence, mark = traceback.format_exception_only(error)[-1].strip(), "DOES NOT HOLD"
            failed.append(statement)
        print(f"{mark}: {statement}\n    {short(evidence)}", flush=True)

    return run


def refusal(action, part=""):
    """What `action` is refused with; it must be refused, and the message must contain `part`."""
    try:
        answer = action()
    except Exception as error:
        message = f"{type(error).__name__}: {error}"
        assert part in message, f"refused, but with {message}"
        return message
    raise AssertionError(f"not refused: {short(answer)}")


def short(value, most=300):
    text = " ".join(str(value).split())
    return text if len(text) <= most else text[:most] + " …"


def package(name):
    """Version, licence as the package's own metadata states it, and bytes on disk after installation."""
    files = importlib.metadata.files(name) or []
    size = sum(path.locate().stat().st_size for path in files if pathlib.Path(path.locate()).is_file())
    data = importlib.metadata.metadata(name)
    classifiers = [line.split(" :: ")[-1] for line in data.get_all("Classifier", []) if line.startswith("License")]
    licence = data.get("License-Expression") or " / ".join(classifiers) or data.get("License") or "none stated"
    print(f"package: {name} {data['Version']}, licence {short(licence, 60)}, {size / 1e6:.1f} MB installed")


def words(modules, wanted, package):
    """Which of the wanted words occur in the names that the modules offer or in the names of the package's source files."""
    names = {name for module in modules for name in dir(module) if not name.startswith("_")}
    names |= {pathlib.Path(path).stem for path in importlib.metadata.files(package) or [] if str(path).endswith(".py")}
    return sorted(name for name in names if any(word in name.lower() for word in wanted))


def end():
    sys.exit(1 if failed else 0)


# The same thousand rows for everybody: 200 owners with five rows each, three keys, values from 0 to 49.
ROWS = [(row % 200, "abc"[row % 3], row % 50) for row in range(1000)]
