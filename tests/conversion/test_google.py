"""Google's own numbers, layer by layer, from Google's own checkpoints."""

import functools
import json
import shutil

import keras
import numpy as np
import pytest
from keras import ops

from keras_albert.conversion import load_google_checkpoint
from keras_albert.conversion.google import google_config_to_arguments
from keras_albert.conversion.google import google_source
from keras_albert.conversion.google_writing import write_google
from keras_albert.conversion.source import load as load_source
from tests.checks import to_numpy
from tests.conversion.checkpoints import read_checkpoint
from tests.conversion.checkpoints import rewritten

NAMES = ["tiny_all", "tiny_groups", "tiny_relu"]
INPUTS = ["token_ids", "segment_ids", "padding_mask", "mask_positions"]


def load(golden, name):
    folder = golden / "google_tf1" / name
    reference = dict(np.load(folder / "reference.npz"))
    inputs = {key: reference[key] for key in INPUTS}
    return loaded(folder), inputs, reference


# Made once for the tests that only ask them.
loaded = functools.cache(load_google_checkpoint)


@pytest.mark.every_backend
@pytest.mark.parametrize("name", NAMES)
def test_every_layer_equals_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)

    layers = to_numpy(pretrainer.backbone.layer_outputs(inputs))

    np.testing.assert_allclose(
        np.stack(layers), reference["all_layers"], rtol=0, atol=1e-5
    )


@pytest.mark.every_backend
@pytest.mark.parametrize("name", NAMES)
def test_backbone_outputs_equal_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)
    del inputs["mask_positions"]

    outputs = to_numpy(pretrainer.backbone(inputs))

    for key in ("sequence_output", "pooled_output"):
        np.testing.assert_allclose(
            outputs[key], reference[key], rtol=0, atol=1e-5
        )


@pytest.mark.every_backend
@pytest.mark.parametrize("name", NAMES)
def test_both_heads_equal_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)

    outputs = pretrainer(inputs)

    for key, theirs in [
        ("masked_lm", "mlm_log_probs"),
        ("sentence_order", "sop_log_probs"),
    ]:
        ours = to_numpy(ops.log_softmax(outputs[key], axis=-1))
        np.testing.assert_allclose(
            ours.reshape(reference[theirs].shape),
            reference[theirs],
            rtol=0,
            atol=1e-5,
        )


@pytest.mark.every_backend
@pytest.mark.parametrize("name", NAMES)
def test_losses_equal_googles(golden, name):
    pretrainer, inputs, reference = load(golden, name)
    # Only JAX compiles a step faster than it runs one.
    pretrainer.compile(run_eagerly=keras.backend.backend() != "jax")

    losses = pretrainer.evaluate(
        inputs,
        {
            "masked_lm": reference["mask_ids"],
            "sentence_order": reference["sentence_order_labels"][:, 0],
        },
        sample_weight={
            "masked_lm": reference["mask_weights"],
            "sentence_order": np.ones(len(inputs["token_ids"]), "float32"),
        },
        batch_size=len(inputs["token_ids"]),
        verbose=0,
        return_dict=True,
    )

    # Google adds 1e-5 to the denominator.
    assert losses["masked_lm_loss"] == pytest.approx(
        float(reference["mlm_loss"]), rel=2e-5
    )
    assert losses["sentence_order_loss"] == pytest.approx(
        float(reference["sop_loss"]), rel=2e-5
    )


def test_a_configuration_of_another_model_is_refused(golden, tmp_path):
    folder = shutil.copytree(golden / "google_tf1" / "tiny_all", tmp_path / "m")
    file = folder / "albert_config.json"
    config = json.loads(file.read_text())
    file.write_text(json.dumps({**config, "num_hidden_groups": 5}))

    with pytest.raises(ValueError, match="Missing.*group_1/inner_group_0"):
        load_google_checkpoint(folder)


CONFIG = {
    "vocab_size": 9,
    "embedding_size": 4,
    "hidden_size": 8,
    "num_hidden_layers": 2,
    "num_attention_heads": 2,
    "intermediate_size": 16,
}


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hiden_size": 8}, "hiden_size"),
        ({"hidden_act": "mish"}, "'mish'"),
        ({"ln_type": "preln"}, "normalises before each block"),
        ({"num_hidden_layers": 22, "num_hidden_groups": 22}, "not divided"),
    ],
)
def test_what_cannot_be_converted_is_named(tmp_path, change, message):
    file = tmp_path / "albert_config.json"
    file.write_text(json.dumps({**CONFIG, **change}))

    with pytest.raises(ValueError, match=message):
        google_source(tmp_path / "model.ckpt", file)


def test_gelu_is_the_tanh_form_and_relu_is_kept():
    arguments = google_config_to_arguments({**CONFIG, "hidden_act": "gelu"})
    assert arguments["activation"] == "gelu_tanh"
    arguments = google_config_to_arguments({**CONFIG, "hidden_act": "relu"})
    assert arguments["activation"] == "relu"


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match="albert_config.json"):
        load_google_checkpoint(tmp_path)


def opened(folder):
    return google_source(folder / "model.ckpt", folder / "albert_config.json")


@pytest.mark.every_backend
@pytest.mark.parametrize("name", NAMES)
def test_in_and_out_and_in_again_is_the_identity(golden, tmp_path, name):
    original = golden / "google_tf1" / name
    converted = load_source(opened(original))

    write_google(converted, tmp_path)

    before, after = read_checkpoint(original), read_checkpoint(tmp_path)
    assert set(before) == set(after)
    for variable, value in before.items():
        np.testing.assert_array_equal(after[variable], value)
    again = load_source(opened(tmp_path))
    assert again.report.loaded == converted.report.loaded
    for a, b in zip(again.model.weights, converted.model.weights, strict=True):
        np.testing.assert_array_equal(to_numpy(a.value), to_numpy(b.value))
    assert (
        again.model.backbone.get_config()["activation"]
        == converted.model.backbone.activation
    )


def with_adam(arrays):
    slots = {
        f"{name}/{slot}": np.ones_like(value)
        for name, value in arrays.items()
        for slot in ("adam_m", "adam_v")
    }
    return {**arrays, **slots, "global_step": np.int64(7)}


def in_another_scope(arrays):
    return {
        "module/" + name.replace("bert/", "albert/"): value
        for name, value in arrays.items()
    }


def spelled_by_keras(arrays):
    """Numbered over the whole graph, as tf.keras does."""
    order = [
        "bert/embeddings",
        *(
            f"bert/encoder/transformer/group_{g}/inner_group_{i}"
            for g in range(3)
            for i in range(2)
        ),
        "cls/predictions/transform",
    ]
    number, names = 0, {}
    for scope in order:
        for norm in ("LayerNorm", "LayerNorm_1"):
            if f"{scope}/{norm}/gamma" in arrays:
                suffix = f"_{number}" if number else ""
                names[f"{scope}/{norm}"] = f"{scope}/layer_normalization" + (
                    suffix
                )
                number += 1
    renamed = {}
    for name, value in arrays.items():
        scope, _, leaf = name.rpartition("/")
        renamed[f"{names.get(scope, scope)}/{leaf}"] = value
    assert any("layer_normalization_11/" in name for name in renamed)
    return renamed


def without_heads(arrays):
    return {k: v for k, v in arrays.items() if k.startswith("bert/")}


@pytest.mark.parametrize(
    "change", [with_adam, in_another_scope, spelled_by_keras, without_heads]
)
def test_other_spellings_give_the_same_model(golden, tmp_path, change):
    original = golden / "google_tf1" / "tiny_groups"
    folder = rewritten(original, tmp_path / "changed", change)

    ours, again = load_source(opened(original)), load_source(opened(folder))

    inputs = dict(np.load(original / "reference.npz"))
    inputs = {key: inputs[key] for key in INPUTS[:3]}
    a, b = (
        to_numpy(getattr(m, "backbone", m)(inputs))
        for m in (ours.model, again.model)
    )
    for key, value in a.items():
        np.testing.assert_array_equal(b[key], value)
    names = {*again.report.loaded, *again.report.skipped}
    assert names == set(read_checkpoint(folder))
    if change is with_adam:
        assert again.report.skipped["global_step"] == (
            "counter of a training run"
        )
        assert (
            again.report.skipped["bert/pooler/dense/bias/adam_m"]
            == "optimizer slot"
        )
    if change is without_heads:
        assert again.model.__class__.__name__ == "AlbertBackbone"


def refused(golden, tmp_path, change):
    original = golden / "google_tf1" / "tiny_all"
    load_source(opened(rewritten(original, tmp_path / "changed", change)))


def test_a_missing_bias_is_an_error(golden, tmp_path):
    name = (
        "bert/encoder/transformer/group_0/inner_group_0/attention_1/self/"
        "key/bias"
    )

    def without(arrays):
        return {k: v for k, v in arrays.items() if k != name}

    with pytest.raises(ValueError, match=f"Missing in the checkpoint: {name}"):
        refused(golden, tmp_path, without)


def test_half_a_head_is_an_error(golden, tmp_path):
    def without(arrays):
        return {
            k: v
            for k, v in arrays.items()
            if k != "cls/seq_relationship/output_bias"
        }

    with pytest.raises(ValueError, match="Missing.*seq_relationship/output_b"):
        refused(golden, tmp_path, without)


@pytest.mark.parametrize(
    "name", ["bert/adapter/kernel", "loss/weights", "somewhere/adam_m"]
)
def test_a_foreign_variable_is_an_error(golden, tmp_path, name):
    def with_foreign(arrays):
        return {**arrays, name: np.ones(3, "float32")}

    with pytest.raises(ValueError, match=f"In the checkpoint alone: {name}"):
        refused(golden, tmp_path, with_foreign)


def test_two_encoders_are_an_error(golden, tmp_path):
    def twice(arrays):
        return {
            f"{tower}/{name}": value
            for name, value in arrays.items()
            for tower in ("query", "document")
        }

    with pytest.raises(ValueError, match="Expected one ALBERT.*document"):
        refused(golden, tmp_path, twice)


def test_norms_of_their_own_per_call_are_refused(golden, tmp_path):
    def unshared(arrays):
        scope = "bert/encoder/transformer/group_0/inner_group_0"
        more = {
            f"{scope}/LayerNorm_{n}/{leaf}": np.ones(24, "float32")
            for n in range(2, 10)
            for leaf in ("gamma", "beta")
        }
        return {**arrays, **more}

    with pytest.raises(ValueError, match="10 normalisations.*cannot be conv"):
        refused(golden, tmp_path, unshared)


def test_a_fine_tuned_classifier_comes_with_its_head(golden, tmp_path):
    generator = np.random.default_rng(0)
    kernel = generator.normal(size=(5, 24)).astype("float32")
    bias = generator.normal(size=5).astype("float32")

    def fine_tuned(arrays):
        return {
            **without_heads(arrays),
            "output_weights": kernel,
            "output_bias": bias,
            "output_bias/adam_m": bias,
        }

    original = golden / "google_tf1" / "tiny_all"
    folder = rewritten(original, tmp_path / "changed", fine_tuned)
    converted = load_source(opened(folder))

    reference = dict(np.load(original / "reference.npz"))
    inputs = {key: reference[key] for key in INPUTS[:3]}
    expected = reference["pooled_output"] @ kernel.T + bias
    np.testing.assert_allclose(
        to_numpy(converted.model(inputs)), expected, rtol=0, atol=1e-5
    )
    (tmp_path / "out").mkdir()
    write_google(converted, tmp_path / "out")
    after = read_checkpoint(tmp_path / "out")
    np.testing.assert_array_equal(after["output_weights"], kernel)


@pytest.mark.parametrize(
    "names",
    [
        ["cls/squad/output_weights", "cls/squad/output_bias"],
        [
            "start_logits/dense/kernel",
            "end_logits/dense_0/kernel",
            "end_logits/LayerNorm/gamma",
            "answer_class/dense_1/kernel",
        ],
    ],
)
def test_a_question_answering_head_is_kept_aside(golden, tmp_path, names):
    head = {n: np.full((2, 24), i, "float32") for i, n in enumerate(names)}

    def fine_tuned(arrays):
        return {**without_heads(arrays), **head}

    original = golden / "google_tf1" / "tiny_all"
    folder = rewritten(original, tmp_path / "changed", fine_tuned)
    converted = load_source(opened(folder))

    assert sorted(converted.report.kept) == sorted(names)
    (tmp_path / "out").mkdir()
    write_google(converted, tmp_path / "out")
    after = read_checkpoint(tmp_path / "out")
    assert set(after) == set(read_checkpoint(folder))
    for name, value in head.items():
        np.testing.assert_array_equal(after[name], value)


def test_a_checkpoint_cut_off_is_refused(golden, tmp_path):
    folder = shutil.copytree(golden / "google_tf1" / "tiny_all", tmp_path / "m")
    data = folder / "model.ckpt.data-00000-of-00001"
    content = data.read_bytes()
    data.chmod(0o644)
    data.write_bytes(content[: len(content) // 2])

    with pytest.raises(ValueError, match="damaged or cut off"):
        load_source(opened(folder))
    data.unlink()
    with pytest.raises(ValueError, match="damaged or cut off"):
        load_source(opened(folder))
