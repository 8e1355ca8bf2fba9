"""What every test shares: the backend, the paths, and which tests run where.

The suite runs once per Keras backend (`KERAS_BACKEND`, TensorFlow when
unset). Tests marked `every_backend` run in each of the three runs; the others
do not depend on the backend and run under TensorFlow alone.
"""

import os
import tempfile

os.environ.setdefault("KERAS_BACKEND", "tensorflow")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
os.environ.setdefault("CUDA_VISIBLE_DEVICES", "")
os.environ.setdefault("MPLBACKEND", "Agg")
# Models here are tiny: compiling them well takes longer than running them.
os.environ.setdefault("XLA_FLAGS", "--xla_backend_optimization_level=0")

from pathlib import Path  # noqa: E402

import pytest  # noqa: E402

TESTS = Path(__file__).parent
SHARED = TESTS.parent.parent / "shared"


def pytest_configure(config):
    # Tests compile the same small programs again and again, and so do the
    # commands they start. The folder is new in each run: a command killed on
    # purpose may leave half a file there.
    folder = tempfile.TemporaryDirectory(prefix="jax_compilation_")
    config.add_cleanup(folder.cleanup)
    os.environ.update(
        JAX_COMPILATION_CACHE_DIR=folder.name,
        JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0",
        JAX_PERSISTENT_CACHE_MIN_ENTRY_SIZE_BYTES="-1",
    )


def pytest_collection_modifyitems(config, items):
    if os.environ["KERAS_BACKEND"] == "tensorflow":
        return
    kept = [i for i in items if i.get_closest_marker("every_backend")]
    dropped = [i for i in items if not i.get_closest_marker("every_backend")]
    config.hook.pytest_deselected(items=dropped)
    items[:] = kept


@pytest.fixture
def golden():
    """Folder of the reference outputs kept in the repository."""
    return TESTS / "golden"


@pytest.fixture
def shared_data():
    """Folder of the real text beside the repository; skips without it."""
    folder = SHARED / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the text data in {folder}, which is not there")
    return folder


@pytest.fixture
def shared_golden():
    """Folder of the large reference files beside the repository."""
    folder = SHARED / "golden"
    if not folder.is_dir():
        pytest.skip(f"needs the reference files in {folder}, not there")
    return folder
