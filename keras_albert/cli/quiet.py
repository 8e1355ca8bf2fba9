"""Keeps TensorFlow's start-up chatter off the terminal.

Only for the command line: a library must not change what its importers see.
TensorFlow 2.21 writes from C++ straight to file descriptor 2 and no longer
heeds `TF_CPP_MIN_LOG_LEVEL`, so that its lines must be sorted out here.
"""

import contextlib
import os
import re
import sys
import threading
import warnings

CHATTER = re.compile(
    rb"WARNING: All log messages before absl::InitializeLog\(\)"
    rb"|To enable the following instructions: "
    # Information and warnings of C++, and two "errors" of every CPU machine.
    rb"|[IW]\d{4} [\d:.]+ +\d+ \S+\.cc:\d+\]"
    rb"|E\d{4} [\d:.]+ +\d+ (cuda_platform\.cc:\d+\] failed call to cuInit"
    rb"|util\.cc:\d+\] oneDNN supports)"
)


@contextlib.contextmanager
def hushed():
    """Filters what C++ writes to stderr; Python's own stays untouched.

    `sys.stderr` gets the real stream under another descriptor, so that
    progress bars still find a terminal.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")
    warnings.filterwarnings("ignore", module=r"keras\.|tqdm\.")
    sys.stderr.flush()
    real = os.dup(2)
    reading, writing = os.pipe()
    os.dup2(writing, 2)
    os.close(writing)
    thread = threading.Thread(target=_pass_on, args=(reading, real))
    thread.daemon = True
    thread.start()
    python_stderr = sys.stderr
    sys.stderr = open(real, "w", buffering=1, closefd=False)  # noqa: SIM115
    try:
        yield
    finally:
        sys.stderr.flush()
        sys.stderr = python_stderr
        # The pipe ends when its last writer, descriptor 2, is closed; a child
        # that still runs may hold it open, hence the limit.
        os.dup2(real, 2)
        thread.join(timeout=1)


def _pass_on(reading, real):
    with os.fdopen(reading, "rb") as lines:
        for line in lines:
            if not CHATTER.match(line):
                os.write(real, line)
