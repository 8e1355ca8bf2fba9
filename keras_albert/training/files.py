"""Files that are either whole or not there.

A run can be killed at any moment, so that nothing is ever written in place:
first under a temporary name in the same folder, then renamed.
"""

import contextlib
import os
import shutil
import uuid
from pathlib import Path


@contextlib.contextmanager
def replace_atomically(path):
    """Yields a temporary path; renames it to `path` when the block succeeds.

    The temporary name keeps every suffix of `path`, since writers choose their
    format by it. A folder replaces an older folder of that name.
    """
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".writing-{uuid.uuid4().hex[:8]}-{path.name}")
    try:
        yield temporary
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        os.replace(temporary, path)
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        else:
            temporary.unlink(missing_ok=True)


def write_atomically(path, text):
    """Writes a UTF-8 text file."""
    with replace_atomically(path) as temporary:
        temporary.write_text(text, encoding="utf-8")
