import pytest

from keras_albert.export.extra import import_extra


def test_a_missing_package_names_its_extra():
    with pytest.raises(ImportError, match=r"no_such_.*keras-albert\[onnx\]"):
        import_extra("no_such_package", "onnx")


def test_module():
    assert import_extra("os.path", "onnx").__name__ == "posixpath"
