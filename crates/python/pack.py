"""Makes a wheel of a library that cargo has built already: `python pack.py LIBRARY FOLDER`.

`pip install ./crates/python` and maturin build the package by themselves, and for that compile the engine with the features that it needs alone. Where the whole workspace
has been built, as in `.ci/run`, this takes what is there.
"""

from __future__ import annotations

import base64
import hashlib
import re
import sys
import sysconfig
import zipfile
from pathlib import Path

HERE = Path(__file__).parent


def version() -> str:
    manifest = (HERE.parents[1] / "Cargo.toml").read_text(encoding="utf-8")
    found = re.search(r'\[workspace\.package\]\nversion = "([^"]+)"', manifest)
    if found is None:
        sys.exit("Cargo.toml says no version")
    return found.group(1)


def pack(library: Path, folder: Path) -> Path:
    name = f"scumble-{version()}"
    tag = f"cp310-abi3-{sysconfig.get_platform().replace('-', '_').replace('.', '_')}"
    files = {
        f"scumble/{path.name}": path.read_bytes()
        for path in sorted((HERE / "python/scumble").iterdir())
        if path.suffix in (".py", ".pyi", ".typed") or path.name == "py.typed"
    }
    files["scumble/_native.abi3.so"] = library.read_bytes()
    about = f"Metadata-Version: 2.4\nName: scumble\nVersion: {version()}\nRequires-Python: >=3.10\n"
    files[f"{name}.dist-info/METADATA"] = about.encode()
    files[f"{name}.dist-info/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: pack.py\nRoot-Is-Purelib: false\nTag: {tag}\n".encode()
    digest = {path: base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode() for path, data in files.items()}
    record = "".join(f"{path},sha256={digest[path]},{len(data)}\n" for path, data in files.items())
    files[f"{name}.dist-info/RECORD"] = f"{record}{name}.dist-info/RECORD,,\n".encode()
    folder.mkdir(parents=True, exist_ok=True)
    wheel = folder / f"{name}-{tag}.whl"
    # Stored, not deflated: it is installed from here at once.
    with zipfile.ZipFile(wheel, "w") as archive:
        for path, data in files.items():
            archive.writestr(path, data)
    return wheel


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit("usage: python pack.py LIBRARY FOLDER")
    print(pack(Path(sys.argv[1]), Path(sys.argv[2])))
