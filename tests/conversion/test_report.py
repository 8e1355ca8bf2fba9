"""What a report says to people and to programs."""

import json

from keras_albert.conversion.report import ConversionReport

REPORT = ConversionReport(
    loaded={"a": "x", "b": "y"},
    skipped={f"{n}/adam_m": "optimizer slot" for n in "abcd"},
    kept={"cls/squad/output_bias": "no model"},
    new=["pooler/kernel", "pooler/bias", "sentence_order/bias"],
    notes=["A note."],
    check={"pooled_output": 1e-7, "sequence_output": 3e-7},
)


def test_rows_count_and_name():
    assert REPORT.rows() == [
        ("loaded", 2, ""),
        ("kept aside", 1, "no model: cls/squad/output_bias"),
        ("skipped", 4, "optimizer slot: a/adam_m, b/adam_m, c/adam_m, …"),
        ("new, random", 3, "pooler, sentence_order"),
    ]
    assert ConversionReport(loaded={"a": "x"}).rows() == [("loaded", 1, "")]


def test_json_holds_everything():
    values = json.loads(REPORT.to_json())

    assert ConversionReport(**values) == REPORT


def test_the_greatest_difference_is_named():
    assert REPORT.max_difference == 3e-7
    assert ConversionReport().max_difference is None
