"""Which axis of which ALBERT weight is split when a model is parallel.

The layout of Megatron: each device has some heads, some of the feed-forward
block's units and some rows of the vocabulary, so that one sum over the devices
ends the attention block and one the feed-forward block. What is small, or does
not divide, stays whole on every device.

Reference:
    [Shoeybi et al., 2019](https://arxiv.org/abs/1909.08053), section 3.
"""

import re

import keras

MODEL_AXIS = "model"
DATA_AXIS = "batch"

_ATTENTION = r".*/self_attention_\d+"
_FEED_FORWARD = r".*/feed_forward_\d+"
# Path of a weight -> the axis that is split.
_SPLIT_AXIS = {
    f"{_ATTENTION}/(query|key|value)/kernel": 1,
    f"{_ATTENTION}/(query|key|value)/bias": 0,
    f"{_ATTENTION}/attention_output/kernel": 0,
    f"{_FEED_FORWARD}/intermediate/kernel": 1,
    f"{_FEED_FORWARD}/intermediate/bias": 0,
    f"{_FEED_FORWARD}/feed_forward_output/kernel": 0,
    r"(.*/)?token_embedding/embeddings": 0,
    r"(.*/)?masked_lm_head/output_bias": 0,
}


def weight_axes(path, shape, model_shards):
    """Returns how a weight lies on the devices that share a model.

    Args:
        path: string. The path of a `keras.Variable`.
        shape: tuple of int.
        model_shards: int. Devices that share one copy of the model.

    Returns:
        Tuple with `"model"` for the axis that is split and `None` for others.

    Example:

    >>> weight_axes("embeddings/token_embedding/embeddings", (30000, 128), 4)
    ('model', None)
    >>> weight_axes("pooler/kernel", (768, 768), 4)
    (None, None)
    """
    axes = [None] * len(shape)
    for pattern, axis in _SPLIT_AXIS.items():
        if re.fullmatch(pattern, path) and shape[axis] % model_shards == 0:
            axes[axis] = MODEL_AXIS
    return tuple(axes)


class AlbertModelParallel(keras.distribution.ModelParallel):
    """`keras.distribution.ModelParallel` with the layout of ALBERT.

    Args:
        mesh: `keras.distribution.DeviceMesh` with the axes `"batch"` and
            `"model"`.
    """

    def __init__(self, mesh):
        super().__init__(
            layout_map=keras.distribution.LayoutMap(mesh),
            batch_dim_name=DATA_AXIS,
            auto_shard_dataset=False,
        )
        self.model_shards = mesh.shape[mesh.axis_names.index(MODEL_AXIS)]

    def get_variable_layout(self, variable):
        """Returns the `TensorLayout` of a variable."""
        given = getattr(variable, "_layout", None)
        if given is not None:
            return given
        axes = weight_axes(variable.path, variable.shape, self.model_shards)
        return keras.distribution.TensorLayout(axes, self.device_mesh)
