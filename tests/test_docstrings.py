"""Every example in a docstring does what it shows."""

import doctest
import importlib
from pathlib import Path

import pytest

PACKAGE = Path(__file__).resolve().parent.parent / "keras_albert"
MODULES = [
    ".".join(path.relative_to(PACKAGE.parent).with_suffix("").parts)
    for path in sorted(PACKAGE.rglob("*.py"))
    if "\n    >>> " in path.read_text(encoding="utf-8")
]


def test_there_are_examples():
    assert len(MODULES) > 10


@pytest.mark.every_backend
@pytest.mark.parametrize("name", MODULES)
def test_examples_of_a_module(name):
    results = doctest.testmod(
        importlib.import_module(name),
        optionflags=doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS,
    )

    assert results.attempted
    assert not results.failed
