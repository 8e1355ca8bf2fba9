"""The laws of the data, on real English and Chinese text."""

import numpy as np
import pytest

from keras_albert.data import prepare_corpus
from keras_albert.data import pretraining_dataset
from keras_albert.data import read_documents
from keras_albert.data import tokenize_corpus
from keras_albert.tokenizers.loading import load_tokenizer
from tests.data.batch_statistics import measure_batches
from tests.data.batch_statistics import span_length_shares

BATCH, BATCHES, LENGTH = 256, 16, 128
CORPORA = {
    "en_wikipedia": "albert_en_30k-clean.rebuilt.model",
    "zh_wikipedia": "bert_zh_vocab.txt",
}


@pytest.fixture(params=CORPORA)
def prepared(request, shared_data, tmp_path):
    tokenizer = load_tokenizer(
        shared_data / "tokenizers" / CORPORA[request.param]
    )
    text = shared_data / request.param / "valid.txt.gz"
    prepare_corpus(
        text,
        tokenizer,
        tmp_path / "prepared",
        sequence_length=LENGTH,
        workers=0,
    )
    corpus = tokenize_corpus(read_documents(text), tokenizer)
    borders = corpus.sentence_offsets[corpus.document_offsets[1:-1]]
    documents = np.split(corpus.token_ids, borders)
    dataset = pretraining_dataset(
        tmp_path / "prepared", batch_size=BATCH, seed=3
    )
    return dataset, tokenizer, documents


def test_the_laws_hold_on_real_text(prepared):
    dataset, tokenizer, documents = prepared

    found = measure_batches(dataset, BATCHES, tokenizer, documents, 300)

    assert found.masked == pytest.approx(0.149, abs=0.003)
    assert found.hidden == pytest.approx(0.8, abs=0.006)
    assert found.replaced == pytest.approx(0.1, abs=0.005)
    assert found.kept == pytest.approx(0.1, abs=0.005)
    assert found.swapped == pytest.approx(0.5, abs=4 * 0.5 / 4096**0.5)
    assert found.padding < 0.25
    assert found.half_masked_words == 0
    assert found.special_targets == 0
    assert found.examined_pairs == 300
    assert found.strange_pairs == 0
    np.testing.assert_allclose(
        span_length_shares(dataset, 2, tokenizer),
        np.array([6, 3, 2]) / 11,
        atol=0.02,
    )
