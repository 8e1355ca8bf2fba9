import warnings
import zipfile

import numpy as np
import pytest

from keras_albert.export import torch_format
from keras_albert.export.conformance import read_cases
from keras_albert.export.opening import served_task
from keras_albert.models.backbone import AlbertBackbone
from tests.export.served_answers import softmax
from tests.export.tiny_classifiers import with_random_weights
from tests.export.token_exports import ask_keras
from tests.export.token_exports import tiny_model

torch = pytest.importorskip("torch", reason="the extra `torch` is missing")


def inputs_of(batch, length, masks=None):
    rng = np.random.default_rng(5)
    lengths = rng.integers(1, length + 1, (batch, 1))
    inputs = {
        "token_ids": rng.integers(5, 20, (batch, length)),
        "segment_ids": rng.integers(0, 2, (batch, length)),
        "padding_mask": np.arange(length) < lengths,
    }
    if masks is not None:
        inputs["mask_positions"] = rng.integers(0, length, (batch, masks))
    return {name: x.astype("int32") for name, x in inputs.items()}


def ask(module, inputs):
    found = module(**{n: torch.from_numpy(x) for n, x in inputs.items()})
    return {name: values.numpy() for name, values in found.items()}


@pytest.mark.filterwarnings("ignore:.*softmax over axis:UserWarning")
@pytest.mark.parametrize("kind", ["classifier", "pretrainer"])
def test_any_batch_and_length(token_exports, kind):
    model, _, made = token_exports(kind, "torch")
    module = torch.export.load(made.model_file).module()
    is_pretrainer = kind == "pretrainer"

    for batch, length, masks in [(1, 1, 1), (4, 13, 3), (1, 23, 5), (3, 2, 0)]:
        inputs = inputs_of(batch, length, masks if is_pretrainer else None)
        found = ask(module, inputs)
        want = ask_keras(model, inputs)
        if not is_pretrainer:
            want = {"probabilities": softmax(want)}
        assert set(found) == set(want)
        for name, values in want.items():
            np.testing.assert_allclose(
                found[name], values, rtol=1e-4, atol=1e-4
            )
    nothing = ask(module, inputs_of(0, 5, 2 if is_pretrainer else None))
    assert {len(values) for values in nothing.values()} == {0}
    with pytest.raises(AssertionError, match="<= 23"):
        ask(module, inputs_of(1, 24, 1 if is_pretrainer else None))


def test_shared_weights_are_stored_once(tmp_path):
    backbone = with_random_weights(AlbertBackbone(500, 6, 2, 32, 64, 256), 0.1)
    _, preprocessor = tiny_model("regressor")
    task = served_task(backbone, preprocessor)
    module = torch_format.build(task, backbone)

    with warnings.catch_warnings():
        warnings.simplefilter("error", UserWarning)
        torch_format.write(tmp_path, task, module, ())

    with zipfile.ZipFile(tmp_path / "model.pt2") as archive:
        sizes = {file.filename: file.file_size for file in archive.infolist()}
    stored = sum(n for name, n in sizes.items() if "/weights/weight_" in name)
    assert stored == module.weight_bytes()
    # The program of six calls, with what the archive says of each weight.
    assert sum(sizes.values()) < stored + 400_000


def test_check_finds_other_answers(token_exports):
    _, _, made = token_exports("classifier", "torch")
    cases = read_cases(made.path)

    cases[1].outputs["probabilities"] += 3e-5

    with pytest.raises(ValueError, match="PyTorch .* at most 1e-05 was exp"):
        torch_format.check(made.path, None, cases, ())


def test_a_damaged_file_is_one_value_error(tmp_path):
    (tmp_path / "model.pt2").write_bytes(b"no archive")

    with pytest.raises(ValueError, match="^model.pt2 does not run in a fresh"):
        torch_format.ask(tmp_path, [])
