import keras  # noqa: F401  (what must not be there)
import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="the extra `torch` is missing")
from keras_albert.export import torch_process  # noqa: E402


class Doubled(torch.nn.Module):
    def forward(self, x):
        return {"y": 2 * x}


def test_answers_and_what_was_imported(tmp_path, monkeypatch):
    program = torch.export.export(Doubled(), (), {"x": torch.zeros(2)})
    torch.export.save(program, tmp_path / "model.pt2")
    for name in ("asked", "answered"):
        (tmp_path / name).mkdir()
    for i in range(2):
        x = np.array([i, 5], "float32")
        np.savez(tmp_path / "asked" / f"{i}.npz", x=x)
    paths = [tmp_path / name for name in ("model.pt2", "asked", "answered")]

    with pytest.raises(RuntimeError, match="The model imports keras"):
        torch_process.answer(*paths)

    monkeypatch.setattr(torch_process, "FOREIGN", ())
    torch_process.answer(*paths)
    found = [np.load(paths[2] / f"{i}.npz")["y"].tolist() for i in range(2)]
    assert found == [[0, 10], [2, 10]]
