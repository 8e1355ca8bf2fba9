"""Importing is instant, lazy, and complete."""

import importlib
import os
import subprocess
import sys
import textwrap

import pytest

import keras_albert

HEAVY = ("keras", "keras_hub", "tensorflow", "tensorflow_text", "jax", "torch")
SUBPACKAGES = [
    name
    for name in keras_albert.__all__
    if importlib.util.find_spec(f"keras_albert.{name}") is not None
]


def run_python(code, **environment):
    """Output of `code` in a fresh interpreter."""
    result = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
    )
    assert result.returncode == 0, result.stderr
    return result.stdout


def test_import_and_listing_load_nothing_heavy():
    output = run_python(
        f"""
        import importlib, sys
        import keras_albert
        names = list(keras_albert.__all__) + dir(keras_albert)
        for name in {SUBPACKAGES}:
            dir(importlib.import_module("keras_albert." + name))
        print(sorted(set({HEAVY}) & set(sys.modules)), len(names) > 20)
        """
    )
    assert output.split("\n")[0] == "[] True"


@pytest.mark.every_backend
def test_every_public_name_resolves():
    missing = [
        name
        for name in keras_albert.__all__
        if getattr(keras_albert, name, None) is None
    ]
    assert not missing


@pytest.mark.every_backend
@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_every_name_of_a_subpackage_resolves(subpackage):
    module = importlib.import_module(f"keras_albert.{subpackage}")
    names = getattr(module, "__all__", [])
    assert all(getattr(module, name) is not None for name in names)


@pytest.mark.parametrize("subpackage", SUBPACKAGES)
def test_top_level_names_are_those_of_their_subpackage(subpackage):
    module = importlib.import_module(f"keras_albert.{subpackage}")
    for name in keras_albert._PUBLIC.get(subpackage, []):
        assert getattr(keras_albert, name) is getattr(module, name)


def test_function_wins_over_the_module_of_its_name():
    """`training.pretrain` is the function, whatever was imported before."""
    for name in ("pretrain", "finetune"):
        importlib.import_module(f"keras_albert.training.{name}")
        assert callable(getattr(keras_albert.training, name))


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_layers_need_keras_alone(backend):
    output = run_python(
        """
        import sys

        class Hiding:
            # A finder for which some packages are not installed.
            def __init__(self, finder):
                self.finder = finder

            def find_spec(self, name, path=None, target=None):
                top = name.partition(".")[0]
                if top in ("tensorflow", "tensorflow_text", "keras_hub"):
                    return None
                return self.finder.find_spec(name, path, target)

        sys.meta_path[:] = map(Hiding, sys.meta_path)

        import keras
        from keras_albert import layers

        encoder = layers.SharedEncoder(
            num_layers=3, num_heads=2, hidden_dim=8, intermediate_dim=11
        )
        output = encoder(keras.ops.ones((2, 5, 8)))
        print(keras.backend.backend(), tuple(output.shape))
        """,
        KERAS_BACKEND=backend,
    )
    assert output.strip() == f"{backend} (2, 5, 8)"
