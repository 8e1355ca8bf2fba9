"""The local server, which speaks TensorFlow Serving's contract."""
