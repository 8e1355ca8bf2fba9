"""Tiny vocabularies, hostile texts, and a graph that is saved and reloaded."""

import io
import random
import sys
import unicodedata

import pytest
import sentencepiece

# What tends to go wrong: forms of sigma, dotted I, ligatures, combining marks
# in an odd order, Hangul, characters newer or older than some Unicode table.
HOSTILE = [
    *"ΣΣΣςσİıßﬁǅÅÉé각한が½²™ª·'’.:^`´¨ \t\u3000\u2028\u00a0",
    *"aAbZ09,中文。豈€£$()[]<>\u0301\u0323\u0345\u302e\u00ad\u200d\ufeff",
    *"\x00\x1c\x85\ufffd\u0130\U00010570\U0001f600\u2c2f",
    "[MASK]",
    "[CLS]",
    "<pad>",
    "3,",
    "1,000,",
    "hello",
]


def hostile_texts(count, seed=7):
    generator = random.Random(seed)

    def character():
        if generator.random() < 0.85:
            return generator.choice(HOSTILE)
        code = generator.randrange(sys.maxunicode - 0x800)
        return chr(code if code < 0xD800 else code + 0x800)

    return [
        "".join(character() for _ in range(generator.randrange(14)))
        for _ in range(count)
    ]


def every_character():
    return [
        chr(code)
        for code in range(sys.maxunicode + 1)
        if not 0xD800 <= code < 0xE000
    ]


def telling_characters():
    """Every character but most of the letters that have no case.

    Those are many and behave alike: one in 97 is here, and those where blocks
    of Chinese begin and end.
    """
    edges = (0x4DC0, 0x9FFF, 0xA000, 0xAC00, 0xD7A3, 0xFAFF, 0x2A6DF)
    return [
        c
        for c in every_character()
        if unicodedata.category(c) not in ("Lo", "Co", "Cn")
        or ord(c) % 97 == 0
        or ord(c) in edges
    ]


@pytest.fixture(scope="session")
def tiny_proto():
    """A SentencePiece model of about 120 pieces in ALBERT's layout."""
    generator = random.Random(0)
    words = [
        "the",
        "cat",
        "sat",
        "on",
        "a",
        "mat",
        "and",
        "saw",
        "ten",
        "birds",
        "fly",
        "over",
    ]
    lines = [
        " ".join(generator.choices(words, k=6))
        + f" {generator.randrange(9)},{generator.choice([100, 200])},"
        f" in {generator.randrange(90)}, cases."
        for _ in range(400)
    ]
    writer = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(lines),
        model_writer=writer,
        vocab_size=120,
        hard_vocab_limit=False,
        pad_id=0,
        unk_id=1,
        bos_id=-1,
        eos_id=-1,
        control_symbols=["[CLS]", "[SEP]", "[MASK]"],
        user_defined_symbols=["(", ")", '"', "-", ".", "–", "£", "€"],
        minloglevel=2,
    )
    return writer.getvalue()


@pytest.fixture
def tiny_vocabulary():
    specials = ["[PAD]", "[unused1]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    return [
        *specials,
        *"你好世界。,!",
        "an",
        "##na",
        "cafe",
        "##s",
        "##世",
        "x",
    ]


@pytest.fixture
def reload_in_graph(tmp_path):
    """Saves a tokenizer in a SavedModel; returns it reloaded, as a function."""
    import tensorflow as tf

    class Exported(tf.Module):
        def __init__(self, tokenizer):
            self.tokenizer = tokenizer

        @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
        def encode(self, text):
            tokens = self.tokenizer.tokenize_graph(text)
            return tokens.flat_values, tokens.row_splits

    def reload(tokenizer):
        tf.saved_model.save(Exported(tokenizer), str(tmp_path / "saved"))
        loaded = tf.saved_model.load(str(tmp_path / "saved"))

        def encode(texts):
            rows = tf.RaggedTensor.from_row_splits(
                *loaded.encode(tf.constant(texts, tf.string))
            )
            return rows.to_list()

        return encode

    return reload


@pytest.fixture
def operations_of_servers(shared_data):
    """Names of the operations in the oldest server that we export for."""
    folder = shared_data.parent / "reference" / "tf_serving_ops"
    if not folder.is_dir():
        pytest.skip(f"needs the lists of operations in {folder}")
    files = ["core_ops_2.18.1.txt", "tftext_ops_v2.12.1.txt"]
    return {
        line.split()[0]
        for name in files
        for line in (folder / name).read_text().splitlines()
        if line.strip()
    }
