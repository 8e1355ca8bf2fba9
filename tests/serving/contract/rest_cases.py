"""What the REST API must answer, as a table.

`body` is sent as JSON, or as it is if it is bytes. `reply` is the JSON that
must come back. In place of it, `error` holds the fragments that the error text
must have, as texts differ between releases.
"""

import base64
import dataclasses
import gzip
import json
import math


@dataclasses.dataclass(frozen=True)
class RestCase:
    rule: str
    path: str
    body: object = None
    reply: object = None
    status: int = 200
    error: tuple = ()
    method: str = "POST"
    headers: tuple = ()

    def __str__(self):
        return self.rule


HALF = "/v1/models/half"
PREDICT = f"{HALF}/versions/1:predict"


def predict(rule, body, reply=None, path=PREDICT, **options):
    return RestCase(rule, path, body, reply, **options)


def refused(rule, body, *error, path=PREDICT, status=400, **options):
    return RestCase(rule, path, body, status=status, error=error, **options)


def echoed(**changes):
    """A row of the signature `echo`."""
    return {"text": "a", "long": 1, "byte": 2, "double": 0.5, **changes}


def b64(data):
    return {"b64": base64.b64encode(data).decode()}


ROWS = [
    predict(
        "rows of a one-input signature may be bare values",
        {"instances": [1.0, 2.0, 5.0]},
        {"predictions": [2.5, 3.0, 4.5]},
    ),
    predict(
        "rows of a one-input signature may be objects",
        {"instances": [{"x": 1.0}, {"x": 2.0}]},
        {"predictions": [2.5, 3.0]},
    ),
    predict(
        "an integer token is a number, too",
        {"instances": [1]},
        {"predictions": [2.5]},
    ),
    predict(
        "several outputs make an object per row",
        {
            "signature_name": "pairwise",
            "instances": [
                {"numbers": [1, 2], "negate": False},
                {"numbers": [3, 4], "negate": True},
            ],
        },
        {
            "predictions": [
                {"total": 3, "negated": False},
                {"total": -7, "negated": True},
            ]
        },
    ),
    refused("no rows", {"instances": []}, "No values in 'instances' array"),
    refused("instances must be a list", {"instances": 1.0}, "'instances'"),
    refused(
        "bare values and objects do not mix",
        {"instances": [1.0, {"x": 2.0}]},
        "got object at item 1",
    ),
    refused(
        "objects and bare values do not mix",
        {"instances": [{"x": 1.0}, 2.0]},
        "Expecting object",
        "item 1",
    ),
    refused(
        "several inputs need objects",
        {"signature_name": "pairwise", "instances": [[1, 2]]},
        "plain list",
    ),
    refused(
        "every object has all inputs",
        {"signature_name": "pairwise", "instances": [{"numbers": [1, 2]}]},
        "element: 0",
        "negate,numbers",
    ),
    refused(
        "no object has an input more",
        {"instances": [{"x": 1.0, "z": 2.0}]},
        "z",
    ),
    refused(
        "rows have equal numbers of elements",
        {
            "signature_name": "floats",
            "instances": [[1.0, 2.0], [1.0]],
        },
        "element: 1",
        "Expecting tensor size: 2 but got: 1",
    ),
    refused(
        "rows have equal shapes",
        {
            "signature_name": "floats",
            "instances": [[[1.0, 2.0]], [[1.0], [2.0]]],
        },
        "Expecting shape [1,2] but got: [2,1]",
    ),
    refused(
        "a row is not ragged",
        {"signature_name": "floats", "instances": [[[1.0, 2.0], [1.0]]]},
        "unexpected size: 1",
    ),
    refused(
        "row errors name the element and the code",
        {"instances": [1.0, "b"]},
        "Failed to process element: 1",
        "of 'instances' list. Error: INVALID_ARGUMENT",
        "not of expected type: float",
    ),
    refused(
        "an output without rows does not fit row format",
        {"signature_name": "scalar", "instances": [1.0]},
        # A server that merges requests finds it while merging.
    ),
    refused(
        "outputs with different numbers of rows do not fit row format",
        {"signature_name": "uneven", "instances": [1.0]},
    ),
]

COLUMNS = [
    predict(
        "the column of a one-input signature may be bare",
        {"inputs": [1.0, 2.0]},
        {"outputs": [2.5, 3.0]},
    ),
    predict(
        "columns may be named",
        {"inputs": {"x": [1.0, 2.0]}},
        {"outputs": [2.5, 3.0]},
    ),
    predict(
        "several outputs make one object",
        {
            "signature_name": "pairwise",
            "inputs": {"numbers": [[1, 2], [3, 4]], "negate": [True, False]},
        },
        {"outputs": {"total": [-3, 7], "negated": [True, False]}},
    ),
    predict(
        "columns that are no inputs are ignored",
        {"inputs": {"x": [1.0], "z": [1.0]}},
        {"outputs": [2.5]},
    ),
    predict(
        "an empty column is a batch of none",
        {"inputs": []},
        {"outputs": []},
    ),
    predict(
        "columns have any rank",
        {"signature_name": "floats", "inputs": [[[1.0], [2.5]]]},
        {"outputs": [[[1.0], [2.5]]]},
    ),
    refused(
        "no column may be missing",
        {"signature_name": "pairwise", "inputs": {"numbers": [[1, 2]]}},
        "Missing named input: negate",
    ),
    refused(
        "a default helps no REST request",
        {"signature_name": "optional", "inputs": {"x": [1.0]}},
        "Missing named input: plus",
    ),
    refused(
        "several inputs need named columns",
        {"signature_name": "pairwise", "inputs": [[1, 2]]},
        "plain value/list",
    ),
    refused(
        "a column is not ragged",
        {"signature_name": "floats", "inputs": [[1.0, 2.0], [1.0]]},
        "unexpected size: 1",
    ),
    refused(
        "a list stands not where a value stood before",
        {"signature_name": "floats", "inputs": [1.0, [2.0]]},
        "unexpected level",
    ),
]

VALUES = [
    refused("null is no value", {"instances": [None]}, "Null"),
    refused("true is no number", {"instances": [True]}, "float"),
    refused("a string is no number", {"instances": ["1"]}, "String"),
    refused(
        "1.0 is no integer",
        {"signature_name": "echo", "instances": [echoed(long=1.0)]},
        "key: long",
        "int64",
    ),
    refused(
        "an integer has 64 bits",
        {"signature_name": "echo", "instances": [echoed(long=2**63)]},
        "int64",
    ),
    refused(
        "a boolean is true or false",
        {
            "signature_name": "pairwise",
            "instances": [{"numbers": [1, 2], "negate": 1}],
        },
        "bool",
    ),
    refused(
        "a number is no string",
        {"signature_name": "echo", "instances": [echoed(text=1)]},
        "string",
    ),
    predict(
        "integers of 64 bits are exact, base64 is bytes, and an output whose "
        "name ends in _bytes comes as base64",
        {
            "signature_name": "echo",
            "instances": [echoed(text=b64(b"hi"), long=2**53 + 1)],
        },
        {
            "predictions": [
                {
                    "text": "hi",
                    "text_bytes": b64(b"hi"),
                    "long": 2**53 + 1,
                    "byte": 2,
                    "double": 0.5,
                }
            ]
        },
    ),
    predict(
        "strings are UTF-8 both ways",
        {"signature_name": "echo", "instances": [echoed(text='中"\\\n\u0000')]},
        {
            "predictions": [
                {
                    "text": '中"\\\n\u0000',
                    "text_bytes": b64('中"\\\n\u0000'.encode()),
                    "long": 1,
                    "byte": 2,
                    "double": 0.5,
                }
            ]
        },
    ),
    refused(
        "base64 must be base64",
        {"signature_name": "fails", "instances": [{"b64": "###"}]},
        "base64",
    ),
    refused(
        "an object with more than b64 is not base64",
        {"signature_name": "echo", "instances": [echoed(text={"b": "x"})]},
        "base64",
    ),
    refused(
        "JSON has no half precision to send",
        {"signature_name": "takes_half", "instances": [1.0]},
        status=501,
    ),
    refused(
        "JSON has no half precision to answer",
        {"signature_name": "gives_half", "instances": [1.0]},
        "Failed to write JSON value",
    ),
    predict(
        "NaN and infinities go both ways as bare tokens",
        b'{"inputs": [NaN, Infinity, -Infinity]}',
        {"outputs": [math.nan, math.inf, -math.inf]},
    ),
    predict(
        "float32 takes six digits, or nine where six are not enough",
        {"signature_name": "floats", "inputs": [0.2, 1 / 3, 3e-5, 16777216.0]},
        b'{"outputs":[0.2,0.333333343,3e-05,16777216.0]}',
    ),
]

BODIES = [
    refused("an empty body", b"", "The document is empty"),
    refused("a body that is no JSON", b"text=1", "JSON Parse error"),
    refused("JSON that ends too early", b'{"instances": [1', "JSON Parse"),
    refused("JSON that is no object", b"[1.0]", "ot object"),
    refused("neither instances nor inputs", {"x": [1.0]}, "Missing 'inputs'"),
    refused(
        "both instances and inputs",
        {"instances": [1.0], "inputs": [1.0]},
        "only one of",
    ),
    refused(
        "the name of a signature is a string",
        {"signature_name": 1, "instances": [1.0]},
        "'signature_name' key must be a string",
    ),
    refused(
        "an unknown signature",
        {"signature_name": "none", "instances": [1.0]},
        'Serving signature name: "none" not found in signature def',
    ),
    predict(
        "other keys of the object are ignored",
        {"instances": [1.0], "more": {"x": 1}},
        {"predictions": [2.5]},
    ),
    predict(
        "the content type is not looked at",
        {"instances": [1.0]},
        {"predictions": [2.5]},
        headers=(("Content-Type", "text/plain"),),
    ),
    predict(
        "a body in gzip is unpacked",
        gzip.compress(json.dumps({"instances": [1.0]}).encode()),
        {"predictions": [2.5]},
        headers=(("Content-Encoding", "gzip"),),
    ),
    refused(
        "a body that says gzip and is none counts as empty",
        b'{"instances": [1.0]}',
        "The document is empty",
        headers=(("Content-Encoding", "gzip"),),
    ),
    refused(
        "an operation's refusal is the request's fault",
        {"signature_name": "fails", "instances": ["no number"]},
        "no number",
    ),
]

PATHS = [
    predict(
        "without a version, the latest answers",
        {"instances": [1.0]},
        {"predictions": [3.5]},
        path=f"{HALF}:predict",
    ),
    predict(
        "a label stands for its version",
        {"instances": [1.0]},
        {"predictions": [2.5]},
        path=f"{HALF}/labels/stable:predict",
    ),
    predict(
        "another label stands for another version",
        {"instances": [1.0]},
        {"predictions": [3.5]},
        path=f"{HALF}/labels/canary:predict",
    ),
    predict(
        "names are percent-encoded, and the path has no case",
        {"instances": [1.0]},
        {"predictions": [2.5]},
        path="/V1/Models/h%61lf/Versions/1:predict",
    ),
    refused(
        "an unknown model",
        {"instances": [1.0]},
        "Servable not found for request: Latest(none)",
        path="/v1/models/none:predict",
        status=404,
    ),
    refused(
        "an unknown version",
        {"instances": [1.0]},
        "Servable not found for request: Specific(half, 9)",
        path=f"{HALF}/versions/9:predict",
        status=404,
    ),
    refused(
        "an unknown label",
        {"instances": [1.0]},
        "Unrecognized servable version label: none",
        path=f"{HALF}/labels/none:predict",
    ),
    refused(
        "a body is read before the model is looked for",
        b"{",
        "JSON Parse error",
        path="/v1/models/none:predict",
    ),
    refused(
        "a version that is no number",
        {"instances": [1.0]},
        "Malformed request: POST",
        path=f"{HALF}/versions/one:predict",
    ),
    refused(
        "a version of more than 64 bits",
        {"instances": [1.0]},
        "to numeric",
        path=f"{HALF}/versions/99999999999999999999:predict",
    ),
    refused(
        "a query is no part of the API",
        {"instances": [1.0]},
        "Malformed request: POST /v1/models/half:predict?x=1",
        path=f"{HALF}:predict?x=1",
    ),
    refused(
        "an unknown verb",
        {"instances": [1.0]},
        "Malformed request: POST /v1/models/half:answer",
        path=f"{HALF}:answer",
    ),
    refused(
        "predict takes POST alone",
        None,
        "Malformed request: GET /v1/models/half:predict",
        path=f"{HALF}:predict",
        method="GET",
    ),
    refused(
        "other methods",
        b"{}",
        "Malformed request: PUT /v1/models/half:predict",
        path=f"{HALF}:predict",
        method="PUT",
    ),
    refused(
        "models are not listed",
        None,
        "Missing model name in request.",
        path="/v1/models",
        method="GET",
    ),
    RestCase(
        "the status of a version",
        f"{HALF}/versions/1",
        method="GET",
        reply={
            "model_version_status": [
                {
                    "version": "1",
                    "state": "AVAILABLE",
                    "status": {"error_code": "OK", "error_message": ""},
                }
            ]
        },
    ),
    refused(
        "the status of an unknown model",
        None,
        "none",
        path="/v1/models/none",
        method="GET",
        status=404,
    ),
    refused(
        "the status of an unknown version",
        None,
        "9",
        path=f"{HALF}/versions/9",
        method="GET",
        status=404,
    ),
    refused(
        "the metadata of an unknown model",
        None,
        "Servable not found",
        path="/v1/models/none/metadata",
        method="GET",
        status=404,
    ),
]


def example(rule, verb, body, results=None, **options):
    reply = None if results is None else {"results": results}
    return RestCase(rule, f"{HALF}:{verb}", body, reply, **options)


EXAMPLES = [
    example(
        "classify gives pairs of label and score",
        "classify",
        {
            "signature_name": "classify",
            "examples": [{"text": "ab"}, {"text": "cde"}],
        },
        [[["ab", 2.0], ["AB", 1.0]], [["cde", 3.0], ["CDE", 1.5]]],
    ),
    example(
        "base64 stands for bytes in examples, too",
        "classify",
        {"signature_name": "classify", "examples": [{"text": b64(b"x")}]},
        [[["x", 1.0], ["X", 0.5]]],
    ),
    example(
        "the context's features belong to all examples",
        "regress",
        {
            "signature_name": "regress",
            "context": {"number": 0.5},
            "examples": [{"count": 1}, {"count": 2}],
        },
        [1.5, 2.5],
    ),
    example(
        "a list is a feature of several values, a bare value one of one",
        "regress",
        {
            "signature_name": "regress",
            "examples": [{"number": [1.5]}, {"number": 2.5}, {"count": True}],
        },
        [1.5, 2.5, 1.0],
    ),
    example(
        "one feature, one kind of values",
        "regress",
        {"signature_name": "regress", "examples": [{"number": [1.5, "a"]}]},
        status=400,
        error=("number",),
    ),
    example(
        "null is no feature",
        "classify",
        {"signature_name": "classify", "examples": [{"text": None}]},
        status=400,
        error=("text", "Null"),
    ),
    example(
        "examples must be there",
        "classify",
        {"signature_name": "classify"},
        status=400,
        error=("'examples'",),
    ),
    example(
        "there must be an example",
        "classify",
        {"signature_name": "classify", "examples": []},
        status=400,
        error=("empty",),
    ),
    example(
        "an example is an object",
        "classify",
        {"signature_name": "classify", "examples": ["a"]},
        status=400,
        error=("object",),
    ),
    example(
        "a signature without examples cannot classify",
        "classify",
        {"examples": [{"x": 1.0}]},
        status=400,
        error=(),
    ),
]

CASES = [*ROWS, *COLUMNS, *VALUES, *BODIES, *PATHS, *EXAMPLES]
