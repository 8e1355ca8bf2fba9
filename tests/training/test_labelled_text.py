import gzip

import pytest

from keras_albert.training.labelled_text import LabelledText
from keras_albert.training.labelled_text import as_labelled_text
from keras_albert.training.labelled_text import read_labelled_text


def write(tmp_path, name, text):
    path = tmp_path / name
    data = text.encode() if isinstance(text, str) else text
    path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
    return path


@pytest.mark.parametrize(
    "name, text",
    [
        ("a.tsv", 'label\ttext\n1\ta "fine film\n0\tdull\n'),
        ("a.tsv.gz", 'label\ttext\r\n1\ta "fine film\r\n\r\n0\tdull'),
        ("a.csv", 'text,category\n"a ""fine film",1\ndull,0\n'),
        (
            "a.jsonl",
            '{"text": "a \\"fine film", "label": 1}\n\n'
            '{"text": "dull", "label": 0}',
        ),
        ("a.csv", '\n\ntext,label\n"a ""fine film",1\n\ndull,0\n'),
        ("a.tsv", 'label\ttext\r1\ta "fine film\r0\tdull\r'),
        ("a.tsv", b"\xef\xbb\xbf" + b'label\ttext\n1\ta "fine film\n0\tdull\n'),
    ],
)
def test_tables_of_every_kind(tmp_path, name, text):
    examples = read_labelled_text(write(tmp_path, name, text))

    assert examples.texts == ['a "fine film', "dull"]
    assert examples.labels == ["1", "0"]
    assert not examples.is_pair


def test_a_csv_field_over_two_lines(tmp_path):
    path = write(tmp_path, "a.csv", 'text,label\n"one\ntwo",x\n')

    assert read_labelled_text(path).texts == ["one\ntwo"]


@pytest.mark.parametrize("name", ["a.tsv", "a.csv", "a.jsonl"])
def test_a_text_longer_than_csv_fields_may_be(tmp_path, name):
    long = "word " * 40_000
    row = {
        "a.tsv": f"label\ttext\n1\t{long}\n",
        "a.csv": f'label,text\n1,"{long}"\n',
        "a.jsonl": f'{{"label": 1, "text": "{long}"}}\n',
    }

    assert read_labelled_text(write(tmp_path, name, row[name])).texts == [long]


def test_a_carriage_return_inside_a_tsv_text_stays(tmp_path):
    path = write(tmp_path, "a.tsv", "label\ttext\n1\tgood\rfilm\n")

    assert read_labelled_text(path).texts == ["good\rfilm"]


def test_trailing_empty_cells_are_no_text(tmp_path):
    path = write(tmp_path, "a.csv", "label,text\n1,good,,\n0,bad\n")

    assert read_labelled_text(path).texts == ["good", "bad"]


def test_pairs_are_found_by_their_columns(tmp_path):
    path = write(tmp_path, "p.tsv", "label\tsentence1\tsentence2\n1\ta\tb\n")

    examples = read_labelled_text(path)

    assert examples.texts == [("a", "b")]
    assert examples.is_pair


def test_columns_can_be_named(tmp_path):
    path = write(tmp_path, "a.csv", "q,a,y\nwhy,so,yes\n")

    examples = read_labelled_text(path, "q", "y", second_text_column="a")

    assert (examples.texts, examples.labels) == ([("why", "so")], ["yes"])


def test_real_data(shared_data):
    banking = read_labelled_text(shared_data / "en_banking77/test.csv.gz")
    polarity = read_labelled_text(
        shared_data / "en_sentence_polarity/test.tsv.gz"
    )
    pairs = read_labelled_text(
        shared_data / "en_paraphrase_tatoeba/test.tsv.gz"
    )

    assert len(banking.label_names) == 77
    assert len(polarity.texts) == 1066
    assert polarity.label_names == ["0", "1"]
    assert pairs.is_pair


def test_numbers_sort_as_numbers_before_names():
    examples = LabelledText(["t"] * 4, ["10", "b", "9", "a"])

    assert examples.label_names == ["9", "10", "a", "b"]


def test_nan_is_a_name_and_disorders_no_others():
    labels = ["nan", "0", "b", "5", "NaN", "3", "inf", "a"]
    expected = ["0", "3", "5", "NaN", "a", "b", "inf", "nan"]

    for turn in range(len(labels)):
        turned = labels[turn:] + labels[:turn]
        names = LabelledText(["t"] * len(labels), turned).label_names
        assert names == expected


@pytest.mark.parametrize(
    "name, text, message",
    [
        ("a.txt", "x", "unknown kind of table"),
        ("a.tsv", "", "holds no examples"),
        ("a.tsv", "label\ttext\n", "holds no examples"),
        ("a.tsv", "text\nx\n", "no label column.*Received the columns: text"),
        ("a.tsv", "label\tbody\n1\tx\n", "no text column.*`text_column`"),
        ("a.tsv", "label\ttext\n1\tx\n1\n", "line 3: expected the columns"),
        ("a.tsv", b"label\ttext\n1\t\xff\n", "not UTF-8: byte 13, line 2"),
        (
            "a.tsv",
            "label\ttext\n1\tgood\tfilm\n",
            "line 2: 3 cells under 2 columns",
        ),
        (
            "a.csv",
            "label,text\n0,bad\n1,Good, but long\n",
            "line 3: 3 cells under 2 columns.*quot",
        ),
        (
            "a.csv",
            'label,text\n0,bad\n1,"Good film\n0,dull\n1,fine\n',
            "line 3: unexpected end of data.*quot",
        ),
        (
            "a.csv",
            'label,text\n1,"He said \\"no\\" twice"\n',
            "line 2.*quot",
        ),
        ("a.csv", "text,text,label\na,b,1\n", "column text twice"),
        ("a.jsonl", '{"text": ["a"], "label": 1}', "line 1: .*a string"),
        ("a.jsonl", '{"text": "a", "label": [1]}', "line 1: .*a string"),
        ("a.jsonl", '{"text": ', "line 1 is not JSON"),
        ("a.jsonl", "[1]", "expected a JSON object"),
    ],
)
def test_bad_files_are_explained(tmp_path, name, text, message):
    with pytest.raises(ValueError, match=message):
        read_labelled_text(write(tmp_path, name, text))


def test_a_damaged_gzip_file_is_explained(tmp_path):
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress(b"label\ttext\n1\tx\n")[:-9])

    with pytest.raises(ValueError, match="complete gzip"):
        read_labelled_text(path)


def test_a_missing_file_is_named():
    with pytest.raises(FileNotFoundError, match=r"nowhere\.tsv"):
        read_labelled_text("nowhere.tsv")


def test_lists_are_taken_as_they_are():
    examples = as_labelled_text((["a", "b"], [1, 0]))

    assert examples == LabelledText(["a", "b"], ["1", "0"])
    assert as_labelled_text(examples) is examples
    assert as_labelled_text(([["a", "b"]], ["x"])).is_pair


@pytest.mark.parametrize(
    "source, error, message",
    [
        (7, TypeError, "Received: int"),
        ((["a"], []), ValueError, "1 texts and 0 labels"),
        (([], []), ValueError, "no labelled texts"),
    ],
)
def test_lists_that_do_not_fit_are_refused(source, error, message):
    with pytest.raises(error, match=message):
        as_labelled_text(source)


def test_a_label_that_no_file_can_hold_is_refused(tmp_path):
    path = tmp_path / "t.jsonl"
    path.write_text(
        '{"text": "a\\ud800", "label": "b"}\n{"text": "a", "label": "\\ud800"}'
    )

    with pytest.raises(ValueError, match="line 2: the label .*ud800.* half"):
        read_labelled_text(path)
    with pytest.raises(ValueError, match="label .*ud800.* half"):
        LabelledText(["a"], ["\ud800"])
