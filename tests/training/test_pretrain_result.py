import pytest

from keras_albert.training.pretrain_result import load_pretrained


def test_a_folder_without_a_model_is_named(tmp_path):
    with pytest.raises((FileNotFoundError, ValueError), match="preset"):
        load_pretrained(tmp_path)
