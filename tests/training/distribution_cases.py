"""What is computed alike on one device, on several and in several processes.

Run as a program, it trains under the distribution of its environment and
writes loss and weights to a folder; see `test_distribution`.
"""

import os
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

BATCH = 16
LENGTH = 12
PREDICTIONS = 4
VOCABULARY = 16
STEPS = 4
SIZES = {
    "vocabulary_size": VOCABULARY,
    "num_layers": 2,
    "num_heads": 4,
    "embedding_dim": 8,
    "hidden_dim": 16,
    # Wide enough for `layers.one_pass`.
    "intermediate_dim": 256,
    "max_sequence_length": LENGTH,
    "hidden_dropout": 0.2,
    "attention_dropout": 0.2,
    "unroll": False,
}


def batch(seed):
    """A batch whose first rows have few targets and whose last have many."""
    generator = np.random.default_rng(seed)
    lengths = generator.integers(5, LENGTH + 1, BATCH)
    real = np.arange(LENGTH) < lengths[:, None]
    ids = generator.integers(5, VOCABULARY, (BATCH, LENGTH)) * real
    inputs = {
        "token_ids": ids,
        "segment_ids": (np.arange(LENGTH) > 3) & real,
        "padding_mask": real,
        "mask_positions": np.tile(np.arange(1, 5), (BATCH, 1)),
    }
    targets = {
        "masked_lm": generator.integers(5, VOCABULARY, (BATCH, PREDICTIONS)),
        "sentence_order": generator.integers(0, 2, BATCH),
    }
    share = np.linspace(0.0, 1.0, BATCH)
    weights = {
        "masked_lm": generator.random((BATCH, PREDICTIONS)) < share[:, None],
        "sentence_order": generator.random(BATCH) < share + 0.05,
    }

    def cast(tree, dtype):
        return {name: value.astype(dtype) for name, value in tree.items()}

    return (
        cast(inputs, "int32"),
        cast(targets, "int32"),
        cast(weights, "float32"),
    )


def dataset(seeds):
    """Whole batches, one for each seed."""
    import tensorflow as tf

    from keras_albert.training.run_loop import untuned

    def generate():
        for seed in seeds:
            yield batch(seed)

    one = batch(0)
    signature = tf.nest.map_structure(
        lambda x: tf.TensorSpec(x.shape, x.dtype), one
    )
    made = tf.data.Dataset.from_generator(generate, output_signature=signature)
    made = made.apply(tf.data.experimental.assert_cardinality(len(seeds)))
    return untuned(made)


def make_model(optimizer, dropout=True, dtype=None):
    from keras_albert.models.backbone import AlbertBackbone
    from keras_albert.models.pretrainer import AlbertPretrainer
    from keras_albert.training.seeding import seed_dropout
    from keras_albert.training.seeding import seed_weights

    sizes = {**SIZES, "dtype": dtype}
    if not dropout:
        sizes.update(hidden_dropout=0.0, attention_dropout=0.0)
    model = AlbertPretrainer(AlbertBackbone(**sizes))
    seed_weights(model.trainable_variables, seed=1, stddev=0.2)
    seed_dropout(model, seed=1)
    model.compile(make_optimizer(optimizer))
    return model


def make_optimizer(name):
    import keras

    from keras_albert.training.run_optimizers import RunLamb

    if name == "sgd":  # weights move by the gradient itself
        return keras.optimizers.SGD(1.0)
    return RunLamb(
        0.01,
        weight_decay=0.1,
        epsilon=1e-3,
        global_clipnorm=0.05,
        gradient_accumulation_steps=2,
        use_ema=True,
        ema_momentum=0.5,
    )


def train(distribution, optimizer, dropout=True, steps=STEPS, dtype=None):
    """Trains; returns losses of the steps and the final weights."""
    with distribution.scope():
        model = make_model(optimizer, dropout, dtype)
        data = distribution.own_rows(dataset(range(steps)))
        # An epoch each: the records of an epoch are exact on all devices.
        history = model.fit(
            data.repeat(),
            steps_per_epoch=1,
            epochs=steps,
            shuffle=False,
            verbose=0,
        ).history
        return {
            "model": model,
            "loss": history["loss"],
            "masked_lm_loss": history["masked_lm_loss"],
            "accuracy": history["masked_lm_accuracy"],
            "weights": weights(distribution, model),
            "averages": averages(distribution, model),
        }


def overflow_on_the_last_device(distribution, model):
    """Trains on with a loss scale that only the last device cannot bear.

    Returns:
        The largest change of a weight, and by how much the scale fell.
    """
    import keras
    import tensorflow as tf

    def on_last_rows(inputs, targets, weights):
        is_last = tf.cast(tf.range(BATCH) >= BATCH // 2, "float32")
        return (
            inputs,
            targets,
            {
                "masked_lm": tf.tile(is_last[:, None], [1, PREDICTIONS]),
                "sentence_order": is_last,
            },
        )

    before = weights(distribution, model)
    with distribution.scope():
        scale = model.optimizer.dynamic_scale
        scale.assign(2.0**30)
        data = dataset([0, 1]).map(on_last_rows)
        data = distribution.own_rows(data)
        model.fit(data, shuffle=False, verbose=0)
        left = float(keras.ops.convert_to_numpy(scale))
    after = weights(distribution, model)
    changes = [abs(a - b).max() for a, b in zip(before, after, strict=True)]
    return [np.max(changes), left / 2.0**30]


def weights(distribution, model):
    import keras

    with distribution.whole_weights(model):
        return [
            keras.ops.convert_to_numpy(v).copy()
            for v in model.trainable_variables
        ]


def averages(distribution, model):
    from keras_albert.training.averaging import averaged_weights

    with averaged_weights(model):
        return weights(distribution, model)


def evaluate_and_predict(distribution, model):
    """Evaluates two batches and predicts all their rows."""
    with distribution.scope():
        data = distribution.own_rows(dataset([7, 8]))
        scores = model.evaluate(data, return_dict=True, verbose=0)
        rows = model.predict(data, verbose=0)
    return scores, {name: np.asarray(value) for name, value in rows.items()}


def pretrain(output, distribution="auto", **changes):
    """The smallest run of `pretrain`, on letters that follow each other."""
    from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer
    from keras_albert.training.pretrain import pretrain

    letters = "abcdefgh"
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    line = " ".join(letters)
    sizes = {
        name: value
        for name, value in SIZES.items()
        if name not in {"vocabulary_size", "max_sequence_length"}
    }
    return pretrain(
        corpus=[[line[2 * i :] + " " + line] * 3 for i in range(4)] * 5,
        tokenizer=AlbertWordPieceTokenizer(vocabulary=[*special, *letters]),
        config={
            **sizes,
            "max_sequence_length": 32,
            "hidden_dropout": 0.0,
            "attention_dropout": 0.0,
        },
        output=output,
        distribution=distribution,
        **{
            "steps": 12,
            "batch_size": 8,
            "sequence_length": 16,
            "evaluation_every": 6,
            "held_out_share": 0.1,
            "optimizer": "lamb",
            "accumulate": 2,
            "ema_momentum": 0.5,
            "learning_rate": 0.01,
            "jit_compile": os.environ["KERAS_BACKEND"] == "jax",
            **changes,
        },
    )


def stop_and_go_on(output, name, process, **changes):
    """Asks one process to stop a run of several, then goes on with it."""
    from keras_albert.training.callbacks import TrainingInterrupted

    asked = [signal_at_step(2)] if process == 1 else []
    with pytest.raises(TrainingInterrupted) as stop:
        pretrain(output, name, callbacks=asked, **changes)
    # Also what a process says that does not write it.
    assert stop.value.checkpoint.is_relative_to(output)
    run = pretrain(output, name, **changes)
    return {
        "run/resumed_from": run.resumed_from,
        "run/val_loss": [record["val_loss"] for record in run.history],
    }


def start_unlike(output, name, process):
    """Starts a run with another seed in each process; returns the error."""
    with pytest.raises(ValueError) as error:
        pretrain(output, name, seed=process)
    return str(error.value)


def lose_a_process(output, name, process):
    """Kills process 1 in a run; returns what process 0 says, and when."""
    if process == 1:
        pretrain(output, name, callbacks=[signal_at_step(8, signal.SIGKILL)])
    began = time.monotonic()
    with pytest.raises(ConnectionResetError) as error:
        pretrain(output, name, steps=12)
    return {
        "lost/error": str(error.value),
        "lost/seconds": time.monotonic() - began,
    }


def signal_at_step(step, number=signal.SIGTERM):
    import keras

    class Stop(keras.callbacks.Callback):
        left = step

        def on_train_batch_begin(self, batch, logs=None):
            self.left -= 1
            if self.left == 0:
                os.kill(os.getpid(), number)

    return Stop()


def main(folder, name, logical_devices="1"):
    """Trains, evaluates, predicts, pretrains; writes what came out."""
    from keras_albert.training.distribution import distribute

    _split_cpu(int(logical_devices))
    folder = Path(folder)
    if name == "jax":
        np.savez(folder / "jax_0.npz", **on_meshes())
        return
    distribution = distribute(name)
    process = distribution.process_index
    file = folder / f"{name}_{process}.npz"
    if distribution.num_processes == 1:
        np.savez(file, **train_alike(distribution))
        return
    found = {"unlike": start_unlike(folder / f"{name}_unlike", name, process)}
    found |= scores_and_rows(distribution, fresh_model(distribution))
    found |= stop_and_go_on(folder / f"{name}_run", name, process)
    if name == "data_parallel":
        found |= split_over_processes(folder / "model_parallel_run", process)
    # Processes that write nothing else must know the same.
    np.savez(file, **found)
    # JAX, with several devices in a process, waits 100 seconds and aborts.
    if name == "multi_worker":
        found |= lose_a_process(folder / f"{name}_lost", name, process)
        np.savez(file, **found)


def split_over_processes(output, process):
    """Models split over a process's own devices, and over both processes."""
    from keras_albert.training.distribution import distribute

    found = {}
    for shards in (2, 4):
        split = distribute("model_parallel", model_shards=shards)
        result = train(split, "lamb")
        prefix = f"{shards}_shards"
        found |= values(f"{prefix}/lamb", result)
        rows = scores_and_rows(split, result["model"])
        found |= {f"{prefix}/{key}": value for key, value in rows.items()}
        found[f"{prefix}/share"] = own_share(result["model"])
    run = stop_and_go_on(output, "model_parallel", process, model_shards=4)
    return found | {f"4_shards/{key}": value for key, value in run.items()}


def train_alike(distribution):
    """What must be the same on two replicas of TensorFlow's."""
    found = values("sgd", train(distribution, "sgd", True, steps=1))
    result = train(distribution, "lamb", dropout=False)
    found |= values("lamb", result)
    found |= scores_and_rows(distribution, result["model"])
    return found | train_in_float16(distribution)


def train_in_float16(distribution):
    """Clipped, accumulated and averaged, then with an overflow."""
    result = train(distribution, "lamb", dropout=False, dtype="mixed_float16")
    found = values("float16", result)
    found["float16/overflow"] = overflow_on_the_last_device(
        distribution, result["model"]
    )
    return found


def on_meshes():
    """What must be the same on any number of JAX's devices."""
    import keras

    from keras_albert.training.distribution import distribute
    from keras_albert.training.jax_distribution import MeshDistribution

    two = MeshDistribution(
        "data_parallel",
        keras.distribution.DataParallel(
            devices=keras.distribution.list_devices()[:2],
            auto_shard_dataset=False,
        ),
    )
    found = values("2/sgd", train(two, "sgd", steps=1))
    found |= values("8/lamb", train(distribute("data_parallel"), "lamb"))
    split = distribute("model_parallel", model_shards=2)
    result = train(split, "lamb")
    found |= values("4x2/lamb", result)
    found["4x2/share"] = own_share(result["model"])
    found |= train_in_float16(two)
    found |= scores_and_rows(split, result["model"])
    for unroll in (False, True):
        found[f"reduced/{int(unroll)}"] = reduced_numbers(two, unroll)
    return found


def own_share(model):
    """The parts that a device has of a weight and of its average."""
    index, kernel = next(
        (index, v)
        for index, v in enumerate(model.trainable_variables)
        if v.path.endswith("intermediate/kernel")
    )
    average = model.optimizer._model_variables_moving_average[index]
    return [
        v.value.addressable_shards[0].data.size / v.value.size
        for v in (kernel, average)
    ]


def reduced_numbers(distribution, unroll):
    """Sizes of all arrays summed over devices in a compiled training step.

    A sum inside a loop counts once for each turn.
    """
    import re

    import jax
    import keras

    SIZES["unroll"] = unroll
    with distribution.scope():
        model = make_model("sgd", dropout=False)
        mesh = distribution.distribution.device_mesh.backend_mesh
        rows = jax.sharding.NamedSharding(
            mesh, jax.sharding.PartitionSpec("batch")
        )
        data = jax.device_put(batch(0), rows)
        model._symbolic_build(data_batch=data)
        model.optimizer.build(model.trainable_variables)
        state = model._get_jax_state(
            trainable_variables=True,
            non_trainable_variables=True,
            optimizer_variables=True,
            metrics_variables=True,
        )
        text = jax.jit(model.train_step).lower(state, data).compile().as_text()
    assert keras.backend.backend() == "jax"
    sizes = []
    for line in text.splitlines():
        found = re.search(r" = (.*) all-reduce(-start)?\(", line)
        if found is None:
            continue
        turns = SIZES["num_layers"] if "while/body" in line else 1
        for shape in re.findall(r"\w\d+\[([\d,]*)\]", found[1]):
            lengths = [int(each) for each in shape.split(",") if each]
            sizes += [int(np.prod(lengths))] * turns
    return sizes


def values(prefix, result):
    """The numbers of `train` by names that go into one file."""
    found = {
        f"{prefix}/{key}": result[key]
        for key in ("loss", "masked_lm_loss", "accuracy")
    }
    for kind in ("weights", "averages"):
        for index, weight in enumerate(result[kind]):
            found[f"{prefix}/{kind}/{index:02d}"] = weight
    return found


def scores_and_rows(distribution, model):
    scores, rows = evaluate_and_predict(distribution, model)
    return {f"scores/{k}": v for k, v in scores.items()} | {
        f"rows/{k}": v for k, v in rows.items()
    }


def fresh_model(distribution):
    with distribution.scope():
        return make_model("sgd")


def _split_cpu(number):
    import tensorflow as tf

    if number > 1 and os.environ["KERAS_BACKEND"] == "tensorflow":
        cpu = tf.config.list_physical_devices("CPU")[0]
        one = tf.config.LogicalDeviceConfiguration()
        tf.config.set_logical_device_configuration(cpu, [one] * number)


if __name__ == "__main__":
    main(*sys.argv[1:])
