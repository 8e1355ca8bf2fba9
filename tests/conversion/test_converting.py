"""Whole conversions, from a folder to a folder, with the real libraries."""

import json
import shutil

import keras
import keras_hub
import numpy as np
import pytest

import keras_albert
from keras_albert.conversion import convert
from keras_albert.conversion import converting
from keras_albert.models import AlbertPretrainer
from tests.checks import to_numpy
from tests.conversion.checkpoints import read_checkpoint
from tests.conversion.test_archives import make_tar
from tests.conversion.test_opening import tf_hub  # noqa: F401
from tests.models.tiny_models import tiny_backbone
from tests.tokenizers.conftest import tiny_proto  # noqa: F401

transformers = pytest.importorskip("transformers", reason="the other side")
safetensors = pytest.importorskip("safetensors.torch", reason="their files")
torch = pytest.importorskip("torch", reason="runs their models")

from tests.conversion.their_models import save_theirs  # noqa: E402


@pytest.fixture
def google(golden):
    return golden / "google_tf1" / "tiny_all"


@pytest.mark.every_backend
def test_around_all_formats_and_back_to_the_same_numbers(golden, tmp_path):
    google = golden / "google_tf1" / "tiny_groups"
    steps = [
        (google, "one", "preset"),
        (tmp_path / "one", "two", "hugging_face"),
        (tmp_path / "two", "three", "preset"),
        (tmp_path / "three", "four", "google"),
    ]
    for source, name, to in steps:
        report = convert(source, tmp_path / name, to=to)
        assert report.max_difference < 1e-5
        assert set(report.check) == {
            "masked_lm",
            "pooled_output",
            "sentence_order",
            "sequence_output",
        }
        assert (report.new, report.skipped, report.kept) == ([], {}, {})

    before, after = read_checkpoint(google), read_checkpoint(tmp_path / "four")
    assert set(before) == set(after)
    for variable, value in before.items():
        np.testing.assert_array_equal(after[variable], value)


@pytest.mark.every_backend
def test_pretraining_goes_on_from_the_sources_loss(google, tmp_path):
    convert(google, tmp_path / "preset")
    pretrainer = AlbertPretrainer.from_preset(str(tmp_path / "preset"))
    reference = dict(np.load(google / "reference.npz"))
    names = ("token_ids", "segment_ids", "padding_mask", "mask_positions")
    inputs = {name: reference[name] for name in names}
    targets = {
        "masked_lm": reference["mask_ids"],
        "sentence_order": reference["sentence_order_labels"][:, 0],
    }
    weights = {
        "masked_lm": reference["mask_weights"],
        "sentence_order": np.ones(len(inputs["token_ids"]), "float32"),
    }
    before = [np.copy(to_numpy(v.value)) for v in pretrainer.trainable_weights]

    # JAX compiles a step faster than its operations one by one.
    pretrainer.compile(run_eagerly=keras.backend.backend() != "jax")
    history = pretrainer.fit(
        inputs,
        targets,
        sample_weight=weights,
        batch_size=len(inputs["token_ids"]),
        epochs=1,
        verbose=0,
    ).history

    # Google adds 1e-5 to the denominator.
    for name, theirs in (("masked_lm", "mlm"), ("sentence_order", "sop")):
        assert history[f"{name}_loss"][0] == pytest.approx(
            float(reference[f"{theirs}_loss"]), rel=2e-5
        )
    after = [to_numpy(v.value) for v in pretrainer.trainable_weights]
    moved = [np.abs(a - b).max() for a, b in zip(after, before, strict=True)]
    assert min(moved) > 0


# A bare encoder, both heads, one of them, and a head kept aside; what differs
# between the other classes is tested where they are read and written.
@pytest.mark.parametrize(
    "name",
    [
        "AlbertModel",
        "AlbertForPreTraining",
        "AlbertForMaskedLM",
        "AlbertForQuestionAnswering",
    ],
)
def test_a_preset_goes_back_to_the_class_it_came_from(tmp_path, name):
    save_theirs(tmp_path / "theirs", name)

    report = convert(tmp_path / "theirs", tmp_path / "ours")
    convert(tmp_path / "ours", tmp_path / "back", to="hugging_face")

    assert "Compared: transformers with" in report.notes[-1]
    assert report.max_difference < 1e-5
    before = safetensors.load_file(tmp_path / "theirs/model.safetensors")
    after = safetensors.load_file(tmp_path / "back/model.safetensors")
    assert set(before) == set(after)
    assert all(torch.equal(after[n], tensor) for n, tensor in before.items())
    config = json.loads((tmp_path / "back/config.json").read_text())
    assert config["architectures"] == [name]


def test_keras_hub_both_ways(google, tmp_path):
    convert(google, tmp_path / "ours")
    report = convert(tmp_path / "ours", tmp_path / "theirs", to="keras_hub")
    assert report.max_difference < 2e-6
    (epsilon,) = (n for n in report.notes if "epsilon of 1e-12 here" in n)
    assert "of 1e-05 and no other there" in epsilon
    assert "keras-hub has no sentence_order head: left out." in report.notes
    keras_hub.models.AlbertMaskedLM.from_preset(
        str(tmp_path / "theirs"), preprocessor=None
    )
    report = convert(tmp_path / "theirs", tmp_path / "again")
    assert report.new_heads == ["sentence_order"]
    assert "keras-hub with" in report.notes[-1]


def test_a_hub_module_and_an_archive(tf_hub, google, tmp_path):  # noqa: F811
    report = convert(tf_hub, tmp_path / "one")
    assert "NumPy, from the file" in report.notes[-1]

    files = {f"albert/{p.name}": p.read_bytes() for p in google.iterdir()}
    archive = make_tar(tmp_path / "albert.tar.gz", files)
    report = convert(archive, tmp_path / "two")
    assert report.max_difference < 1e-5


def test_the_vocabulary_travels_through_all_formats(
    tmp_path,
    tiny_proto,  # noqa: F811
):
    tokenizer = keras_albert.AlbertTokenizer(tiny_proto, lowercase=False)
    size = tokenizer.vocabulary_size()
    model = keras_albert.AlbertTextClassifier(
        tiny_backbone(vocabulary_size=size),
        labels=["bad", "good"],
        preprocessor=keras_albert.AlbertTextClassifierPreprocessor(
            tokenizer, sequence_length=9
        ),
    )
    model.save_to_preset(str(tmp_path / "ours"))

    for to in ("hugging_face", "google"):
        report = convert(tmp_path / "ours", tmp_path / to, to=to)
        assert any("Tokenizer: the same ids" in n for n in report.notes)
        again = keras_albert.load_model(tmp_path / to)
        found = again.preprocessor.tokenizer
        texts = ["The Cat sat on 9,100 birds", "the cat"]
        assert found.encode_batch(texts) == tokenizer.encode_batch(texts)
        np.testing.assert_allclose(
            again.predict(texts, verbose=0),
            model.predict(texts, verbose=0),
            rtol=0,
            atol=1e-6,
        )
    assert keras_albert.load_model(tmp_path / "hugging_face").labels == [
        "bad",
        "good",
    ]


def test_a_tokenizer_can_be_given(google, tmp_path, tiny_proto):  # noqa: F811
    file = tmp_path / "v.model"
    file.write_bytes(tiny_proto)
    size = keras_albert.AlbertTokenizer(tiny_proto).vocabulary_size()

    if size > 97:
        with pytest.raises(ValueError, match=f"{size} pieces, the model 97"):
            convert(google, tmp_path / "out", tokenizer=file)
    assert not (tmp_path / "out").exists()


def test_another_answer_is_refused_and_nothing_kept(
    google, tmp_path, monkeypatch
):
    """A source whose weights the outcome does not have."""
    honest = converting.load

    def wrong(source, **options):
        converted = honest(source, **options)
        bias = converted.model.backbone.pooler.bias
        bias.assign(bias.value + 0.01)
        return converted

    monkeypatch.setattr(converting, "load", wrong)

    with pytest.raises(ValueError, match="pooled_output differs by|differs"):
        convert(google, tmp_path / "out")
    assert list(tmp_path.iterdir()) == []
    assert convert(google, tmp_path / "out", tolerance=0.1).max_difference > 0


def test_the_destination_is_kept_unless_told(google, tmp_path):
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("x")

    with pytest.raises(FileExistsError, match="--overwrite"):
        convert(google, tmp_path / "out")
    with pytest.raises(FileNotFoundError):
        convert(tmp_path / "nowhere", tmp_path / "out", overwrite=True)
    assert (tmp_path / "out" / "mine").exists()
    convert(google, tmp_path / "out", overwrite=True)
    assert not (tmp_path / "out" / "mine").exists()


def test_an_unknown_format_is_refused_before_work(google, tmp_path):
    with pytest.raises(ValueError, match="`to` must be one of preset"):
        convert(google, tmp_path / "out", to="onnx")


@pytest.mark.parametrize("part", ["model.safetensors", "config.json"])
def test_a_folder_cut_off_is_refused_and_nothing_kept(tmp_path, part):
    folder = tmp_path / "theirs"
    save_theirs(folder)
    content = (folder / part).read_bytes()
    (folder / part).write_bytes(content[: len(content) // 2])

    with pytest.raises(ValueError, match="damaged or cut off"):
        convert(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    "change, message",
    [
        ({"num_hidden_groups": 0}, "num_hidden_groups .* at least 1.*: 0"),
        ({"num_hidden_groups": -1}, "num_hidden_groups .* at least 1.*: -1"),
        ({"num_attention_heads": 0}, "num_attention_heads .* at least 1"),
        ({"num_attention_heads": 2.5}, "num_attention_heads .* whole number"),
        ({"hidden_act": ["gelu"]}, r"Unknown activation \['gelu'\]"),
        ({"num_hidden_groups": 2}, "Missing in the checkpoint: .*groups.1"),
        ({"vocab_size": 30}, r"word_embeddings.weight does not fit"),
        ({"num_attention_heads": 5}, "5"),
        ({"pad_token_id": "x"}, "transformers refuses .*pad_token_id"),
    ],
)
def test_a_configuration_of_another_model_is_explained(
    tmp_path, change, message
):
    folder = tmp_path / "theirs"
    save_theirs(folder)
    file = folder / "config.json"
    file.write_text(json.dumps({**json.loads(file.read_text()), **change}))

    with pytest.raises(ValueError, match=message):
        convert(folder, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_the_source_is_not_replaced_with_all_around_it(google, tmp_path):
    """What takes the destination's place would take the source away."""
    source = tmp_path / "models" / "theirs"
    shutil.copytree(google, source)

    for path in (source, source / "model.ckpt"):
        with pytest.raises(ValueError, match="holds the source"):
            convert(path, tmp_path / "models", overwrite=True)
    assert source.is_dir()
    convert(source, source, overwrite=True)
    assert (source / "model.weights.h5").is_file()


def test_a_wrong_vocabulary_is_refused(tmp_path, shared_data):
    save_theirs(tmp_path / "theirs")
    shutil.copyfile(
        shared_data / "tokenizers/bert_zh_vocab.txt",
        tmp_path / "theirs" / "vocab.txt",
    )

    with pytest.raises(ValueError, match="21128 pieces, the model 31 rows"):
        convert(tmp_path / "theirs", tmp_path / "out")
