"""The client against the local server, over both ways."""

import dataclasses
import json
import socket
import subprocess
import sys
import textwrap
import threading
import time

import numpy as np
import pytest

from keras_albert.serving.client.client import Client
from keras_albert.serving.client.retries import RetryPolicy
from keras_albert.serving.protocol.statuses import ServingError
from tests.export.served_answers import answers


@pytest.fixture(params=["rest", "grpc"])
def make(request, server):
    """Function that makes a client of the local server."""
    made = []
    urls = {"rest": server.url, "grpc": f"grpc://{server.grpc}"}

    def make(model="half", **options):
        made.append(Client(urls[request.param], model, **options))
        return made[-1]

    yield make
    for client in made:
        client.close()


def test_strings_in_answers_out(make, models_config):
    texts = [f"the film {'was good ' * i}" for i in range(7)]
    wanted = answers(models_config.parent / "albert" / "1", text=texts)

    found = make("albert", batch_size=3).predict(texts)

    assert found.keys() == {"label", "probabilities"}
    assert found["label"].tolist() == [b.decode() for b in wanted["label"]]
    assert found["probabilities"].dtype == np.float32
    np.testing.assert_allclose(
        found["probabilities"], wanted["probabilities"], atol=1e-5
    )


def test_several_inputs_and_versions(make):
    client = make(version=1)

    found = client.predict(
        {"numbers": [[1, 2], [3, 4]], "negate": [True, False]}, "pairwise"
    )
    assert found["total"].tolist() == [-3, 7]
    assert found["negated"].tolist() == [True, False]
    assert client.predict([1.0])["y"].tolist() == [2.5]
    assert make().predict([1.0])["y"].tolist() == [3.5]
    assert make(label="stable").predict([1.0])["y"].tolist() == [2.5]


def test_bytes_and_long_numbers_are_exact(make):
    found = make().predict(
        {
            "text": [b"\xff\x00", "é"],
            "long": [2**53 + 1, -1],
            "byte": [255, 0],
            "double": [0.1, 1e300],
        },
        "echo",
    )

    assert found["text_bytes"].tolist() == [b"\xff\x00", "é".encode()]
    assert found["text"].tolist()[1] == "é"
    assert found["long"].tolist() == [2**53 + 1, -1]
    assert found["byte"].dtype == np.uint8
    assert found["double"].tolist() == [0.1, 1e300]


def test_no_rows(make):
    found = make("albert").predict([])

    assert found["label"].shape == (0,)
    assert len(found["probabilities"]) == 0


def test_examples(make):
    client = make(batch_size=2)
    examples = [{"text": "ab"}, {"text": b"c"}, {"text": ["d"]}]

    assert client.classify(examples, "classify") == [
        [("ab", 2.0), ("AB", 1.0)],
        [("c", 1.0), ("C", 0.5)],
        [("d", 1.0), ("D", 0.5)],
    ]
    found = client.regress(
        [{"number": 1.5}, {"count": 2}, {"number": [0.5], "count": True}],
        "regress",
    )
    assert found.dtype == np.float32
    assert found.tolist() == [1.5, 2.0, 1.5]
    assert client.regress([], "regress").shape == (0,)


def test_signatures_and_status(make):
    client = make()
    client.wait_until_ready(5)

    info = client.signatures()["pairwise"].inputs["numbers"]
    assert (info.dtype, info.shape) == ("DT_INT32", (-1, 2))
    assert client.signatures()["floats"].inputs["x"].shape is None
    found = {v["version"]: (v["state"], v["error"]) for v in client.status()}
    assert found == {1: ("AVAILABLE", ""), 2: ("AVAILABLE", "")}


@pytest.mark.parametrize(
    "options, inputs, signature, code",
    [
        ({"version": 9}, [1.0], None, "NOT_FOUND"),
        ({"label": "none"}, [1.0], None, "INVALID_ARGUMENT"),
        ({}, ["no number"], "fails", "INVALID_ARGUMENT"),
    ],
)
def test_the_server_s_errors_have_their_codes(
    make, options, inputs, signature, code
):
    with pytest.raises(ServingError) as caught:
        make(**options).predict(inputs, signature)
    assert caught.value.code == code


def test_the_user_s_errors_are_not_sent(make):
    client = make()

    with pytest.raises(ValueError, match="no signature 'none'. It has:.*echo"):
        client.predict([1.0], "none")
    with pytest.raises(ValueError, match="The input x takes float32"):
        client.predict(["a"])


def test_a_deadline_is_kept(make):
    client = make(retry=RetryPolicy(1))
    client.predict([1], "slow")  # so that the signature is known

    with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
        client.predict([60_000], "slow", deadline=0.1)


def test_a_deadline_is_kept_while_another_thread_asks():
    """A server that takes connections and says nothing."""
    with (
        socket.create_server(("127.0.0.1", 0)) as silent,
        Client(f"http://127.0.0.1:{silent.getsockname()[1]}", "m") as client,
    ):
        thread = threading.Thread(
            target=lambda: pytest.raises(
                ServingError, client.predict, [1], deadline=1
            )
        )
        thread.start()
        connection, _ = silent.accept()  # the thread asks
        started = time.monotonic()
        with pytest.raises(ServingError, match="DEADLINE_EXCEEDED"):
            client.predict([1], deadline=0.05)
        waited = time.monotonic() - started
        connection.close()
        silent.close()
        thread.join()

    assert waited < 0.5


def test_many_threads_share_a_client(make):
    client = make(version=1)
    found = {}

    def ask(i):
        found[i] = client.predict([float(i)] * 3)["y"].tolist()

    threads = [threading.Thread(target=ask, args=(i,)) for i in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert found == {i: [i / 2 + 2] * 3 for i in range(16)}


class Failing:
    """A transport that fails with these codes, then answers."""

    def __init__(self, transport, *codes):
        self._transport = transport
        self.codes = list(codes)

    def __getattr__(self, name):
        method = getattr(self._transport, name)

        def call(*arguments):
            if self.codes:
                raise ServingError(self.codes.pop(0), "x")
            return method(*arguments)

        return call


def test_passing_failures_are_not_seen(make):
    client = make(retry=RetryPolicy(4, 0.001), version=1)
    client._transport = Failing(
        client._transport, "UNAVAILABLE", "RESOURCE_EXHAUSTED", "UNAVAILABLE"
    )

    assert client.predict([1.0])["y"].tolist() == [2.5]
    client._transport.codes = ["UNAVAILABLE"] * 4
    with pytest.raises(ServingError, match="try 4"):
        client.predict([1.0])
    client._transport.codes = ["INTERNAL"]
    with pytest.raises(ServingError, match="INTERNAL: x$"):
        client.predict([1.0])


def test_a_signature_that_changed_meanwhile_is_asked_for_again(server):
    """The client knows the outputs of the version before."""
    client = Client(server.url, "half", version=1)
    before = client.signatures()
    before["serving_default"] = dataclasses.replace(
        before["serving_default"], outputs=before["uneven"].outputs
    )
    client._signatures = before

    assert client.predict([1.0])["y"].tolist() == [2.5]
    client.close()


def test_a_model_that_loads_is_waited_for(make):
    client = make(retry=RetryPolicy(first_wait=0.001))
    client._transport = Failing(
        client._transport, "UNAVAILABLE", "NOT_FOUND", "NOT_FOUND"
    )

    client.wait_until_ready(5)
    client._transport.codes = ["NOT_FOUND"] * 10**6
    with pytest.raises(ServingError, match="NOT_FOUND"):
        client.wait_until_ready(0.05)
    client._transport.codes = ["PERMISSION_DENIED"]
    with pytest.raises(ServingError, match="PERMISSION_DENIED"):
        client.wait_until_ready(5)


@pytest.mark.parametrize(
    "options, text",
    [
        ({"url": "localhost:8501"}, "starts with http://"),
        ({"url": "grpc://"}, "starts with http://"),
        ({"version": 1, "label": "a"}, "not both"),
        ({"deadline": 0}, "`deadline` must be greater than 0"),
        ({"batch_size": -1}, "`batch_size`"),
        ({"concurrency": 0}, "`concurrency`"),
    ],
)
def test_arguments_that_cannot_be_used(options, text):
    with pytest.raises(ValueError, match=text):
        Client(**{"url": "http://localhost", "model": "m", **options})


def test_tensorflow_is_not_imported(server):
    code = f"""
        import json, sys
        from keras_albert.serving import Client
        found = {{}}
        for url in ({server.url!r}, "grpc://{server.grpc}"):
            with Client(url, "half", version=1) as client:
                found[url] = client.predict([1.0])["y"].tolist()
            found[url] += sorted(
                {{"tensorflow", "keras", "grpc", "aiohttp"}} & set(sys.modules)
            )
        print(json.dumps(list(found.values())))
    """
    run = subprocess.run(
        [sys.executable, "-c", textwrap.dedent(code)],
        capture_output=True,
        text=True,
    )

    assert run.returncode == 0, run.stderr
    assert json.loads(run.stdout) == [[2.5], [2.5, "grpc"]]
