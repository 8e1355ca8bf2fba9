"""The Java client is compiled and asks a server, as the Python client does."""

import json
import re
import shlex
import shutil
import socket
import subprocess
import threading
from http.server import BaseHTTPRequestHandler
from http.server import HTTPServer

import pytest

from keras_albert.export.signature_shapes import ServedTask
from keras_albert.serving.bundle.readme import readme
from keras_albert.serving.client.client import Client
from keras_albert.serving.client.java import java_client
from keras_albert.serving.server.models.config import model_in_folder
from tests.serving.running_server import running_server

REVIEWS = [
    "房间很干净，没有空格。",
    "文中文中，中文?",
    'the film was "good" \\ very 😀 indeed!',
    "",
    "dull bad\tbad bad",
    "格空有没，文中 very good",
]
PROBABILITIES = """\
import java.util.List;

class Probabilities {
    public static void main(String[] arguments) {
        var options = new AlbertClient.Options().batchSize(4);
        var client = new AlbertClient(arguments[0], arguments[1], options);
        System.out.println(client.classify(List.of()).size());
        for (var answer : client.classify(List.of(%s))) {
            System.out.println(answer.probabilities());
        }
    }
}
"""
ROW = {"label": "\u4e2d\ud83d\ude00", "probabilities": [0.25, 0.75]}


def java_version():
    """The first number of the compiler's version, or 0 without Java."""
    if not shutil.which("java") or not shutil.which("javac"):
        return 0
    shown = subprocess.run(
        ["javac", "-version"], capture_output=True, text=True
    )
    found = re.search(r"javac (\d+)", shown.stdout + shown.stderr)
    return int(found[1]) if found else 0


@pytest.fixture(scope="module")
def classes(tmp_path_factory):
    """The folder of the compiled client."""
    if java_version() < 17:
        pytest.skip("needs `java` and `javac` 17 or later")
    folder = tmp_path_factory.mktemp("java")
    (folder / "AlbertClient.java").write_text(java_client(), encoding="utf-8")
    texts = ", ".join(map(json.dumps, REVIEWS))
    (folder / "Probabilities.java").write_text(PROBABILITIES % texts)
    shown = subprocess.run(
        ["javac", "-Xlint:all", "-Werror", "--release", "17", "-d", folder]
        + sorted(folder.glob("*.java")),
        capture_output=True,
        text=True,
    )
    assert shown.returncode == 0, shown.stdout + shown.stderr
    return folder


@pytest.fixture(scope="module")
def java(classes):
    """Runs a class with arguments and lines; returns the ended process."""

    def run(*arguments, name="AlbertClient", lines=()):
        # No UTF-8 but the client's own: some machines have another default.
        command = ["java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC"]
        command += ["-Dfile.encoding=ISO-8859-1", "-cp", classes, name]
        return subprocess.run(
            [*command, *arguments],
            input="".join(f"{line}\n" for line in lines),
            capture_output=True,
            encoding="utf-8",
            timeout=60,
        )

    return run


@pytest.fixture(scope="module")
def url(classes, tmp_path_factory):
    """A server with a classifier whose labels are Chinese."""
    from keras_albert.export.saved_model import export_saved_model
    from tests.export.tiny_classifiers import tiny_classifier

    model = tiny_classifier("word_piece", labels=["差评", "好评"])
    folder = tmp_path_factory.mktemp("served") / "reviews"
    export_saved_model(model, folder, verify=False)
    with running_server([model_in_folder(folder)]) as server:
        yield server.url


class Busy(BaseHTTPRequestHandler):
    """Gives the answers of `server.answers`, one after the other."""

    def do_POST(self):
        size = int(self.headers["Content-Length"])
        self.server.asked.append((self.path, json.loads(self.rfile.read(size))))
        status, body = self.server.answers.pop(0)
        body = body.encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *message):
        pass


@pytest.fixture
def busy():
    """A server that gives chosen answers."""
    server = HTTPServer(("127.0.0.1", 0), Busy)
    server.asked, server.answers = [], []
    server.url = f"http://127.0.0.1:{server.server_port}"
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield server
    server.shutdown()
    thread.join()
    server.server_close()


@pytest.fixture(scope="module")
def expected(url):
    """What the Python client is answered."""
    with Client(url, "reviews") as client:
        return client.predict(REVIEWS)


def test_labels_and_probabilities_of_lines(java, url, expected):
    # Two batches; a byte-order mark is no part of the first line.
    lines = ["\ufeff" + REVIEWS[0], *REVIEWS[1:]]
    shown = java(
        *("--url", url, "--model", "reviews", "--batch-size", "4"), lines=lines
    )

    assert (shown.returncode, shown.stderr) == (0, "")
    rows = [line.split("\t") for line in shown.stdout.splitlines()]
    assert [label for label, _ in rows] == list(expected["label"])
    assert set(expected["label"]) == {"差评", "好评"}
    found = [float(probability) for _, probability in rows]
    highest = expected["probabilities"].max(axis=-1)
    assert found == pytest.approx(highest.tolist(), abs=1e-6)


def test_all_probabilities_in_a_program(java, url, expected):
    shown = java(url, "reviews", name="Probabilities")

    none, *rows = map(json.loads, shown.stdout.splitlines())
    assert none == 0
    assert len(rows) == len(REVIEWS)
    for row, want in zip(rows, expected["probabilities"], strict=True):
        assert row == pytest.approx(want.tolist(), abs=1e-6)


def test_the_server_s_message_for_an_unknown_model(java, url):
    shown = java("--url", url, "--model", "unknown", lines=["a"])

    assert shown.returncode == 1
    assert "HTTP 404 from" in shown.stderr
    assert "Servable not found for request" in shown.stderr
    assert shown.stderr.count("\n") == 1


def test_a_busy_server_is_asked_again(java, busy):
    reply = json.dumps({"predictions": [ROW]})  # in escapes, a pair of them
    busy.answers += [(503, "busy"), (429, "{}"), (200, reply)]

    given = ("--url", busy.url, "--model", "a b", "--label", "stable")
    shown = java(*given, lines=['"\\\x01中😀'])

    assert shown.stdout == "中😀\t0.750000\n", shown.stderr
    body = {
        "signature_name": "serving_default",
        "instances": [{"text": '"\\\x01中😀'}],
    }
    path = "/v1/models/a%20b/labels/stable:predict"
    assert busy.asked == [(path, body)] * 3


def test_other_errors_come_at_once(java, busy):
    busy.answers += [(500, '{"error": "broken \\u4e2d"}'), (200, "{}")]

    shown = java("--url", busy.url, "--model", "a", lines=["b"])

    assert shown.returncode == 1
    assert "HTTP 500" in shown.stderr
    assert shown.stderr.endswith(": broken 中\n")
    assert len(busy.asked) == 1


def test_an_answer_of_another_kind_of_model(java, busy):
    busy.answers += [(200, '{"predictions": [{"value": 1.5}]}')]

    shown = java("--url", busy.url, "--model", "a", lines=["b"])

    assert shown.returncode == 1
    assert "is the model a classifier?" in shown.stderr


def test_no_server(java):
    # Nobody listens at port 1.
    given = ("--url", "http://127.0.0.1:1", "--model", "a", "--tries", "2")
    shown = java(*given, lines=["b"])

    assert shown.returncode == 1
    assert "No connection to http://127.0.0.1:1/" in shown.stderr
    assert "(try 2)" in shown.stderr


def test_a_server_that_is_silent(java):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}"
        given = ("--url", url, "--model", "a", "--deadline", "0.5")
        shown = java(*given, lines=["b"])

    assert shown.returncode == 1
    assert "within the deadline of 0.5 seconds" in shown.stderr


def test_help_and_wrong_arguments(java):
    assert "--deadline SECONDS" in java("--help").stdout

    shown = java("--model", "a")
    assert (shown.returncode, shown.stdout) == (2, "")
    assert "--url is missing" in shown.stderr


def test_the_line_of_the_readme(url, classes):
    """As it stands there, from the source, in a folder with `lines.txt`."""
    task = ServedTask("classifier", 8, 16, 11, ("bad", "good"))
    text = readme({"reviews": task.signatures()}, {"reviews": (1, 1)})
    (line,) = re.findall(r"^java Albert.*lines\.txt$", text, re.MULTILINE)
    *command, arrow, file = shlex.split(line)
    assert (arrow, file) == ("<", "lines.txt")

    command[command.index("http://127.0.0.1:8501")] = url
    shown = subprocess.run(
        command, cwd=classes, input=REVIEWS[0].encode(), capture_output=True
    )
    assert shown.stdout.decode().startswith(("差评\t", "好评\t")), shown.stderr


def test_only_classifiers_have_lines():
    regressor = ServedTask("regressor", 8, 16, 11)
    text = readme({"x": regressor.signatures()}, {"x": (1, 1)})

    assert "java" not in text
