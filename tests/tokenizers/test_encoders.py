"""Encoders: the ids of the tokenizers, without Keras and TensorFlow."""

import multiprocessing
import subprocess
import sys

import pytest

from keras_albert.tokenizers.encoders import encoder_from_config
from keras_albert.tokenizers.encoders import encoder_of
from keras_albert.tokenizers.encoders import load_encoder
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.stored_options import append_options
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer
from tests.tokenizers.conftest import hostile_texts

NAMES = ("pad", "unk", "cls", "sep", "mask")


@pytest.fixture(params=["sentence_piece", "word_piece"])
def file(request, tmp_path, tiny_proto, tiny_vocabulary):
    path = tmp_path / request.param
    if request.param == "sentence_piece":
        path.write_bytes(tiny_proto)
    else:
        path.write_text("\n".join(tiny_vocabulary), encoding="utf-8")
    return path


def assert_same(encoder, tokenizer):
    texts = hostile_texts(300)
    assert encoder.encode_batch(texts) == tokenizer.encode_batch(texts)
    assert encoder.fingerprint() == tokenizer.fingerprint()
    assert encoder.vocabulary_size() == tokenizer.vocabulary_size()
    assert encoder.get_vocabulary() == tokenizer.get_vocabulary()
    assert encoder.special_ids == {
        name: getattr(tokenizer, f"{name}_token_id") for name in NAMES
    }
    assert encoder.mask_token_id == tokenizer.mask_token_id
    for name in ("word_starts", "special_token_ids", "replacement_ids"):
        ours, theirs = getattr(encoder, name), getattr(tokenizer, name)
        assert ours.dtype == theirs.dtype
        assert ours.tolist() == theirs.tolist()


def test_same_as_the_tokenizer_of_the_file(file):
    tokenizer = load_tokenizer(file)

    assert_same(load_encoder(file), tokenizer)
    assert_same(load_encoder(file.read_bytes()), tokenizer)
    assert_same(encoder_of(tokenizer), tokenizer)


def test_same_as_the_tokenizer_with_other_options(file):
    options = {"lowercase": False, "special_tokens_in_strings": True}

    assert_same(load_encoder(file, **options), load_tokenizer(file, **options))


@pytest.mark.every_backend
def test_same_as_the_tokenizer_of_a_preset(file, tmp_path):
    tokenizer = load_tokenizer(file, strip_accents=False, sequence_length=5)
    folder = tmp_path / "preset"
    tokenizer.save_to_preset(str(folder))

    encoder = load_encoder(str(folder))
    changed = load_encoder(folder, lowercase=False)

    assert_same(encoder, tokenizer)
    assert_same(changed, load_tokenizer(folder, lowercase=False))


def test_options_stored_in_the_model_count(tmp_path, tiny_proto):
    path = tmp_path / "a.model"
    path.write_bytes(append_options(tiny_proto, {"lowercase": False}))

    assert not load_encoder(path).options["lowercase"]
    assert_same(load_encoder(path), AlbertTokenizer(path))
    assert load_encoder(path, lowercase=True).options["lowercase"]


def test_an_option_changed_later_counts(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto)
    before = encoder_of(tokenizer).fingerprint()

    tokenizer.lowercase = False

    assert not encoder_of(tokenizer).options["lowercase"]
    assert tokenizer.fingerprint() != before


def test_another_vocabulary_counts(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary)
    assert tokenizer.encode_batch(["anna"]) == [[13, 14]]

    tokenizer.set_vocabulary([*tiny_vocabulary, "anna"])

    assert tokenizer.encode_batch(["anna"]) == [[len(tiny_vocabulary)]]


def test_config_is_plain_and_makes_the_encoder_anew(file):
    encoder = load_encoder(file, lowercase=False)
    config = encoder.config()

    assert {type(value) for value in config.values()} == {str, dict, bytes}
    assert {type(value) for value in config["options"].values()} == {bool}
    assert_same(encoder_from_config(config), encoder)


def test_encoder_travels_to_another_process(file):
    encoder = load_encoder(file)
    texts = ["the cat", "你好 an"]

    with multiprocessing.get_context("spawn").Pool(1) as pool:
        rows = pool.apply(encoder.encode_batch, (texts,))

    assert rows == encoder.encode_batch(texts)


def test_needs_no_keras_and_starts_at_once(file):
    code = f"""
import resource, sys
from keras_albert.tokenizers import load_encoder
load_encoder({str(file)!r}).encode_batch(["the \\u00e9 \\u4f60"])
usage = resource.getrusage(resource.RUSAGE_SELF)
print(usage.ru_utime + usage.ru_stime)
heavy = ("keras", "keras_hub", "tensorflow", "tensorflow_text", "jax", "torch")
print([name for name in heavy if name in sys.modules])
"""
    output = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True
    ).stdout.split("\n")

    assert output[1] == "[]"
    assert float(output[0]) < 1.5, "seconds of processor time"


def test_what_has_no_encoder():
    with pytest.raises(TypeError, match="Received: int"):
        encoder_of(3)


def test_option_that_does_not_exist(file):
    with pytest.raises(ValueError, match="no option upper. Its options are"):
        load_encoder(file, upper=True)


def test_nothing_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no tokenizer at"):
        load_encoder(tmp_path / "missing.model")
    with pytest.raises(ValueError, match="folder .* holds no tokenizer"):
        load_encoder(tmp_path)
    with pytest.raises(ValueError, match="the given bytes is empty"):
        load_encoder(b"")


def test_preset_of_another_library(tmp_path):
    (tmp_path / "tokenizer.json").write_text('{"class_name": "BertTokenizer"}')

    with pytest.raises(ValueError, match="BertTokenizer. Expected one of"):
        load_encoder(tmp_path)
