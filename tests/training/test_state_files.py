import keras
import numpy as np
import pytest

from keras_albert.training import state_files
from keras_albert.training.seeding import dropout_generators
from keras_albert.training.seeding import seed_dropout

pytestmark = pytest.mark.every_backend


def make_model(rate=0.5):
    model = keras.Sequential(
        [
            keras.Input((4,)),
            keras.layers.Dense(8),
            keras.layers.Dropout(rate, seed=1),
            keras.layers.Dense(1),
        ]
    )
    model.compile(keras.optimizers.Adam(0.1), loss="mse", jit_compile=False)
    seed_dropout(model, 7)
    return model


def fit(model, steps=2):
    x = np.ones((steps, 4), "float32")
    model.fit(x, x[:, :1], batch_size=1, verbose=0, shuffle=False)


def test_a_restored_model_drops_the_same_units(tmp_path):
    model, other = make_model(), make_model()
    fit(model)
    path = state_files.save_state(model, tmp_path, 2)

    state_files.restore_state(other, path)

    for ours, theirs in zip(
        dropout_generators(other), dropout_generators(model), strict=True
    ):
        np.testing.assert_array_equal(
            keras.ops.convert_to_numpy(ours.state.value),
            keras.ops.convert_to_numpy(theirs.state.value),
        )
    assert int(other.optimizer.iterations) == 2
    fit(model)
    fit(other)
    for ours, theirs in zip(
        other.get_weights(), model.get_weights(), strict=True
    ):
        np.testing.assert_array_equal(ours, theirs)


def test_a_state_of_another_optimizer_is_refused(tmp_path):
    model, other = make_model(), make_model()
    fit(model)
    path = state_files.save_state(model, tmp_path, 2)
    other.compile(keras.optimizers.SGD(0.1), loss="mse", jit_compile=False)

    # Keras would leave the optimizer out with a warning.
    with pytest.raises(ValueError, match="variables of the optimizer"):
        state_files.restore_state(other, path)


def test_a_state_of_other_dropouts_is_refused(tmp_path):
    path = state_files.save_state(make_model(), tmp_path, 0)
    other = keras.Sequential(
        [keras.Input((4,)), keras.layers.Dense(8), keras.layers.Dense(1)]
    )
    other.compile(keras.optimizers.Adam(0.1), loss="mse")

    with pytest.raises(ValueError, match="1 dropouts, the model has 0"):
        state_files.restore_state(other, path)


def test_what_a_check_refuses_leaves_no_file(tmp_path):
    def refuse():
        raise FloatingPointError

    with pytest.raises(FloatingPointError):
        state_files.save_state(make_model(), tmp_path, 3, check=refuse)

    assert not list(tmp_path.iterdir())
    assert state_files.last_state(tmp_path) == (0, None)


@pytest.mark.parametrize(
    "harm", ["cut", "altered", "no proof", "empty proof", "no text"]
)
def test_a_damaged_state_gives_way_to_the_one_before(tmp_path, harm):
    model = make_model()
    state_files.save_state(model, tmp_path, 1)
    path = state_files.save_state(model, tmp_path, 3)
    assert state_files.last_state(tmp_path) == (3, path)

    if harm == "cut":
        path.write_bytes(path.read_bytes()[:-9])
    elif harm == "altered":
        content = bytearray(path.read_bytes())
        content[len(content) // 2] ^= 1
        path.write_bytes(content)
    elif harm == "no proof":
        path.with_name(path.name + ".sha256").unlink()
    elif harm == "empty proof":
        path.with_name(path.name + ".sha256").write_text("")
    else:
        path.with_name(path.name + ".sha256").write_bytes(b"\xe4\x00")

    assert state_files.last_state(tmp_path)[0] == 1
    assert state_files.find_state(tmp_path)[2] == [path]


def test_files_and_folders_of_the_user_are_no_states(tmp_path):
    path = state_files.save_state(make_model(), tmp_path, 1)
    notes = tmp_path / "step-notes.weights.h5"
    notes.write_bytes(path.read_bytes())
    proof = path.with_name(f"{path.name}.sha256").read_bytes()
    notes.with_name(f"{notes.name}.sha256").write_bytes(proof)
    (tmp_path / "step-00000002.weights.h5").mkdir()

    assert state_files.find_state(tmp_path) == (1, path, [])
    assert state_files.list_states(tmp_path) == {1: path}


def test_half_a_state_and_a_proof_of_nothing_are_removed(tmp_path):
    path = state_files.save_state(make_model(), tmp_path, 1)
    whole = sorted(tmp_path.iterdir())
    (tmp_path / ".writing-1-step-00000002.weights.h5").touch()
    (tmp_path / "step-00000002.weights.h5.sha256").touch()

    state_files.tidy_states(tmp_path)

    assert sorted(tmp_path.iterdir()) == whole
    state_files.remove_state(path)
    assert not list(tmp_path.iterdir())
