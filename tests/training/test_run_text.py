import pytest

from keras_albert.training.run_data import BatchSettings
from keras_albert.training.run_text import TextSources
from keras_albert.training.run_text import split_documents


def test_a_tokenizer_may_be_a_path(tokenizer, documents, tmp_path):
    tokenizer.save_to_preset(str(tmp_path))
    sources = TextSources(documents, str(tmp_path), held_out_share=0.1)

    sources.open([], BatchSettings("sop", 0, 1))
    sources.read()
    data = sources.load()

    assert sources.describe()["tokenizer"] == tokenizer.fingerprint()
    assert data.num_train_documents == len(documents) - 2
    assert data.token_counts.sum() == data.num_train_tokens


def test_held_out_documents_are_never_trained_on():
    documents = [[f"document {i}"] for i in range(50)]

    train, held_out = split_documents(documents, 0.1, seed=5)

    assert len(held_out) == 5
    assert not {d[0] for d in train} & {d[0] for d in held_out}
    assert len(train) + len(held_out) == 50
    assert split_documents(documents, 0.1, seed=5)[1] == held_out
    assert split_documents(documents, 0.1, seed=6)[1] != held_out


@pytest.mark.parametrize("share", [0.001, 0.999])
def test_one_document_is_always_held_out_and_one_is_left(share):
    train, held_out = split_documents([["a"], ["b"]], share, seed=0)

    assert len(train) == len(held_out) == 1
