"""How pip builds the package (PEP 517), and nothing else is needed for it: cargo makes the library, this packs it as a wheel.

    pip install ./crates/python                                      in the profile `release`
    pip install --config-settings profile=dev ./crates/python        in another one, as `.ci/run` does after its tests

The whole workspace is built, so that what it shares is compiled with one set of features: whoever has built the program in the same profile has nothing heavy to
build any more, and has the program afterwards if not before.
"""

from __future__ import annotations

import base64
import hashlib
import json
import re
import subprocess
import sys
import sysconfig
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

HERE = Path(__file__).resolve().parent
ROOT = HERE.parents[1]
# One for every Python from 3.11 on, on this machine's system.
TAG = f"cp311-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"

Settings = Mapping[str, Any] | None


def build_wheel(wheel_directory: str, config_settings: Settings = None, metadata_directory: str | None = None) -> str:
    """Builds the library and packs it; gives the wheel's name."""
    library = built(str((config_settings or {}).get("profile", "release")))
    files = {f"scumble/{path.name}": path.read_bytes() for path in sorted((HERE / "python/scumble").iterdir()) if path.suffix in (".py", ".pyi", ".typed")}
    files["scumble/py.typed"] = b""
    files["scumble/_native.abi3.so" if sys.platform != "win32" else "scumble/_native.pyd"] = library.read_bytes()
    files.update(about())
    digests = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for path, data in files.items()}
    record = "".join(f"{path},sha256={digests[path]},{len(data)}\n" for path, data in files.items())
    files[f"{folder()}/RECORD"] = f"{record}{folder()}/RECORD,,\n".encode()
    wheel = f"scumble-{version()}-{TAG}.whl"
    # Stored, not deflated: it is installed from here at once.
    with zipfile.ZipFile(Path(wheel_directory) / wheel, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


def prepare_metadata_for_build_wheel(metadata_directory: str, config_settings: Settings = None) -> str:
    """What the wheel will say about itself, without building anything."""
    for path, data in about().items():
        place = Path(metadata_directory) / path
        place.parent.mkdir(exist_ok=True)
        place.write_bytes(data)
    return folder()


def build_sdist(sdist_directory: str, config_settings: Settings = None) -> str:
    """There is none: the package's sources are the whole workspace."""
    sys.exit("install the folder crates/python of the repository itself: the package is built of the whole workspace")


def built(profile: str) -> Path:
    """The library, as cargo says where it is."""
    command = ["cargo", "build", "--workspace", "--profile", profile, "--message-format=json-render-diagnostics"]
    try:
        told = subprocess.run(command, cwd=ROOT, stdout=subprocess.PIPE, text=True, check=True).stdout
    except FileNotFoundError:
        sys.exit("scumble is built with cargo, which is not there: install Rust (https://rustup.rs)")
    except subprocess.CalledProcessError:
        sys.exit("cargo could not build scumble; what it said stands above")
    for line in told.splitlines():
        message = json.loads(line)
        if message.get("reason") == "compiler-artifact" and message["target"]["name"] == "scumble_native":
            return Path(next(path for path in message["filenames"] if not path.endswith((".lib", ".pdb", ".d"))))
    sys.exit("cargo built no scumble_native")


def version() -> str:
    """That of the workspace."""
    found = re.search(r'\[workspace\.package\]\nversion = "([^"]+)"', (ROOT / "Cargo.toml").read_text(encoding="utf-8"))
    if found is None:
        sys.exit("Cargo.toml says no version")
    return found.group(1)


def folder() -> str:
    return f"scumble-{version()}.dist-info"


def about() -> dict[str, bytes]:
    """The wheel's papers, from pyproject.toml."""
    project = tomllib.loads((HERE / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    lines = [
        "Metadata-Version: 2.4", f"Name: {project['name']}", f"Version: {version()}", f"Summary: {project['description']}",
        f"Requires-Python: {project['requires-python']}", f"License-Expression: {project['license']}",
    ]
    lines += [f"Classifier: {classifier}" for classifier in project["classifiers"]]
    for extra, needed in project["optional-dependencies"].items():
        lines += [f"Provides-Extra: {extra}", *(f"Requires-Dist: {one}; extra == '{extra}'" for one in needed)]
    wheel = f"Wheel-Version: 1.0\nGenerator: scumble\nRoot-Is-Purelib: false\nTag: {TAG}\n"
    return {f"{folder()}/METADATA": ("\n".join(lines) + "\n").encode(), f"{folder()}/WHEEL": wheel.encode()}
