"""The judge is `tf.saved_model.load`."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.serving.protocol.statuses import ServingError
from keras_albert.serving.server.calls import predict_call
from keras_albert.serving.server.models.loaded_model import LoadedModel
from keras_albert.serving.server.models.loaded_model import graph_operations
from tests.export.served_answers import answers


@pytest.fixture(scope="module")
def half(models_config):
    model = LoadedModel(models_config.parent / "half" / "1")
    yield model
    model.close()


@pytest.fixture(scope="module")
def albert(models_config):
    model = LoadedModel(models_config.parent / "albert" / "1")
    yield model
    model.close()


def run(model, name, **tensors):
    call = predict_call(model.signature(name), tensors)
    return model.run(call.signature, call.tensors, call.outputs)


def test_answers_are_those_of_tensorflow(albert, models_config):
    texts = ["the film was good", "dull"]
    found = run(albert, "", text=np.array([t.encode() for t in texts], object))
    wanted = answers(models_config.parent / "albert" / "1", text=texts)

    assert found["label"].tolist() == wanted["label"].tolist()
    np.testing.assert_allclose(
        found["probabilities"], wanted["probabilities"], atol=1e-6
    )


def test_signatures_are_read(half):
    signature = half.signature("pairwise")

    assert list(signature.inputs) == ["negate", "numbers"]
    assert signature.inputs["numbers"].shape == (-1, 2)
    assert half.signature("floats").inputs["x"].shape is None
    assert half.signature("") is half.signature("serving_default")
    assert half.signature("none") is None


def test_shapes_are_not_enforced(half):
    """A placeholder of one dimension takes none and two, as in the server."""
    for x in (np.float32(1).reshape(()), np.ones((2, 1), "float32")):
        y = run(half, "", x=x)["y"]
        assert y.shape == x.shape
        assert (y == 2.5).all()


def test_outputs_come_in_the_order_that_was_asked_for(albert):
    text = np.array([b"dull"], object)
    call = predict_call(albert.signature(""), {"text": text})
    names = ["probabilities", "label"]
    before = len(albert._callables)
    for asked in (names, names[::-1]):
        found = albert.run(call.signature, call.tensors, asked)
        assert list(found) == asked
        assert found["label"].tolist() in ([b"good"], [b"bad"])

    # Each is optimized for seconds and kept: one must do for both.
    assert len(albert._callables) <= before + 1


def test_a_signature_that_is_prepared_holds_no_other_up(
    models_config, monkeypatch
):
    model = LoadedModel(models_config.parent / "half" / "1")
    x = np.ones(3, "float32")
    run(model, "scalar", x=x)
    gate, prepare = (
        threading.Event(),
        model._session._make_callable_from_options,
    )

    def slowly(options):
        gate.wait(20)
        return prepare(options)

    monkeypatch.setattr(model._session, "_make_callable_from_options", slowly)
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(run, model, "floats", x=x)
        try:
            total = pool.submit(run, model, "scalar", x=x).result(5)["total"]
            assert not first.done()
        finally:
            gate.set()
        assert first.result()["same"].tolist() == [1, 1, 1]
    model.close()
    assert total == 3


def test_scalars_are_arrays(half):
    total = run(half, "scalar", x=np.ones(3, "float32"))["total"]

    assert isinstance(total, np.ndarray)
    assert total.shape == ()
    assert total == 3


def test_an_operation_s_error_keeps_its_code(half):
    with pytest.raises(ServingError) as caught:
        run(half, "fails", text=np.array([b"x"], object))

    assert caught.value.code == "INVALID_ARGUMENT"
    assert "could not correctly convert string" in caught.value.message


def test_exports_have_no_operation_that_servers_refuse(half, albert):
    assert half.unservable == albert.unservable == []


def test_operations_that_servers_refuse_are_told(tmp_path):
    module = tf.Module()

    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None])])
    def run_compiled(x):
        return {"y": x + 1}

    tf.saved_model.save(module, str(tmp_path / "1"), signatures=run_compiled)
    model = LoadedModel(tmp_path / "1")
    model.close()

    assert model.unservable == ["XlaLaunch"]


def test_a_folder_without_a_model(tmp_path):
    with pytest.raises(ServingError, match="NOT_FOUND.*saved_model.pb"):
        LoadedModel(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"\xff no model")
    with pytest.raises(ServingError, match="DATA_LOSS"):
        LoadedModel(tmp_path)
    (tmp_path / "saved_model.pb").write_bytes(b"")
    with pytest.raises(ServingError, match="holds no graph"):
        LoadedModel(tmp_path)


def test_an_operation_that_nobody_has(tmp_path):
    from tensorflow.core.protobuf import saved_model_pb2

    saved = saved_model_pb2.SavedModel()
    saved.meta_graphs.add().graph_def.node.add(name="n", op="Unheard")
    (tmp_path / "saved_model.pb").write_bytes(saved.SerializeToString())

    assert graph_operations(saved) == {"Unheard"}
    with pytest.raises(ServingError, match="Op type not registered 'Unheard'"):
        LoadedModel(tmp_path)


def test_closing_waits_for_runs(models_config):
    model = LoadedModel(models_config.parent / "half" / "1")
    rounds = np.array([60_000], "int32")
    results = []
    thread = threading.Thread(
        target=lambda: results.append(run(model, "slow", rounds=rounds))
    )
    thread.start()
    while not model._running and thread.is_alive():
        pass
    model.close()

    thread.join()
    assert results[0]["counted"].tolist() == [60_000]
    with pytest.raises(ServingError, match="UNAVAILABLE"):
        run(model, "", x=np.ones(1, "float32"))
