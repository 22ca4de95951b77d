"""Each test has a folder of its own as the working folder: ledgers are files."""

import pathlib

import pytest


@pytest.fixture(autouse=True)
def folder(tmp_path: pathlib.Path, monkeypatch: pytest.MonkeyPatch) -> pathlib.Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def testdata() -> pathlib.Path:
    return pathlib.Path(__file__).parents[3] / "testdata"
