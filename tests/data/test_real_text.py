"""Wikipedia text through the whole path; the figures are printed (-s)."""

import dataclasses
import gzip
import itertools

import jieba
import numpy as np
import pytest

from keras_albert.data.corpus import read_documents
from keras_albert.data.pretraining import evaluation_dataset
from keras_albert.data.segment_pairs import plan_segment_pairs
from keras_albert.data.sentences import split_sentences
from keras_albert.data.tokenized_corpus import tokenize_corpus
from keras_albert.tokenizers.sentence_piece import AlbertTokenizer
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer

LENGTH = 128
# Google's create_pretraining_data.py on English Wikipedia, length 128.
GOOGLES = {
    "target share of tokens": 0.1487,
    "targets shown as [MASK]": 0.799,
    "targets kept": 0.100,
    "targets replaced": 0.101,
    "swapped share": 0.5295,
}


@dataclasses.dataclass
class Sample:
    corpus: object
    tokenizer: object
    inputs: dict
    targets: dict
    weights: dict


@pytest.fixture(scope="module")
def data_folder(request):
    folder = request.config.rootpath.parent / "shared" / "data"
    if not folder.is_dir():
        pytest.skip(f"needs the text data in {folder}, which is not there")
    return folder


def sample(corpus, tokenizer):
    dataset = evaluation_dataset(
        corpus, tokenizer, batch_size=64, sequence_length=LENGTH, seed=1
    )
    batches = list(dataset.as_numpy_iterator())
    inputs, targets, weights = (
        {
            name: np.concatenate([batch[part][name] for batch in batches])
            for name in batches[0][part]
        }
        for part in range(3)
    )
    return Sample(corpus, tokenizer, inputs, targets, weights)


@pytest.fixture(scope="module")
def english(data_folder):
    model = data_folder / "tokenizers" / "albert_en_30k-clean.rebuilt.model"
    tokenizer = AlbertTokenizer(str(model))
    documents = read_documents(data_folder / "en_wikipedia" / "valid.txt.gz")
    return sample(tokenize_corpus(documents, tokenizer), tokenizer)


@pytest.fixture(scope="module")
def chinese(data_folder):
    vocabulary = data_folder / "tokenizers" / "bert_zh_vocab.txt"
    tokenizer = AlbertWordPieceTokenizer(str(vocabulary))
    documents = read_documents(data_folder / "zh_wikipedia" / "valid.txt.gz")
    documents = itertools.islice(documents, 40)
    jieba.setLogLevel("ERROR")
    return sample(
        tokenize_corpus(documents, tokenizer, word_segmenter=jieba.cut),
        tokenizer,
    )


@pytest.fixture(params=["english", "chinese"])
def text(request):
    return request.getfixturevalue(request.param)


def shown_at_targets(text):
    positions = text.inputs["mask_positions"]
    shown = np.take_along_axis(text.inputs["token_ids"], positions, axis=1)
    real = text.weights["masked_lm"] > 0
    return shown[real], text.targets["masked_lm"][real]


def test_the_figures_are_those_of_the_paper(text):
    shown, targets = shown_at_targets(text)
    paired = text.weights["sentence_order"] > 0
    has_targets = text.weights["masked_lm"].sum(axis=1) > 0
    num_tokens = text.inputs["padding_mask"][has_targets].sum()
    hidden = shown == text.tokenizer.mask_token_id
    kept = shown == targets
    figures = {
        "target share of tokens": len(targets) / num_tokens,
        "targets shown as [MASK]": hidden.mean(),
        "targets kept": kept.mean(),
        "targets replaced": (~hidden & ~kept).mean(),
        "swapped share": text.targets["sentence_order"][paired].mean(),
    }
    print(f"\n{'':28}ours   Google's\n{paired.sum()} pairs")
    for name, value in figures.items():
        print(f"{name:26}{value:7.4f} {GOOGLES[name]:7.4f}")
    print(text.corpus.summary)

    swap_error = 4 * 0.5 / paired.sum() ** 0.5
    assert figures["target share of tokens"] == pytest.approx(0.15, abs=0.004)
    assert figures["targets shown as [MASK]"] == pytest.approx(0.8, abs=0.02)
    assert figures["targets kept"] == pytest.approx(0.1, abs=0.02)
    assert figures["targets replaced"] == pytest.approx(0.1, abs=0.02)
    assert figures["swapped share"] == pytest.approx(0.5, abs=swap_error)


def test_special_tokens_are_never_targets_nor_replacements(text):
    shown, targets = shown_at_targets(text)

    special = text.tokenizer.special_token_ids
    replaced = (shown != text.tokenizer.mask_token_id) & (shown != targets)
    assert not np.isin(targets, special).any()
    assert not np.isin(shown[replaced], special).any()


def test_words_are_masked_whole(text):
    """A word is judged by the pieces before masking, from segment starts."""
    token_ids = text.inputs["token_ids"].copy()
    is_target = np.zeros(token_ids.shape, "bool")
    row, column = np.nonzero(text.weights["masked_lm"])
    place = text.inputs["mask_positions"][row, column]
    token_ids[row, place] = text.targets["masked_lm"][row, column]
    is_target[row, place] = True
    special = np.isin(token_ids, text.tokenizer.special_token_ids)
    starts = text.tokenizer.word_starts[token_ids] | special
    starts[:, 1:] |= special[:, :-1]
    inside = ~starts

    # With a segmenter, words may be longer than the tokenizer's, not shorter.
    assert (is_target[:, 1:] == is_target[:, :-1])[inside[:, 1:]].all()


def test_chinese_words_are_masked_whole(chinese):
    corpus = chinese.corpus

    num_words = corpus.word_starts.sum()
    assert corpus.num_unaligned_sentences < 0.02 * corpus.num_sentences
    assert 1.3 < corpus.num_tokens / num_words < 2.0


def test_no_text_is_lost_between_files_and_examples(english):
    plan = plan_segment_pairs(
        english.corpus, sequence_length=LENGTH, seed=1, objective="none"
    )

    covered = plan.first_length.sum() + plan.num_trimmed_tokens
    assert covered == english.corpus.num_tokens
    assert plan.num_trimmed_tokens < 0.15 * english.corpus.num_tokens


@pytest.mark.parametrize("language", ["en", "zh"])
def test_sentences_of_wikipedia_are_whole(data_folder, language):
    path = data_folder / f"{language}_wikipedia" / "valid.txt.gz"
    text = gzip.decompress(path.read_bytes()).decode("utf-8")

    sentences = [s for line in text.split("\n") for s in split_sentences(line)]

    assert "".join("".join(sentences).split()) == "".join(text.split())
    lengths = np.array([len(s) for s in sentences])
    assert np.median(lengths) < {"en": 160, "zh": 60}[language]
    assert (lengths < 4).mean() < 0.01
