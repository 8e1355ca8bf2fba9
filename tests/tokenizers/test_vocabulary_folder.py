"""What is found in the folder of another library."""

import pytest

from keras_albert.tokenizers.vocabulary_folder import find_vocabulary


def test_settings_beside_a_model_file_count(tmp_path, tiny_proto):
    (tmp_path / "anything.model").write_bytes(tiny_proto)
    assert find_vocabulary(tmp_path).options["lowercase"]
    settings = '{"do_lower_case": false, "keep_accents": true}'
    (tmp_path / "tokenizer_config.json").write_text(settings)

    found = find_vocabulary(tmp_path)

    assert found.content == tiny_proto
    assert found.options == {"lowercase": False, "strip_accents": False}


def test_a_word_list_with_its_settings(tmp_path):
    (tmp_path / "vocab.txt").write_text("[PAD]\na\n")
    settings = '{"do_lower_case": false, "tokenize_chinese_chars": false}'
    (tmp_path / "tokenizer_config.json").write_text(settings)

    found = find_vocabulary(tmp_path)

    assert found.content == b"[PAD]\na\n"
    assert found.options == {
        "lowercase": False,
        "strip_accents": False,
        "split_on_cjk": False,
    }


def test_the_readable_list_is_no_vocabulary(tmp_path):
    assert find_vocabulary(tmp_path).content is None
    (tmp_path / "30k-clean.vocab").write_text("<pad>\t0\n")

    found = find_vocabulary(tmp_path)

    assert found.content is None
    assert "30k-clean.vocab is the readable list" in found.notes[0]


def test_several_vocabularies_are_refused(tmp_path):
    for name in ("vocab_a.txt", "vocab_b.txt"):
        (tmp_path / name).write_text("[PAD]\n")

    with pytest.raises(ValueError, match="vocab_a.txt, vocab_b.txt"):
        find_vocabulary(tmp_path)
