"""The WordPiece tokenizer, judged by Google's recorded ids and steps."""

import gzip
import json

import keras
import numpy as np
import pytest
import tensorflow as tf

from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer
from keras_albert.tokenizers.word_piece import graph_word_splitter
from keras_albert.tokenizers.word_piece import read_vocabulary
from keras_albert.tokenizers.word_splitting import split_words
from tests.tokenizers.conftest import hostile_texts
from tests.tokenizers.conftest import telling_characters
from tests.tokenizers.google_tokenizers import encode_chinese
from tests.tokenizers.google_tokenizers import split_chinese
from tests.tokenizers.graph_checks import encode_in_dataset
from tests.tokenizers.graph_checks import operations_of

TYPED = ["[CLS]你好[MASK] An[SEP]", "", " ", "[MASK][MASK]", "[UNK][PAD]"]


@pytest.fixture(scope="module")
def recorded(request):
    folder = request.path.parent.parent / "golden"
    with gzip.open(folder / "tokenizer_zh.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    return [r["text"] for r in rows], [r["ids"] for r in rows]


@pytest.fixture
def chinese_vocabulary(shared_data):
    return shared_data / "tokenizers" / "bert_zh_vocab.txt"


def words_in_graph(texts, **options):
    split = tf.function(
        graph_word_splitter(**options),
        input_signature=[tf.TensorSpec([None], tf.string)],
    )
    rows = split(tf.constant([t.encode() for t in texts])).to_list()
    return [[word.decode() for word in row] for row in rows]


@pytest.mark.every_backend
def test_recorded_ids_when_eager(chinese_vocabulary, recorded):
    texts, ids = recorded

    assert AlbertWordPieceTokenizer(chinese_vocabulary)(texts) == ids


@pytest.mark.every_backend
def test_recorded_ids_in_a_dataset(chinese_vocabulary, recorded):
    texts, ids = recorded
    tokenizer = AlbertWordPieceTokenizer(chinese_vocabulary)

    assert encode_in_dataset(tokenizer, texts) == ids


def test_recorded_ids_in_a_reloaded_graph(
    chinese_vocabulary, recorded, reload_in_graph
):
    texts, ids = recorded

    encode = reload_in_graph(AlbertWordPieceTokenizer(chinese_vocabulary))

    assert encode(texts) == ids
    assert encode([]) == []


def test_servers_know_all_operations(tiny_vocabulary, operations_of_servers):
    tokenizer = AlbertWordPieceTokenizer(
        tiny_vocabulary, special_tokens_in_strings=True
    )

    assert operations_of(tokenizer) - operations_of_servers == set()


def test_words_around_telling_characters():
    texts = [f"a{c}b" for c in telling_characters()]
    expected = [split_chinese(text) for text in texts]

    assert [split_words(text) for text in texts] == expected
    assert words_in_graph(texts) == expected


def test_words_of_hostile_texts():
    texts = hostile_texts(20_000, seed=5)
    expected = [split_chinese(text) for text in texts]

    assert [split_words(text) for text in texts] == expected
    assert words_in_graph(texts) == expected


@pytest.mark.parametrize(
    "option, expected",
    [
        ("lowercase", ["Es", ",", "你", "好", "Σ"]),
        ("strip_accents", ["és", ",", "你", "好", "σ"]),
        ("split_on_cjk", ["es", ",", "你好", "σ"]),
    ],
)
def test_each_option_turns_off_one_step(option, expected):
    text, off = "És, 你好 Σ", {option: False}

    assert split_words(text, **off) == expected
    assert words_in_graph([text], **off) == [expected]


def test_hostile_texts_with_the_chinese_vocabulary(chinese_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(chinese_vocabulary)
    pieces = read_vocabulary(chinese_vocabulary)
    texts = hostile_texts(300, seed=6)
    expected = [encode_chinese(pieces, text) for text in texts]

    assert tokenizer.encode_batch(texts) == expected
    assert tokenizer.tokenize_graph(texts).to_list() == expected


def test_long_words(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer([*tiny_vocabulary, "##x"])
    texts = ["x" * 200, "x" * 201, "an" + "na" * 99, "an" + "na" * 100]
    unknown = [tokenizer.unk_token_id]

    expected = tokenizer.encode_batch(texts)

    assert [len(row) for row in expected] == [200, 1, 100, 1]
    assert expected[1] == expected[3] == unknown
    assert tokenizer.tokenize_graph(texts).to_list() == expected


def test_words_out_of_the_vocabulary(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary)

    pieces = AlbertWordPieceTokenizer(tiny_vocabulary, dtype="string")

    assert pieces(["Anna cafés anx 坏"]) == [
        ["an", "##na", "cafe", "##s", "[UNK]", "[UNK]"]
    ]
    assert tokenizer(["anx"]) == [[tokenizer.unk_token_id]]


def test_special_tokens_typed_in_a_text_are_text(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary, lowercase=False)

    ids = {i for row in tokenizer(TYPED) for i in row}

    special = set(tokenizer.special_token_ids) - {tokenizer.unk_token_id}
    assert ids.isdisjoint(special)


def test_special_tokens_typed_in_a_text_count_when_asked(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(
        tiny_vocabulary, special_tokens_in_strings=True
    )
    ni, hao, an = (tokenizer.token_to_id(p) for p in ("你", "好", "an"))
    expected = [[3, ni, hao, 5, an, 4], [], [], [5, 5], [2, 0]]

    assert tokenizer(TYPED) == expected
    assert tokenizer.tokenize_graph(TYPED).to_list() == expected


def test_special_ids(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary)

    names = ["pad", "unk", "cls", "sep", "mask", "start", "end"]
    ids = [getattr(tokenizer, f"{name}_token_id") for name in names]

    assert ids == [0, 2, 3, 4, 5, 3, 4]
    assert tokenizer.special_token_ids.tolist() == [0, 1, 2, 3, 4, 5]
    size = len(tiny_vocabulary)
    assert tokenizer.replacement_ids.tolist() == list(range(6, size))


def test_word_starts(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary)

    inside = [
        piece
        for piece, start in zip(
            tiny_vocabulary, tokenizer.word_starts, strict=True
        )
        if not start
    ]

    assert inside == ["##na", "##s"]


@pytest.mark.every_backend
def test_shapes_of_what_comes_back(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary)
    padded = AlbertWordPieceTokenizer(tiny_vocabulary, sequence_length=3)
    row = tokenizer(["你好"])[0]

    assert np.array_equal(tokenizer("你好"), row)
    assert np.array_equal(padded(["你好", "世界世界"])[0], [*row, 0])
    assert padded(["你好", ""]).shape == (2, 3)
    assert encode_in_dataset(padded, ["你好"]) == [[*row, 0]]


def test_detokenize(tiny_vocabulary):
    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary)

    assert tokenizer.detokenize(tokenizer(["Anna 你好"])) == ["anna 你 好"]


@pytest.mark.every_backend
@pytest.mark.parametrize(
    "option",
    [
        "lowercase",
        "strip_accents",
        "split_on_cjk",
        "special_tokens_in_strings",
    ],
)
def test_every_option_survives_and_counts(tiny_vocabulary, option, tmp_path):
    default = AlbertWordPieceTokenizer(tiny_vocabulary)
    changed = AlbertWordPieceTokenizer(
        tiny_vocabulary, **{option: not default.get_config()[option]}
    )
    changed.save_to_preset(str(tmp_path))
    config = json.loads((tmp_path / "tokenizer.json").read_text())

    restored = keras.saving.deserialize_keras_object(config)
    restored.load_preset_assets(str(tmp_path))

    assert restored.get_config() == changed.get_config()
    assert restored.fingerprint() == changed.fingerprint()
    assert restored.fingerprint() != default.fingerprint()


@pytest.mark.every_backend
def test_preset_round_trip(tiny_vocabulary, tmp_path):
    from keras_hub.tokenizers import Tokenizer

    from keras_albert.models import AlbertBackbone

    tokenizer = AlbertWordPieceTokenizer(tiny_vocabulary)
    backbone = AlbertBackbone(len(tiny_vocabulary), 1, 1, 2, 4, 6)
    backbone.save_to_preset(str(tmp_path))
    tokenizer.save_to_preset(str(tmp_path))

    found = Tokenizer.from_preset(str(tmp_path))

    assert type(found) is AlbertWordPieceTokenizer
    assert found.fingerprint() == tokenizer.fingerprint()


def test_vocabulary_file(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes("[PAD]\r\nthe\tx\n\n\u2028\n好\n\n".encode())

    assert read_vocabulary(path) == ["[PAD]", "the", " ", " ", "好"]


def test_piece_listed_twice(tiny_vocabulary):
    with pytest.raises(ValueError, match="'an' twice, as number 13 and 19"):
        AlbertWordPieceTokenizer([*tiny_vocabulary, "an"])


def test_names_all_missing_special_tokens(tiny_vocabulary):
    pieces = [p for p in tiny_vocabulary if p not in ("[CLS]", "[MASK]")]

    with pytest.raises(ValueError, match=r"lacks .*\[CLS\], \[MASK\]"):
        AlbertWordPieceTokenizer(pieces)


def test_file_that_is_not_utf8(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_bytes(b"\xff\xfe")

    with pytest.raises(ValueError, match="not UTF-8"):
        AlbertWordPieceTokenizer(path)


def test_without_a_vocabulary():
    with pytest.raises(ValueError, match="No vocabulary"):
        AlbertWordPieceTokenizer()(["a"])
