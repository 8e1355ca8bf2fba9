"""The README's lines are right for the model's own signatures."""

import ast
import json
import re
import shlex

import pytest

from keras_albert.export.signature_shapes import ServedTask
from keras_albert.serving.bundle.readme import readme as readme_of

TASKS = {
    "classifier": ServedTask("classifier", 8, 16, 11, ("bad", "good")),
    "regressor": ServedTask("regressor", 8, 16, 11),
    "pretrainer": ServedTask("pretrainer", 8, 16, 11),
    "backbone": ServedTask("backbone", 8, 16, 11),
}


def readme(models, stable=1, newest=1):
    return readme_of(models, dict.fromkeys(models, (stable, newest)))


@pytest.fixture(params=TASKS)
def task(request):
    return TASKS[request.param]


def curl_lines(text):
    for line in text.splitlines():
        if line.startswith("curl http"):
            _, url, _, data = shlex.split(line)
            yield url, json.loads(data)


def test_each_signature_has_its_line(task):
    signatures = task.signatures()

    lines = {
        body.get("signature_name", "serving_default"): (url, body)
        for url, body in curl_lines(readme({"reviews": signatures}))
    }

    assert set(lines) == set(signatures) - {"tokens"}
    for name, (url, body) in lines.items():
        verb = name if name in ("classify", "regress") else "predict"
        assert url == f"http://localhost:8501/v1/models/reviews:{verb}"
        if verb == "predict":
            (instance,) = body["instances"]
            assert set(instance) == set(signatures[name]["inputs"])
        else:
            assert set(body["examples"][0]) == {"text"}


def test_tables_list_inputs_and_outputs(task):
    text = readme({"reviews": task.signatures()})

    for name, shapes in task.signatures().items():
        (row,) = re.findall(rf"^\| `{name}` \|.*$", text, re.MULTILINE)
        for part in shapes.values():
            assert all(f"`{tensor}`" in row for tensor in part)
    assert "`text` string (N)" in text
    assert "-1" not in text.split("| signature")[1].split("```")[0]


def test_the_grpc_example_is_python(task):
    (code,) = re.findall(
        r"```python\n(.*?)```", readme({"x": task.signatures()}), re.DOTALL
    )

    ast.parse(code)
    assert 'request.model_spec.version_label = "stable"' in code


def test_masks_are_explained_where_they_are_filled():
    with_masks = readme({"x": TASKS["pretrainer"].signatures()})
    without = readme({"x": TASKS["classifier"].signatures()})

    assert "[MASK]" in with_masks
    assert "[MASK]" not in without


@pytest.mark.parametrize(
    "stable, newest, lines",
    [
        (
            *(1, 1),
            [
                "export --model MODEL --output ../m  # writes ../m/2",
                "release ../m --canary 2             # on trial beside 1",
                "release ../m --stable 2             # for all",
                "release ../m --stable 1             # back again",
            ],
        ),
        (
            *(2, 7),
            [
                "release ../m --canary 7  # on trial beside 2",
                "release ../m --stable 7  # for all",
                "release ../m --stable 2  # back again",
            ],
        ),
    ],
)
def test_releases_are_of_versions_that_exist(stable, newest, lines):
    text = readme({"m": TASKS["backbone"].signatures()}, stable, newest)

    found = re.findall("^keras-albert ((?:exp|rel).*)$", text, re.MULTILINE)
    assert found == lines
    assert f"version {stable} of `m` was stable" in text


def test_lines_name_the_model():
    text = readme({"My_reviews": TASKS["backbone"].signatures()})

    assert "keras-albert release ../My_reviews --canary 2" in text
    assert "/v1/models/My_reviews/metadata" in text
    assert "configmap my-reviews-config --from-file=config" in text
