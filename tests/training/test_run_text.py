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


def test_two_documents_are_held_out_where_one_gives_no_pair(
    tokenizer, documents
):
    """The second segment of a pair may come from another document."""
    sources = TextSources(documents, tokenizer, held_out_share=0.02)

    sources.open([], BatchSettings("nsp", 0, 1))
    sources.read()

    assert sources.load().num_evaluation_documents == 2
    train, held_out = split_documents([["a"]] * 4, 0.999, seed=0, fewest=2)
    assert len(train) == len(held_out) == 2
    with pytest.raises(ValueError, match="at least 4 documents. Received 3"):
        split_documents([["a"]] * 3, 0.02, seed=0, fewest=2)
