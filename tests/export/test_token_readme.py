import re

import pytest


@pytest.mark.parametrize("format", ["onnx", "litert", "torch"])
def test_the_example_runs(token_exports, format, monkeypatch):
    """What a reader copies from the README answers."""
    import numpy as np

    _, _, made = token_exports("classifier", format)
    monkeypatch.chdir(made.path)
    text = (made.path / "README.md").read_text(encoding="utf-8")
    asked, encoded = re.findall(r"```python\n(.*?)```", text, re.DOTALL)

    names = {}
    exec(encoded, names)
    (ids,) = names["ids"]
    row = np.zeros((1, 8), "int32")
    row[0, : len(ids) + 2] = [2, *ids, 3][:8]
    names["token_ids"], names["segment_ids"] = row, row * 0
    names["padding_mask"] = (row > 0).astype("int32")
    if format == "torch":
        torch = pytest.importorskip("torch", reason="needs the extra `torch`")
        for name in ("token_ids", "segment_ids", "padding_mask"):
            names[name] = torch.from_numpy(names[name])
    exec(asked, names)

    answer = names.get("answers") or list(names["answer"].values())
    np.testing.assert_allclose(answer[0].sum(), 1, atol=1e-5)
    for name in ("bad", "good", "no idea"):
        assert f"`{name}`" in text
