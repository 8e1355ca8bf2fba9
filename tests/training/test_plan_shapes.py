import pytest

from keras_albert.training.plan_settings import planned_settings
from keras_albert.training.plan_shapes import CoreShape
from keras_albert.training.plan_shapes import core_shapes
from keras_albert.training.plan_shapes import step_shape


@pytest.fixture
def run():
    return planned_settings(
        size="albert_base",
        batch_size=64,
        accumulate=2,
        phases="128@6:50%,512x16:30%,128x64@12:20%",
        steps=100,
    )


def test_a_core_has_its_part_of_each_phase(run):
    assert core_shapes(run, num_cores=4) == [
        CoreShape(128, 64 // 2 // 4, 6),
        CoreShape(512, 16 // 2 // 4, 12),
        # The depth of the model, whether it is written or not.
        CoreShape(128, 64 // 2 // 4, 12),
    ]


def test_scores_are_kept_where_there_is_no_kernel(run):
    core = CoreShape(128, 8, 6)

    shape = step_shape(run, core, on_tpu=True)

    assert (shape.num_tokens, shape.num_predictions) == (8 * 128, 20)
    assert shape.num_calls == 6
    assert not shape.keeps_scores
    assert step_shape(run, core, on_tpu=False).keeps_scores
    assert step_shape(run, CoreShape(100, 8, 6), on_tpu=True).keeps_scores
    run.backbone["attention_dropout"] = 0.1
    assert step_shape(run, core, on_tpu=True).keeps_scores
