import itertools

import numpy as np

from keras_albert.training.phases import Phase
from keras_albert.training.phases import phase_spans
from keras_albert.training.run_data import BatchSettings
from keras_albert.training.run_folders import open_folders

SETTINGS = BatchSettings(objective="sop", seed=1, evaluation_passes=1)


def spans(*lengths, steps=10):
    phases = [Phase(length, 1 / len(lengths)) for length in lengths]
    return phase_spans(phases, steps, batch_size=4)


def rows(dataset, count=None):
    batches = itertools.islice(dataset.as_numpy_iterator(), count)
    return [
        inputs["token_ids"][weights["sentence_order"] > 0]
        for inputs, _, weights in batches
    ]


def test_each_phase_reads_the_folder_of_its_length(prepare):
    data = open_folders(
        [prepare("long", 24), prepare("short", 16)],
        None,
        0.25,
        spans(16, 24),
        SETTINGS,
    )
    first, second = spans(16, 24)

    assert rows(data.batches(first, 0), 1)[0].shape[1] == 16
    assert rows(data.batches(second, 7), 1)[0].shape[1] == 24
    assert rows(data.evaluation(second), 1)[0].shape[1] == 24


def test_a_step_of_a_phase_is_found(prepare):
    data = open_folders([prepare("short")], None, 0.25, spans(16), SETTINGS)
    (span,) = spans(16)

    whole = rows(data.batches(span, 0), 5)
    later = rows(data.batches(span, 3), 2)

    for a, b in zip(whole[3:], later, strict=True):
        np.testing.assert_array_equal(a, b)
