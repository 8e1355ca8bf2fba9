import pytest

from keras_albert.export.child_process import last_error
from keras_albert.export.child_process import run_python


def test_failure_is_told_in_one_line():
    program = "import os; print('noise'); raise KeyError(os.environ['WHAT'])"

    with pytest.raises(ValueError, match="^It fails: KeyError: 'this'$"):
        run_python(["-c", program], "It fails", WHAT="this")


def test_success_is_silent(capfd, tmp_path):
    program = "import sys; print('noise'); open(sys.argv[1], 'w').close()"

    run_python(["-c", program, str(tmp_path / "made")], "It fails")

    assert (tmp_path / "made").exists()
    assert capfd.readouterr().out == ""


@pytest.mark.parametrize(
    "stderr, line",
    [
        ("noise\nValueError: bad\n", "ValueError: bad"),
        (
            "tensorflow.python.framework.errors_impl.NotFoundError: no op\n"
            "\tdetail\nI0000 shutting down\n",
            "tensorflow.python.framework.errors_impl.NotFoundError: no op",
        ),
        ("killed\n", "killed"),
        ("", "it ended without a message."),
    ],
)
def test_last_error(stderr, line):
    assert last_error(stderr) == line
