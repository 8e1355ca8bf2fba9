"""Loading finds the kind of a tokenizer, or says what is wrong."""

import json

import pytest

from keras_albert.tokenizers.encoders import load_encoder
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.stored_options import append_options
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer


@pytest.fixture
def save(tmp_path):
    def save(name, content):
        path = tmp_path / name
        data = content.encode() if isinstance(content, str) else content
        path.write_bytes(data)
        return path

    return save


def test_sentence_piece_model_under_any_name(save, tiny_proto):
    tokenizer = load_tokenizer(save("vocabulary", tiny_proto))

    assert type(tokenizer) is AlbertTokenizer
    assert tokenizer.proto == tiny_proto


def test_options_in_the_model_count_and_arguments_win(save, tiny_proto):
    stored = {"lowercase": False, "strip_accents": False}
    path = save("a.model", append_options(tiny_proto, stored))

    tokenizer = load_tokenizer(str(path))
    changed = load_tokenizer(path, lowercase=True, sequence_length=7)

    assert (tokenizer.lowercase, tokenizer.strip_accents) == (False, False)
    assert (changed.lowercase, changed.strip_accents) == (True, False)
    assert changed.sequence_length == 7


def test_word_piece_vocabulary(save, tiny_vocabulary):
    tokenizer = load_tokenizer(save("v", "\n".join(tiny_vocabulary)))

    assert type(tokenizer) is AlbertWordPieceTokenizer
    assert tokenizer.get_vocabulary() == tiny_vocabulary


@pytest.mark.every_backend
def test_preset_folder_without_a_backbone(
    tmp_path, tiny_proto, tiny_vocabulary
):
    english = AlbertTokenizer(tiny_proto, lowercase=False)
    chinese = AlbertWordPieceTokenizer(tiny_vocabulary)
    english.save_to_preset(str(tmp_path / "en"))
    chinese.save_to_preset(str(tmp_path / "zh"))

    found = load_tokenizer(tmp_path / "en")
    changed = load_tokenizer(tmp_path / "zh", special_tokens_in_strings=True)

    assert found.fingerprint() == english.fingerprint()
    assert type(changed) is AlbertWordPieceTokenizer
    assert changed.special_tokens_in_strings


@pytest.mark.parametrize(
    "name, content, message",
    [
        ("a.model", b"", "is empty"),
        ("a.model", b" \n", "is empty"),
        ("a.model", b"\x80\x81\xff", "neither a SentencePiece model nor"),
        ("a.vocab", "<pad>\t0\n\u2581the\t-3.1\n", "such as a.model"),
        ("tokenizer.json", '{"version": "1.0"}', "is a JSON file"),
        ("a.txt", "the\ncat\n", r"lacks the special tokens \[PAD\], \[UNK\]"),
    ],
)
def test_says_what_is_wrong_with_a_file(save, name, content, message):
    with pytest.raises(ValueError, match=message):
        load_tokenizer(save(name, content))


def test_model_cut_short(save, tiny_proto):
    with pytest.raises(ValueError, match="neither a SentencePiece model"):
        load_tokenizer(save("a.model", tiny_proto[:500] + b"\xff\xff"))


def test_a_folder_of_another_library(save, tmp_path, tiny_proto):
    save("spiece.model", tiny_proto)
    save("tokenizer_config.json", '{"do_lower_case": false}')

    tokenizer = load_tokenizer(tmp_path)
    changed = load_tokenizer(tmp_path, lowercase=True)
    encoder = load_encoder(tmp_path)

    assert (tokenizer.proto, tokenizer.lowercase) == (tiny_proto, False)
    assert changed.lowercase
    assert encoder.fingerprint() == tokenizer.fingerprint()


def test_a_folder_with_a_word_list_or_json(save, tmp_path, tiny_vocabulary):
    ids = {piece: i for i, piece in enumerate(tiny_vocabulary)}
    content = {
        "model": {"type": "WordPiece", "vocab": ids},
        "normalizer": {"type": "BertNormalizer", "lowercase": False},
    }
    path = save("tokenizer.json", json.dumps(content))
    from_json = load_tokenizer(tmp_path)
    path.unlink()
    save("vocab.txt", "\n".join(tiny_vocabulary))
    from_list = load_tokenizer(tmp_path)

    for tokenizer in (from_json, from_list):
        assert type(tokenizer) is AlbertWordPieceTokenizer
        assert tokenizer.get_vocabulary() == tiny_vocabulary
    assert (from_json.lowercase, from_list.lowercase) == (False, True)
    assert load_encoder(tmp_path).fingerprint() == from_list.fingerprint()


def test_nothing_there(tmp_path):
    with pytest.raises(FileNotFoundError, match="There is no tokenizer at"):
        load_tokenizer(tmp_path / "missing.model")
    with pytest.raises(ValueError, match="folder .* holds no tokenizer"):
        load_tokenizer(tmp_path)
