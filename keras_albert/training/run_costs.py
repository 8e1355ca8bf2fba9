"""What the steps of a run cost: tokens and arithmetic, by phase."""

from keras_albert.data.masking import default_num_predictions
from keras_albert.training.plan_estimate import StepShape
from keras_albert.training.plan_estimate import useful_flops


class RunCosts:
    """Tokens and floating-point operations of every step of a run.

    Args:
        spans: list of `PhaseSpan`.
        backbone: dict. Arguments of `AlbertBackbone`.

    Example:

    >>> from keras_albert.training.phases import Phase, phase_spans
    >>> spans = phase_spans([Phase(128)], steps=10, batch_size=32)
    >>> arguments = {"num_layers": 4, "hidden_dim": 64, "embedding_dim": 32,
    ...              "intermediate_dim": 256, "vocabulary_size": 1000}
    >>> RunCosts(spans, arguments).tokens(0)
    4096
    """

    def __init__(self, spans, backbone):
        self.spans = spans
        self._flops = [_span_flops(span, backbone) for span in spans]

    def tokens(self, step):
        """Tokens of the update that follows `step`, padding included."""
        span = self.spans[self._index(step)]
        return span.batch_size * span.sequence_length

    def flops(self, step):
        """Operations of that update, without what `remat` does twice."""
        return self._flops[self._index(step)]

    def flops_left(self, step):
        """Operations from `step` to the end of the run."""
        return sum(
            (span.num_steps - span.steps_before(step)) * flops
            for span, flops in zip(self.spans, self._flops, strict=True)
        )

    def _index(self, step):
        for index, span in enumerate(self.spans):
            if span.has(step):
                return index
        return len(self.spans) - 1


def _span_flops(span, backbone):
    depth = span.num_layers or backbone["num_layers"]
    shape = StepShape(
        {**backbone, "num_layers": depth},
        span.batch_size,
        span.sequence_length,
        default_num_predictions(span.sequence_length),
    )
    return useful_flops(shape)
