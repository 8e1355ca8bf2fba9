"""The rules of the code base that a reader should be able to rely on."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parent.parent
PACKAGE = ROOT / "keras_albert"
MODULES = sorted(PACKAGE.rglob("*.py"))
CODE = [path for path in MODULES if path.name != "__init__.py"]

# A module imports from its own folder and from folders of lower rank.
RANKS = {
    "layers": 0,
    "tokenizers": 0,
    "models": 1,
    "data": 1,
    "training": 2,
    "compression": 2,
    "conversion": 2,
    "export": 2,
    "serving": 3,
    "cli": 4,
}

# Inside `serving/`: what both ends agree on knows of neither end.
SERVING_PREFIX = "keras_albert.serving."
SERVING_RANKS = {"protocol": 0, "client": 1, "server": 1, "bundle": 2}

# The whole module is about TensorFlow; everywhere else it is imported inside
# the functions that need it.
TENSORFLOW_MODULES = {
    "keras_albert/data/corpus_batches.py",
    "keras_albert/data/data_service.py",
    "keras_albert/data/example_batches.py",
    "keras_albert/data/google_records.py",
    "keras_albert/data/graph_random.py",
    "keras_albert/data/graph_segments.py",
    "keras_albert/data/masking.py",
    "keras_albert/data/pair_layout.py",
    "keras_albert/data/pretraining.py",
    "keras_albert/data/shard_reading.py",
    "keras_albert/export/length_groups.py",
    "keras_albert/export/served_encoder.py",
    "keras_albert/export/served_heads.py",
    "keras_albert/export/served_layers.py",
    "keras_albert/export/served_model.py",
    "keras_albert/export/served_signatures.py",
    "keras_albert/export/served_texts.py",
    "keras_albert/export/token_model.py",
    "keras_albert/training/tensorflow_distribution.py",
    "keras_albert/serving/server/models/loaded_model.py",
    "keras_albert/serving/server/models/warm_up.py",
}

# Folders that import Keras alone.
KERAS_ONLY = {"layers"}

# What Keras has no word for: a kernel or compiler of one backend, imported
# where it runs.
KERNELS = {
    "keras_albert/layers/one_pass.py": {"tensorflow"},
    "keras_albert/layers/tpu_attention.py": {"jax"},
}


def name_of(path):
    return path.relative_to(ROOT).as_posix()


def folder_of(path):
    """The sub-package of a module, or '' for the package's own files."""
    parts = path.relative_to(PACKAGE).parts
    return parts[0] if len(parts) > 1 else ""


def imported_names(tree, module_level_only=False):
    """Dotted names of all imports in a syntax tree."""
    nodes = module_level(tree) if module_level_only else ast.walk(tree)
    for node in nodes:
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, "imports are absolute"
            yield node.module
            yield from (f"{node.module}.{a.name}" for a in node.names)


def module_level(node):
    """Nodes that run on import: all but the bodies of functions."""
    for child in ast.iter_child_nodes(node):
        function = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
        if not isinstance(child, function):
            yield child
            yield from module_level(child)


def tree_of(path):
    return ast.parse(path.read_text(encoding="utf-8"))


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_imports_point_to_lower_ranks(path):
    folder = folder_of(path)
    names = [
        name.split(".")
        for name in imported_names(tree_of(path))
        if name.startswith("keras_albert.")
    ]
    others = {parts[1] for parts in names if parts[1] in RANKS} - {folder}
    wrong = {o for o in others if RANKS[o] >= RANKS[folder]}
    assert not wrong, f"{folder}/ may not import {wrong}"


@pytest.mark.parametrize(
    "path", [p for p in CODE if folder_of(p) == "serving"], ids=name_of
)
def test_imports_in_serving_point_to_lower_ranks(path):
    part = path.relative_to(PACKAGE).parts[1]
    names = imported_names(tree_of(path))
    others = {n.split(".")[2] for n in names if n.startswith(SERVING_PREFIX)}
    wrong = {
        o for o in others - {part} if SERVING_RANKS[o] >= SERVING_RANKS[part]
    }
    assert not wrong, f"serving/{part}/ may not import {wrong}"


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_every_folder_has_a_rank(path):
    assert folder_of(path) in RANKS


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_tensorflow_is_imported_where_it_is_needed(path):
    names = imported_names(tree_of(path), module_level_only=True)
    imports = {name.split(".")[0] for name in names}
    expected = name_of(path) in TENSORFLOW_MODULES
    found = bool(imports & {"tensorflow", "tensorflow_text"})
    assert found == expected, (
        "list the module in TENSORFLOW_MODULES, or import TensorFlow inside "
        "the function that needs it"
    )


@pytest.mark.parametrize(
    "path", [p for p in CODE if folder_of(p) in KERAS_ONLY], ids=name_of
)
def test_layers_import_keras_alone(path):
    tree, more = tree_of(path), KERNELS.get(name_of(path), set())
    libraries = {name.split(".")[0] for name in imported_names(tree)}
    libraries -= sys.stdlib_module_names
    assert libraries <= {"keras", "keras_albert"} | more
    at_import = imported_names(tree, module_level_only=True)
    assert not more & {name.split(".")[0] for name in at_import}


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_nothing_pickles(path):
    source = path.read_text(encoding="utf-8")
    imports = {name.split(".")[0] for name in imported_names(tree_of(path))}
    assert not imports & {"pickle", "dill", "joblib", "marshal", "shelve"}
    assert "allow_pickle=True" not in source


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_randomness_is_never_global(path):
    source = path.read_text(encoding="utf-8")
    found = re.findall(
        r"random\.set_seed|\brandom\.seed\(|set_random_seed|manual_seed",
        source,
    )
    assert not found, f"pass a seed instead of {found}"


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_names_say_what_is_inside(path):
    assert path.stem not in {"utils", "helpers", "misc", "common", "tools"}


@pytest.mark.parametrize("path", CODE, ids=name_of)
def test_every_module_has_its_test_file(path):
    mirrored = path.relative_to(PACKAGE).with_name(f"test_{path.name}")
    assert (ROOT / "tests" / mirrored).is_file()


@pytest.mark.parametrize("path", MODULES, ids=name_of)
def test_every_module_says_what_it_is(path):
    assert ast.get_docstring(tree_of(path))


def test_every_folder_of_the_package_is_installed():
    """`pip install` finds a folder by its `__init__.py`."""
    folders = {path.parent for path in MODULES}
    assert all((folder / "__init__.py").is_file() for folder in folders)


def test_folders_of_the_repository():
    files = tracked_files()
    tops = {name.split("/")[0] for name in files}
    visible = {name for name in tops if not name.startswith(".")}
    assert visible == {
        "LICENSE",
        "README.md",
        "keras_albert",
        "notebooks",
        "pyproject.toml",
        "tests",
    }


def test_no_file_names_a_place_on_one_machine():
    # Written in two parts, or this file would name them itself.
    places = [f"/{name}/" for name in ("work", "root", "home")]
    texts = {
        name: (ROOT / name).read_bytes()
        for name in tracked_files()
        if not name.startswith("tests/golden/") and (ROOT / name).is_file()
    }
    found = [
        (name, place)
        for name, text in texts.items()
        for place in places
        if place.encode() in text
    ]
    assert not found


def tracked_files():
    """Names of the files in git; without git the tests cannot know them."""
    if not (ROOT / ".git").exists():
        pytest.skip("the list of files comes from git, and this is no clone")
    listing = subprocess.run(
        ["git", "ls-files"],
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return listing.stdout.splitlines()
