"""Checkpoints as TF1 training code writes them, with changed names."""

import shutil

import tensorflow as tf


def read_checkpoint(folder):
    reader = tf.train.load_checkpoint(str(folder / "model.ckpt"))
    names = reader.get_variable_to_shape_map()
    return {name: reader.get_tensor(name) for name in names}


def rewritten(original, folder, change):
    """A copy of a checkpoint after `change` of its dict of arrays."""
    folder.mkdir()
    config = "albert_config.json"
    shutil.copyfile(original / config, folder / config)
    save_checkpoint(folder / "model.ckpt", change(read_checkpoint(original)))
    return folder


def save_checkpoint(prefix, arrays):
    v1 = tf.compat.v1
    with tf.Graph().as_default(), v1.Session() as session:
        variables = {
            name: v1.Variable(value, name=name.replace("/", "_"))
            for name, value in arrays.items()
        }
        session.run(v1.global_variables_initializer())
        v1.train.Saver(variables).save(
            session, str(prefix), write_meta_graph=False
        )
