import numpy as np
import pytest

from keras_albert.export import onnx_format
from keras_albert.export.conformance import read_cases
from keras_albert.export.opening import served_task
from keras_albert.export.token_model import TokenModel
from keras_albert.models.backbone import AlbertBackbone
from tests.export.tiny_classifiers import with_random_weights
from tests.export.token_exports import KINDS
from tests.export.token_exports import ask_keras
from tests.export.token_exports import tiny_model

onnx = pytest.importorskip("onnx", reason="the extra `onnx` is missing")
pytest.importorskip("onnxruntime", reason="the extra `onnx` is missing")


@pytest.mark.parametrize("kind", KINDS)
def test_answers_of_a_mixed_batch_are_those_of_keras(token_exports, kind):
    model, _, made = token_exports(kind, "onnx")
    rng = np.random.default_rng(5)
    inputs = {
        "token_ids": rng.integers(5, 20, (4, 13)).astype("int32"),
        "segment_ids": rng.integers(0, 2, (4, 13)).astype("int32"),
        "padding_mask": (np.arange(13) < [[13], [5], [1], [9]]).astype("int32"),
    }
    if kind == "pretrainer":
        inputs["mask_positions"] = np.array([[1, 4, 0]] * 4, "int32")

    found = onnx_format.runner(made.path)(inputs)

    want = ask_keras(model, inputs)
    if kind == "classifier":
        exponents = np.exp(want)
        want = {"probabilities": exponents / exponents.sum(1, keepdims=True)}
    if kind == "regressor":
        want = {"value": want[:, 0]}
    if kind == "backbone":
        want["pooled"] = want.pop("pooled_output")
        # What stands at padding is nobody's.
        mask = inputs["padding_mask"][:, :, None]
        want["sequence_output"] = want["sequence_output"] * mask
        found["sequence_output"] = found["sequence_output"] * mask
    for name, values in want.items():
        np.testing.assert_allclose(found[name], values, rtol=1e-4, atol=1e-4)


def test_sizes_have_names(token_exports):
    made = token_exports("pretrainer", "onnx")[-1]

    graph = onnx.load(made.model_file).graph

    shapes = {
        tensor.name: [
            size.dim_param or size.dim_value
            for size in tensor.type.tensor_type.shape.dim
        ]
        for tensor in (*graph.input, *graph.output)
    }
    assert shapes == {
        "token_ids": ["batch", "length"],
        "segment_ids": ["batch", "length"],
        "padding_mask": ["batch", "length"],
        "mask_positions": ["batch", "masks"],
        "masked_lm": ["batch", "masks", 24],
        "sentence_order": ["batch", 2],
    }


def test_shared_weights_are_stored_once_and_exact_gelu_runs(tmp_path):
    backbone = with_random_weights(
        AlbertBackbone(500, 6, 2, 32, 64, 256, activation="gelu_erf"), 0.1
    )
    _, preprocessor = tiny_model("regressor")
    task = served_task(backbone, preprocessor)
    token_model = TokenModel(task, backbone)

    onnx_format.write(tmp_path, task, token_model, ())

    size = (tmp_path / "model.onnx").stat().st_size
    # Six calls of one layer; the graph itself is some 30 kB.
    assert size < token_model.weight_bytes() + 60_000
    ids = np.array([[2, 7, 3]], "int32")
    inputs = {"token_ids": ids, "segment_ids": ids * 0, "padding_mask": ids}
    inputs["padding_mask"] = np.ones_like(ids)
    found = onnx_format.runner(tmp_path)(inputs)["pooled"]
    want = ask_keras(backbone, inputs)["pooled_output"]
    np.testing.assert_allclose(found, want, atol=1e-5)


def test_the_table_of_words_is_stored_once(token_exports):
    """It embeds, and transposed it scores."""
    model, _, made = token_exports("pretrainer", "onnx")
    table = model.backbone.token_embedding.embeddings.numpy()

    graph = onnx.load(made.model_file).graph

    matrices = [onnx.numpy_helper.to_array(x) for x in graph.initializer]
    twins = [
        x
        for x in matrices
        if x.shape in (table.shape, table.T.shape)
        and (np.array_equal(x, table) or np.array_equal(x.T, table))
    ]
    assert len(twins) == 1


def test_check_finds_another_models_answers(token_exports):
    _, _, made = token_exports("classifier", "onnx")
    cases = read_cases(made.path)
    assert onnx_format.check(made.path, None, cases, ()) < 1e-5

    cases[1].outputs["probabilities"] += 0.01

    with pytest.raises(ValueError, match="ONNX Runtime differs .* by 0.01"):
        onnx_format.check(made.path, None, cases, ())


def test_more_than_a_file_holds_is_refused(tmp_path):
    class Large:
        def weight_bytes(self):
            return 2**31

    with pytest.raises(ValueError, match="2,147,483,648 bytes.*2 GB"):
        onnx_format.write(tmp_path, None, Large(), ())
