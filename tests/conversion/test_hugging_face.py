"""`transformers` on the other side, with every head class it has."""

import json

import numpy as np
import pytest

from keras_albert.conversion.hugging_face import (
    hugging_face_config_to_arguments,
)
from keras_albert.conversion.hugging_face import hugging_face_source
from keras_albert.conversion.hugging_face_names import TASKS
from keras_albert.conversion.hugging_face_writing import write_hugging_face
from keras_albert.conversion.source import load
from tests.checks import to_numpy

torch = pytest.importorskip("torch", reason="needs torch to run their model")
transformers = pytest.importorskip("transformers", reason="the other side")
safetensors = pytest.importorskip("safetensors.torch", reason="their files")

from tests.conversion.their_models import CLASSES  # noqa: E402
from tests.conversion.their_models import GROUPS  # noqa: E402
from tests.conversion.their_models import batch  # noqa: E402
from tests.conversion.their_models import run_theirs  # noqa: E402
from tests.conversion.their_models import save_theirs  # noqa: E402
from tests.conversion.their_models import their_model  # noqa: E402

CASES = [
    *((name, {}) for name in CLASSES if name != "AlbertForPreTraining"),
    ("AlbertForPreTraining", {"hidden_act": "gelu", **GROUPS}),
    ("AlbertForSequenceClassification", {"num_labels": 5, **GROUPS}),
    ("AlbertForPreTraining", {"hidden_act": "relu", "embedding_size": 24}),
]


def close(ours, theirs):
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-5)


def run_ours(converted, inputs):
    """Our outputs under their names, with heads kept aside in NumPy."""
    model = converted.model
    backbone = getattr(model, "backbone", model)
    encoded = to_numpy(backbone(inputs))
    outputs = {"hidden": encoded["sequence_output"]}
    pooled = encoded["pooled_output"]
    task = TASKS[converted.architecture]
    if "pooler" not in converted.report.new_heads:
        outputs["pooler_output"] = pooled
    if task == "pretrainer":
        positions = np.tile(np.arange(11, dtype="int32"), (2, 1))
        heads = to_numpy(model({**inputs, "mask_positions": positions}))
        outputs["prediction_logits"] = outputs["logits"] = heads["masked_lm"]
        outputs["sop_logits"] = heads["sentence_order"]
    if task == "classifier":
        outputs["logits"] = to_numpy(model(inputs))
    for name in ("classifier", "qa_outputs"):
        if f"{name}.weight" in converted.kept:
            per_token = "Choice" not in converted.architecture
            x = encoded["sequence_output"] if per_token else pooled
            x = x @ converted.kept[f"{name}.weight"].T
            outputs["logits"] = x + converted.kept[f"{name}.bias"]
    if converted.architecture == "AlbertForMultipleChoice":
        outputs["logits"] = outputs["logits"].reshape(1, -1)
    if converted.architecture == "AlbertForQuestionAnswering":
        logits = outputs["logits"]
        outputs |= {"start_logits": logits[..., 0]}
        outputs |= {"end_logits": logits[..., 1]}
    outputs["last_hidden_state"] = outputs["hidden"]
    return outputs


@pytest.mark.every_backend
@pytest.mark.parametrize(("name", "overrides"), CASES)
def test_every_class_goes_in_and_out(tmp_path, name, overrides):
    theirs = save_theirs(tmp_path / "theirs", name, **overrides)
    inputs = batch()
    real = inputs["padding_mask"].astype(bool)

    converted = load(hugging_face_source(tmp_path / "theirs"))

    ours, expected = run_ours(converted, inputs), run_theirs(theirs, inputs)
    for output, value in expected.items():
        cut = real if value.shape[:2] == real.shape else slice(None)
        close(ours[output][cut], value[cut])

    (tmp_path / "ours").mkdir()
    assert write_hugging_face(converted, tmp_path / "ours") == name
    before = safetensors.load_file(tmp_path / "theirs/model.safetensors")
    after = safetensors.load_file(tmp_path / "ours/model.safetensors")
    assert set(after) == set(before)
    assert all(torch.equal(after[n], tensor) for n, tensor in before.items())
    again, info = type(theirs).from_pretrained(
        tmp_path / "ours", output_loading_info=True
    )
    assert not any(info.values())
    for output, value in run_theirs(again.eval(), inputs).items():
        # Equal weights; torch's sums depend on where they lie in memory.
        np.testing.assert_allclose(value, expected[output], rtol=0, atol=1e-6)


@pytest.mark.parametrize(
    ("name", "new", "kept"),
    [
        ("AlbertForMaskedLM", ["pooler", "sentence_order"], []),
        ("AlbertForPreTraining", [], []),
        ("AlbertForSequenceClassification", [], []),
        (
            "AlbertForQuestionAnswering",
            ["pooler"],
            ["qa_outputs.bias", "qa_outputs.weight"],
        ),
    ],
)
def test_new_heads_and_heads_kept_aside_are_named(tmp_path, name, new, kept):
    theirs = save_theirs(tmp_path, name)

    report = load(hugging_face_source(tmp_path)).report

    assert report.new_heads == new
    assert list(report.kept) == kept
    read = {*report.loaded, *report.kept, *report.skipped}
    assert read == set(safetensors.load_file(tmp_path / "model.safetensors"))
    assert len(theirs.state_dict()) >= len(read)


def test_new_heads_are_drawn_from_the_seed(tmp_path):
    save_theirs(tmp_path, "AlbertForMaskedLM")

    kernels = [
        load(hugging_face_source(tmp_path), seed=seed).model.backbone.pooler
        for seed in (0, 0, 1)
    ]

    a, b, c = (to_numpy(dense.kernel.value) for dense in kernels)
    np.testing.assert_array_equal(a, b)
    assert np.abs(a - c).max() > 0
    assert 0.01 < a.std() < 0.03
    assert np.abs(a).max() <= 0.04 + 1e-6


def test_labels_and_classifier_dropout_come_along(tmp_path):
    names = ["bad", "so so", "good"]
    save_theirs(
        tmp_path,
        "AlbertForSequenceClassification",
        id2label=dict(enumerate(names)),
        label2id={name: i for i, name in enumerate(names)},
        classifier_dropout_prob=0.25,
        hidden_dropout_prob=0.05,
        attention_probs_dropout_prob=0.15,
    )

    converted = load(hugging_face_source(tmp_path))

    assert converted.model.labels == names
    assert converted.model.dropout == 0.25
    assert converted.model.backbone.hidden_dropout == 0.05
    assert converted.model.backbone.attention_dropout == 0.15
    (tmp_path / "out").mkdir()
    write_hugging_face(converted, tmp_path / "out")
    config = transformers.AlbertConfig.from_pretrained(tmp_path / "out")
    assert config.id2label == dict(enumerate(names))
    assert config.classifier_dropout_prob == 0.25


@pytest.mark.parametrize("rate", ["a", 1.5, True, [0.1]])
def test_a_classifier_dropout_that_is_no_rate_is_refused(tmp_path, rate):
    save_theirs(tmp_path, "AlbertForSequenceClassification")
    file = tmp_path / "config.json"
    config = {**json.loads(file.read_text()), "classifier_dropout_prob": rate}
    file.write_text(json.dumps(config))

    with pytest.raises(ValueError, match="classifier_dropout_prob in .*json"):
        hugging_face_source(tmp_path)


@pytest.mark.parametrize("names", [["a", "b"], {"a": 0}, "a", {"0": ["a"]}])
def test_labels_in_another_form_are_refused(tmp_path, names):
    save_theirs(tmp_path, "AlbertForSequenceClassification")
    file = tmp_path / "config.json"
    config = {**json.loads(file.read_text()), "id2label": names}
    file.write_text(json.dumps(config))

    with pytest.raises(ValueError, match="id2label in .* numbers to names"):
        hugging_face_source(tmp_path)


def test_labels_of_a_head_kept_aside_go_back_with_it(tmp_path):
    names = {0: "O", 1: "B-PER", 2: "I-PER"}
    save_theirs(tmp_path, "AlbertForTokenClassification", id2label=names)

    converted = load(hugging_face_source(tmp_path))
    (tmp_path / "out").mkdir()
    write_hugging_face(converted, tmp_path / "out")

    config = transformers.AlbertConfig.from_pretrained(tmp_path / "out")
    assert config.id2label == names


def test_old_files_load(tmp_path):
    """`pytorch_model.bin` with tied tensors, buffers and older names."""
    theirs = their_model()
    state = dict(theirs.state_dict())
    assert "predictions.decoder.weight" in state
    state["albert.embeddings.position_ids"] = torch.arange(17)[None]
    for name in list(state):
        if "embeddings.LayerNorm" in name:
            old = name.replace("weight", "gamma").replace("bias", "beta")
            state[old] = state.pop(name)
    theirs.config.save_pretrained(tmp_path)
    torch.save(state, tmp_path / "pytorch_model.bin")

    converted = load(hugging_face_source(tmp_path))

    assert converted.report.skipped == {
        "albert.embeddings.position_ids": "a constant, no weight",
        "predictions.decoder.weight": (
            "the same tensor as albert.embeddings.word_embeddings.weight"
        ),
        "predictions.decoder.bias": "the same tensor as predictions.bias",
    }
    assert "albert.embeddings.LayerNorm.gamma" in converted.report.loaded
    inputs = batch()
    converted.architecture = "AlbertForPreTraining"
    close(
        run_ours(converted, inputs)["sop_logits"],
        run_theirs(theirs, inputs)["sop_logits"],
    )


def test_a_pickle_that_runs_code_is_refused(tmp_path):
    class Bomb:
        def __reduce__(self):
            return open, (str(tmp_path / "exploded"), "w")

    their_model().config.save_pretrained(tmp_path)
    torch.save({"w": Bomb()}, tmp_path / "pytorch_model.bin")

    with pytest.raises(ValueError, match="not a file of tensors alone"):
        hugging_face_source(tmp_path)
    assert not (tmp_path / "exploded").exists()


def test_an_untied_output_is_refused(tmp_path):
    theirs = their_model()
    state = {k: v.clone() for k, v in theirs.state_dict().items()}
    state["predictions.decoder.weight"] += 1
    theirs.config.save_pretrained(tmp_path)
    torch.save(state, tmp_path / "pytorch_model.bin")

    with pytest.raises(ValueError, match="does not tie its output"):
        hugging_face_source(tmp_path)


def test_more_groups_than_layers_gives_each_call_its_own(tmp_path):
    overrides = {"num_hidden_groups": 5, "num_hidden_layers": 3}
    theirs = save_theirs(tmp_path, "AlbertModel", **overrides)
    inputs = batch()
    real = inputs["padding_mask"].astype(bool)

    converted = load(hugging_face_source(tmp_path))

    assert converted.model.num_groups == 3
    reasons = set(converted.report.skipped.values())
    assert reasons == {"a group that no layer call uses"}
    ours = to_numpy(converted.model(inputs))["sequence_output"]
    close(ours[real], run_theirs(theirs, inputs)["hidden"][real])


def test_missing_and_left_over_weights_are_named(tmp_path):
    save_theirs(tmp_path)
    file = tmp_path / "model.safetensors"
    state = safetensors.load_file(file)
    del state["albert.encoder.albert_layer_groups.0.albert_layers.0.ffn.bias"]
    state["albert.adapter.weight"] = torch.zeros(2)
    safetensors.save_file(state, file, metadata={"format": "pt"})

    with pytest.raises(ValueError, match="Missing.*ffn.bias.*adapter.weight"):
        load(hugging_face_source(tmp_path))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"hidden_size": None}, "hidden_size.* must be a number"),
        ({"hidden_act": "mish"}, "'mish'"),
        ({"model_type": "bert"}, "describes a 'bert' model"),
        ({"position_embedding_type": "relative_key"}, "'relative_key'"),
        ({"quantization_config": {"bits": 4}}, "quantized"),
    ],
)
def test_what_cannot_be_converted_is_refused_in_a_sentence(change, message):
    config = {**their_model().config.to_dict(), **change}

    with pytest.raises(ValueError, match=message):
        hugging_face_config_to_arguments(config)


def test_a_missing_key_is_named():
    config = their_model().config.to_dict()
    del config["hidden_size"]

    with pytest.raises(ValueError, match="missing.*hidden_size"):
        hugging_face_config_to_arguments(config)


def test_version_2_has_no_dropout_in_the_encoder(tmp_path):
    folder = tmp_path / "albert-base-v2"
    rates = {"hidden_dropout_prob": 0.1, "attention_probs_dropout_prob": 0.1}
    save_theirs(folder, "AlbertForSequenceClassification", **rates)

    converted = load(hugging_face_source(folder))

    backbone = converted.model.backbone
    assert (backbone.hidden_dropout, backbone.attention_dropout) == (0, 0)
    assert converted.model.dropout == 0.1
    assert "version 2" in converted.report.notes[0]
    config = json.loads((folder / "config.json").read_text())
    assert config["hidden_dropout_prob"] == 0.1
