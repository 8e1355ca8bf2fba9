import pytest

from keras_albert.training.run_folder import check_run_folder
from keras_albert.training.run_folder import claim_run_folder

SETTINGS = {"steps": 10, "corpus": ["a.txt"], "rate": 0.5}


def test_a_new_folder_is_made_and_known_again(tmp_path):
    path = tmp_path / "new" / "run"

    folder = claim_run_folder(path, SETTINGS)

    assert folder.settings.is_file()
    assert claim_run_folder(str(path), dict(SETTINGS)) == folder


def test_an_empty_folder_is_taken(tmp_path):
    assert claim_run_folder(tmp_path, SETTINGS).settings.is_file()


def test_other_settings_are_refused_and_named(tmp_path):
    claim_run_folder(tmp_path, SETTINGS)

    with pytest.raises(FileExistsError, match="steps was 10, is 11"):
        claim_run_folder(tmp_path, {**SETTINGS, "steps": 11})


def test_a_folder_with_something_else_in_it_is_refused(tmp_path):
    (tmp_path / "thesis.tex").touch()

    with pytest.raises(FileExistsError, match="holds other files"):
        claim_run_folder(tmp_path, SETTINGS)

    assert [p.name for p in tmp_path.iterdir()] == ["thesis.tex"]


def test_a_file_is_refused(tmp_path):
    (tmp_path / "out").touch()

    with pytest.raises(FileExistsError, match="is a file"):
        claim_run_folder(tmp_path / "out", SETTINGS)


def test_checking_a_folder_writes_nothing(tmp_path):
    check_run_folder(tmp_path / "run", {"steps": 1})

    assert not (tmp_path / "run").exists()


def test_changed_content_is_named_and_not_its_hash(tmp_path):
    claim_run_folder(tmp_path, {**SETTINGS, "text": ["abc"], "data": None})

    with pytest.raises(FileExistsError, match="the text has changed"):
        claim_run_folder(tmp_path, {**SETTINGS, "text": ["abd"], "data": None})
    with pytest.raises(FileExistsError, match="run: the data has changed"):
        claim_run_folder(tmp_path, {**SETTINGS, "text": ["abc"], "data": ["a"]})


def test_text_is_not_asked_for_before_it_is_read(tmp_path):
    folder = claim_run_folder(tmp_path, {**SETTINGS, "text": ["abc"]})

    assert check_run_folder(tmp_path, SETTINGS, unread=["text"]) == folder
    with pytest.raises(FileExistsError, match="rate was 0.5, is 1"):
        check_run_folder(tmp_path, {**SETTINGS, "rate": 1}, unread=["text"])


@pytest.mark.parametrize("content", ["", '{"steps": 1', "[1]"])
def test_damaged_settings_are_named(tmp_path, content):
    folder = claim_run_folder(tmp_path, SETTINGS)
    folder.settings.write_text(content)

    with pytest.raises(FileExistsError, match=r"run\.json cannot be read"):
        check_run_folder(tmp_path, SETTINGS)


@pytest.mark.parametrize("name", ["checkpoints", "preset", "tensorboard"])
def test_a_file_where_a_folder_belongs_is_named(tmp_path, name):
    claim_run_folder(tmp_path, SETTINGS)
    (tmp_path / name).touch()

    with pytest.raises(FileExistsError, match=f"{name} is a file, and the run"):
        check_run_folder(tmp_path, SETTINGS)


@pytest.mark.parametrize(
    "name",
    ["history.jsonl", "history.csv", "steps.jsonl", "curves.png"],
)
def test_a_folder_where_a_file_belongs_is_named(tmp_path, name):
    claim_run_folder(tmp_path, SETTINGS)
    (tmp_path / name).mkdir()

    with pytest.raises(FileExistsError, match=f"{name} is a folder, and the"):
        check_run_folder(tmp_path, SETTINGS)
