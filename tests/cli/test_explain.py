import pytest

VOCABULARY = [
    *("[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"),
    *("the", "cat", "sat", "dog", "ran", "##s", "."),
]
TEXT = "the cats sat .\nthe dog ran .\n\nthe dogs sat .\nthe cat ran .\n"


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    """Text, its vocabulary, and both prepared."""
    from keras_albert.data import prepare_corpus

    folder = tmp_path_factory.mktemp("explain")
    vocabulary, text = folder / "vocab.txt", folder / "text.txt"
    vocabulary.write_text("\n".join(VOCABULARY))
    text.write_text(TEXT)
    prepare_corpus(text, vocabulary, folder / "data", sequence_length=16)
    return folder


def test_an_example_of_prepared_data_is_shown(run_command, files):
    result = run_command("explain", "--data", files / "data", "--index", 1)

    assert result.exit_code == 0, result.output
    assert "Example 1 in epoch 0 of seed 0" in result.output
    assert "sentence order" in result.output or "label" in result.output
    assert "What was written" in result.output
    assert "places of padding" in result.output


def test_an_example_of_text_is_shown(run_command, files):
    def lines(*more):
        result = run_command(
            *("explain", "--corpus", files / "text.txt"),
            *("--tokenizer", files / "vocab.txt", "--sequence-length", 16),
            *more,
        )
        assert result.exit_code == 0, result.output
        return result.output.splitlines()[1:]

    assert any("cat" in line for line in lines())
    assert lines() == lines()
    assert lines() != lines("--epoch", 1)
    assert lines() != lines("--seed", 5)


def test_a_number_beyond_the_data_is_one_line(run_command, files):
    result = run_command("explain", "--data", files / "data", "--index", 99)

    assert result.exit_code == 1
    assert "index=99" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [(), ("--data", "a", "--corpus", "b"), ("--corpus", "a.txt")],
)
def test_wrong_usage_is_code_2(run_command, arguments):
    assert run_command("explain", *arguments).exit_code == 2
