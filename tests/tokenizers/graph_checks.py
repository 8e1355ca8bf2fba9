"""Helpers that look into a traced graph."""


def operations_of(tokenizer):
    """Names of all operations in the graph of a tokenizer."""
    import tensorflow as tf

    @tf.function(input_signature=[tf.TensorSpec([None], tf.string)])
    def encode(text):
        return tokenizer.tokenize_graph(text).flat_values

    graph = encode.get_concrete_function().graph.as_graph_def()
    nodes = list(graph.node)
    nodes += [n for f in graph.library.function for n in f.node_def]
    functions = {f.signature.name for f in graph.library.function}
    return {node.op for node in nodes} - functions


def encode_in_dataset(tokenizer, texts):
    import tensorflow as tf

    dataset = tf.data.Dataset.from_tensor_slices(texts)
    return [row.numpy().tolist() for row in dataset.map(tokenizer)]
