from keras_albert.training.run_loop import intervals


def test_evaluations_fall_on_multiples_and_on_the_end():
    assert intervals(0, 6, 2) == [(0, 2, 3)]
    assert intervals(3, 10, 4) == [(3, 1, 1), (4, 4, 1), (8, 2, 1)]
    assert intervals(1, 3, 10) == [(1, 2, 1)]
    assert intervals(6, 6, 2) == []


def test_a_dataset_is_not_tuned():
    import tensorflow as tf

    from keras_albert.training.run_loop import untuned

    dataset = untuned(tf.data.Dataset.range(3))

    assert dataset.options().autotune.enabled is False
