import numpy as np

from keras_albert.training.phases import Phase
from keras_albert.training.phases import phase_spans
from keras_albert.training.run_data import BatchSettings
from keras_albert.training.run_evaluation import RunEvaluation
from keras_albert.training.run_text import tokenize_text


def test_floors_and_pairs_are_those_of_the_held_out_targets(
    documents, tokenizer
):
    settings = BatchSettings("sop", 0, 2)
    data = tokenize_text(documents, documents[:3], tokenizer, settings)
    (span,) = phase_spans([Phase(16)], 10, 4)

    evaluation = RunEvaluation(data, [span])

    batches = list(evaluation.datasets[0].as_numpy_iterator())
    ids = np.concatenate(
        [t["masked_lm"][w["masked_lm"] > 0] for _, t, w in batches]
    )
    shares = (data.token_counts + 1) / (data.token_counts + 1).sum()
    np.testing.assert_allclose(
        evaluation.masked_lm_floor, -np.log(shares[ids]).mean(), rtol=1e-6
    )
    assert evaluation.masked_lm_accuracy_floor == np.mean(
        ids == data.token_counts.argmax()
    )
    pairs = sum((w["sentence_order"] > 0).sum() for _, _, w in batches)
    assert evaluation.num_pairs == pairs > 0
