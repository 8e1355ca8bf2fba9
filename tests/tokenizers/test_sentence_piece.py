"""The SentencePiece tokenizer, judged by Google's recorded ids and steps."""

import gzip
import json

import keras
import numpy as np
import pytest
import sentencepiece
import tensorflow as tf

from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.sentence_piece_encoder import digit_comma_table
from keras_albert.tokenizers.stored_options import append_options
from tests.tokenizers.conftest import hostile_texts
from tests.tokenizers.google_tokenizers import encode_english
from tests.tokenizers.graph_checks import encode_in_dataset
from tests.tokenizers.graph_checks import operations_of

TYPED = ["[CLS] The cat[MASK] 3, <pad>[SEP]", "", " ", "[MASK][MASK]", "<unk>"]


@pytest.fixture(scope="module")
def recorded(request):
    folder = request.path.parent.parent / "golden"
    with gzip.open(folder / "tokenizer_en.jsonl.gz", "rt") as file:
        rows = [json.loads(line) for line in file]
    return [r["text"] for r in rows], [r["ids"] for r in rows]


@pytest.fixture
def english_model(shared_data):
    return shared_data / "tokenizers" / "albert_en_30k-clean.rebuilt.model"


@pytest.fixture
def processor(tiny_proto):
    return sentencepiece.SentencePieceProcessor(model_proto=tiny_proto)


@pytest.mark.every_backend
def test_recorded_ids_when_eager(english_model, recorded):
    texts, ids = recorded

    assert AlbertTokenizer(english_model)(texts) == ids


@pytest.mark.every_backend
def test_recorded_ids_in_a_dataset(english_model, recorded):
    texts, ids = recorded

    assert encode_in_dataset(AlbertTokenizer(english_model), texts) == ids


@pytest.mark.every_backend
def test_a_seed_set_after_loading_breaks_nothing(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto)
    expected = tokenizer.encode_batch(["the cat sat"])

    keras.utils.set_random_seed(1)

    assert encode_in_dataset(tokenizer, ["the cat sat"]) == expected
    keras.utils.set_random_seed(2)
    graph = tokenizer.tokenize_graph(tf.constant(["the cat sat"]))
    assert graph.to_list() == expected


def test_recorded_ids_in_a_reloaded_graph(
    english_model, recorded, reload_in_graph
):
    texts, ids = recorded

    encode = reload_in_graph(AlbertTokenizer(english_model))

    assert encode(texts) == ids
    assert encode([]) == []


def test_servers_know_all_operations(tiny_proto, operations_of_servers):
    tokenizer = AlbertTokenizer(tiny_proto, special_tokens_in_strings=True)

    assert operations_of(tokenizer) - operations_of_servers == set()


def test_hostile_texts_with_the_english_vocabulary(english_model):
    tokenizer = AlbertTokenizer(english_model)
    processor = sentencepiece.SentencePieceProcessor(
        model_file=str(english_model)
    )
    texts = hostile_texts(3000, seed=3)
    expected = [encode_english(processor, text) for text in texts]

    assert tokenizer.encode_batch(texts) == expected
    assert tokenizer.tokenize_graph(texts).to_list() == expected


def test_splits_of_the_same_score_differ_in_order_alone(english_model):
    tokenizer = AlbertTokenizer(english_model)
    texts = ["(" + "x" * count for count in range(1, 90)]

    python = tokenizer.encode_batch(texts)
    graph = tokenizer.tokenize_graph(texts).to_list()

    assert [sorted(row) for row in graph] == [sorted(row) for row in python]


def test_hostile_texts_with_a_tiny_vocabulary(tiny_proto, processor):
    tokenizer = AlbertTokenizer(tiny_proto)
    texts = hostile_texts(3000, seed=4)
    expected = [encode_english(processor, text) for text in texts]

    assert tokenizer.encode_batch(texts) == expected
    assert tokenizer.tokenize_graph(texts).to_list() == expected


def test_bytes_that_are_not_utf8(tiny_proto, processor):
    tokenizer = AlbertTokenizer(tiny_proto)
    texts = [b"the cat\xff", b"\xf0\x9f", b"a\xed\xa0\x80b"]
    expected = [processor.encode(t.decode("utf-8", "replace")) for t in texts]

    assert tokenizer(texts) == expected
    assert tokenizer.tokenize_graph(texts).to_list() == expected


def test_digit_before_comma_is_split(tiny_proto, processor):
    texts = ["5,100, 7,200, cases", "in 42,"]
    plain = [processor.encode(text) for text in texts]
    assert digit_comma_table(processor), "the model must have such pieces"

    split = AlbertTokenizer(tiny_proto)
    whole = AlbertTokenizer(tiny_proto, split_digit_comma=False)

    assert split(texts) == [encode_english(processor, t) for t in texts]
    assert split(texts) != plain
    assert whole(texts) == plain
    assert whole.tokenize_graph(texts).to_list() == plain


def test_special_tokens_typed_in_a_text_are_text(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto, lowercase=False)

    ids = {i for row in tokenizer(TYPED) for i in row}

    assert ids.isdisjoint(set(tokenizer.special_token_ids) - {1})


def test_special_tokens_typed_in_a_text_count_when_asked(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto, special_tokens_in_strings=True)
    the_cat, three = tokenizer(["the cat", "3,"])
    expected = [[2, *the_cat, 4, *three, 0, 3], [], [], [4, 4], [1]]

    assert tokenizer(TYPED) == expected
    assert tokenizer.tokenize_graph(TYPED).to_list() == expected


def test_special_tokens_that_text_could_produce_are_guarded(tiny_proto):
    # Some published models define [MASK] so that SentencePiece finds it.
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto.FromString(tiny_proto)
    model.pieces[4].type = model.pieces[4].USER_DEFINED
    proto = model.SerializeToString()

    tokenizer = AlbertTokenizer(proto, lowercase=False)

    assert 4 not in tokenizer("a [MASK]")
    assert 4 not in tokenizer.tokenize_graph(["a [MASK]"]).to_list()[0]
    assert tokenizer.proto == proto


def test_special_ids(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto)

    names = ["pad", "unk", "cls", "sep", "mask", "start", "end"]
    ids = [getattr(tokenizer, f"{name}_token_id") for name in names]

    assert ids == [0, 1, 2, 3, 4, 2, 3]
    assert tokenizer.special_token_ids.tolist() == [0, 1, 2, 3, 4]
    assert tokenizer.special_token_ids.dtype == "int32"
    size = tokenizer.vocabulary_size()
    assert tokenizer.replacement_ids.tolist() == list(range(5, size))


def test_word_starts_follow_the_vocabulary(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto)
    starts = tokenizer.word_starts

    assert starts.dtype == "bool"
    assert starts.shape == (tokenizer.vocabulary_size(),)
    assert starts[tokenizer.token_to_id("▁")]
    assert not starts[tokenizer.token_to_id("s")]


@pytest.mark.every_backend
def test_shapes_of_what_comes_back(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto)
    padded = AlbertTokenizer(tiny_proto, sequence_length=4)
    row = tokenizer(["the cat"])[0]
    cut = (tokenizer(["the cat sat on"])[0])[:4]

    assert np.array_equal(tokenizer("the cat"), row)
    assert np.array_equal(padded(["the cat sat on", ""]), [cut, [0, 0, 0, 0]])
    assert tokenizer(np.array(["the cat", "a"])) == tokenizer(["the cat", "a"])
    assert tokenizer([b"the cat", "the cat"]) == [row, row]


@pytest.mark.every_backend
def test_shapes_in_a_dataset(tiny_proto):
    padded = AlbertTokenizer(tiny_proto, sequence_length=4)
    tokenizer = AlbertTokenizer(tiny_proto)
    texts = [["the cat", "a"], ["on", ""]]
    dataset = tf.data.Dataset.from_tensors(texts)
    expected = [[tokenizer([t])[0] for t in row] for row in texts]

    (ragged,) = dataset.map(tokenizer)
    (dense,) = dataset.map(padded)

    assert ragged.to_list() == expected
    assert dense.shape == (2, 2, 4)
    assert dataset.map(padded).element_spec.shape[-1] == 4


def test_pieces_as_strings(tiny_proto, processor):
    tokenizer = AlbertTokenizer(tiny_proto, dtype="string")
    expected = processor.encode("the cat", out_type=str)

    assert tokenizer(["The cat"]) == [expected]
    (row,) = encode_in_dataset(tokenizer, ["The cat"])
    assert [piece.decode() for piece in row] == expected


def test_detokenize(tiny_proto):
    tokenizer = AlbertTokenizer(tiny_proto)

    assert tokenizer.detokenize(tokenizer(["The cat sat"])) == ["the cat sat"]


@pytest.mark.every_backend
@pytest.mark.parametrize(
    "option",
    [
        "lowercase",
        "strip_accents",
        "collapse_whitespace",
        "split_digit_comma",
        "special_tokens_in_strings",
    ],
)
def test_every_option_survives_and_counts(tiny_proto, option, tmp_path):
    default = AlbertTokenizer(tiny_proto)
    changed = AlbertTokenizer(
        tiny_proto, **{option: not default.get_config()[option]}
    )
    changed.save_to_preset(str(tmp_path))
    config = json.loads((tmp_path / "tokenizer.json").read_text())

    restored = keras.saving.deserialize_keras_object(config)
    restored.load_preset_assets(str(tmp_path))

    assert restored.get_config() == changed.get_config()
    assert restored.fingerprint() == changed.fingerprint()
    assert restored.fingerprint() != default.fingerprint()


@pytest.mark.every_backend
def test_preset_round_trip(tiny_proto, tmp_path):
    from keras_hub.tokenizers import Tokenizer

    from keras_albert.models import AlbertBackbone

    tokenizer = AlbertTokenizer(tiny_proto, lowercase=False)
    backbone = AlbertBackbone(tokenizer.vocabulary_size(), 1, 1, 2, 4, 6)
    backbone.save_to_preset(str(tmp_path))
    tokenizer.save_to_preset(str(tmp_path))

    ours = AlbertTokenizer.from_preset(str(tmp_path))
    found = Tokenizer.from_preset(str(tmp_path))

    assert type(found) is AlbertTokenizer
    assert ours.fingerprint() == tokenizer.fingerprint()
    assert found(["The cat"]) == tokenizer(["The cat"])


@keras.saving.register_keras_serializable("tests")
class WithTokenizer(keras.Model):
    def __init__(self, tokenizer, **kwargs):
        super().__init__(**kwargs)
        self.tokenizer = tokenizer
        self.dense = keras.layers.Dense(2)

    def call(self, inputs):
        return self.dense(inputs)

    def get_config(self):
        tokenizer = keras.saving.serialize_keras_object(self.tokenizer)
        return {**super().get_config(), "tokenizer": tokenizer}

    @classmethod
    def from_config(cls, config):
        config["tokenizer"] = keras.saving.deserialize_keras_object(
            config["tokenizer"]
        )
        return cls(**config)


@pytest.mark.every_backend
def test_model_file_carries_the_vocabulary(tiny_proto, tmp_path):
    model = WithTokenizer(AlbertTokenizer(tiny_proto))
    model(np.ones((1, 3)))
    model.save(tmp_path / "model.keras")

    loaded = keras.saving.load_model(tmp_path / "model.keras")

    assert loaded.tokenizer.proto == tiny_proto
    assert loaded.tokenizer(["the cat"]) == model.tokenizer(["the cat"])


def test_without_a_vocabulary():
    tokenizer = AlbertTokenizer()

    with pytest.raises(ValueError, match="No vocabulary"):
        tokenizer(["a"])
    with pytest.raises(ValueError, match="No vocabulary"):
        tokenizer.encode_batch(["a"])
    with pytest.raises(ValueError, match="No vocabulary"):
        _ = tokenizer.special_token_ids


def test_names_all_missing_special_tokens(tiny_proto):
    from sentencepiece import sentencepiece_model_pb2

    model = sentencepiece_model_pb2.ModelProto.FromString(tiny_proto)
    model.pieces[2].piece, model.pieces[4].piece = "<s>", "<m>"

    with pytest.raises(ValueError, match=r"lacks .*\[CLS\], \[MASK\]"):
        AlbertTokenizer(model.SerializeToString())


def test_options_come_from_the_model_unless_given(tiny_proto, tmp_path):
    proto = append_options(tiny_proto, {"lowercase": False})
    path = tmp_path / "a.model"
    path.write_bytes(proto)

    assert not AlbertTokenizer(proto).lowercase
    assert not AlbertTokenizer(str(path)).lowercase
    assert AlbertTokenizer(path, lowercase=True).lowercase
    assert AlbertTokenizer(path).strip_accents
    assert not AlbertTokenizer(tiny_proto, lowercase=False).lowercase


def test_options_come_from_a_model_that_is_set_later(tiny_proto):
    proto = append_options(tiny_proto, {"lowercase": False})
    restored = AlbertTokenizer.from_config(AlbertTokenizer().get_config())
    given = AlbertTokenizer(lowercase=True)

    restored.set_proto(proto)
    given.set_proto(proto)

    assert not restored.lowercase
    assert given.lowercase
    assert restored.get_config()["lowercase"] is False


def test_content_that_is_no_model(tmp_path):
    path = tmp_path / "vocab.txt"
    path.write_text("the\ncat\n")

    with pytest.raises(ValueError, match="no SentencePiece model"):
        AlbertTokenizer(path)
    with pytest.raises(ValueError, match="holds 0 bytes that are no Sentence"):
        AlbertTokenizer(b"")
    with pytest.raises(FileNotFoundError):
        AlbertTokenizer(tmp_path / "missing.model")


def test_elements_that_are_no_strings(tiny_proto):
    with pytest.raises(ValueError, match="Received an element 3 of type int"):
        AlbertTokenizer(tiny_proto)(["a", 3])


def test_python_path_uses_no_tensorflow(tiny_proto, monkeypatch):
    tokenizer = AlbertTokenizer(tiny_proto, special_tokens_in_strings=True)
    expected = tokenizer.encode_batch(["[MASK] the cat é 3,"])
    monkeypatch.setitem(__import__("sys").modules, "tensorflow", None)
    monkeypatch.setitem(__import__("sys").modules, "tensorflow_text", None)
    tokenizer._sentence_piece = None

    assert tokenizer.encode_batch(["[MASK] the cat é 3,"]) == expected
