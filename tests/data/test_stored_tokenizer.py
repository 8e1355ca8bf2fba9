import pytest

from keras_albert.data.stored_tokenizer import StoredTokenizer
from keras_albert.tokenizers.loading import load_tokenizer
from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer
from tests.data.small_corpora import write_vocabulary


@pytest.fixture
def vocabulary(tmp_path):
    return write_vocabulary(tmp_path / "vocab.txt")


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "prepared"
    folder.mkdir()
    return folder


def test_a_file_is_copied(vocabulary, folder):
    stored = StoredTokenizer(str(vocabulary))

    name = stored.write(folder)

    assert name == "tokenizer/vocab.txt"
    assert (folder / name).read_bytes() == vocabulary.read_bytes()
    assert stored.encoder.encode_batch(["the"]) == [[stored_id(vocabulary)]]


def stored_id(vocabulary):
    return vocabulary.read_text().split("\n").index("the")


def test_a_preset_and_an_object_keep_their_options(
    vocabulary, folder, tmp_path
):
    tokenizer = AlbertWordPieceTokenizer(str(vocabulary), lowercase=False)
    preset = tmp_path / "preset"
    tokenizer.save_to_preset(str(preset))

    for given in (tokenizer, preset):
        stored = StoredTokenizer(given)
        name = stored.write(folder)
        loaded = load_tokenizer(folder / name)

        assert loaded.fingerprint() == tokenizer.fingerprint()
        assert stored.encoder.fingerprint() == tokenizer.fingerprint()
        assert loaded(["The the"])[0][0] == tokenizer.unk_token_id


def test_what_is_no_tokenizer_is_refused(tmp_path):
    with pytest.raises(FileNotFoundError, match="no tokenizer at"):
        StoredTokenizer(tmp_path / "none.model")
    with pytest.raises(TypeError, match="Received: dict"):
        StoredTokenizer({})


def test_a_folder_of_another_library_keeps_its_rules(
    vocabulary, folder, tmp_path
):
    theirs = tmp_path / "theirs"
    theirs.mkdir()
    (theirs / "vocab.txt").write_bytes(vocabulary.read_bytes())
    settings = '{"do_lower_case": false}'
    (theirs / "tokenizer_config.json").write_text(settings)

    stored = StoredTokenizer(theirs)
    name = stored.write(folder)

    assert not stored.encoder.options["lowercase"]
    assert load_tokenizer(folder / name).fingerprint() == (
        stored.encoder.fingerprint()
    )
