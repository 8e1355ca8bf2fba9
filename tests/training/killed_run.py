"""A pretraining run in a process that kills itself while it saves a state.

    python -m tests.training.killed_run ARGUMENTS.json STEP

The file holds arguments of `pretrain` as JSON, with a vocabulary as tokenizer.
"""

import json
import os
import signal
import sys

from keras_albert.tokenizers.word_piece import AlbertWordPieceTokenizer
from keras_albert.training import state_files
from keras_albert.training.pretrain import pretrain


def main(path, step):
    with open(path, encoding="utf-8") as file:
        arguments = json.load(file)
    arguments["tokenizer"] = AlbertWordPieceTokenizer(
        vocabulary=arguments["tokenizer"]
    )
    digest = state_files._sha256

    def kill(file):
        """Stands where the weights are written and the proof is not."""
        if f"step-{int(step):08d}" in file.name:
            os.kill(os.getpid(), signal.SIGKILL)
        return digest(file)

    state_files._sha256 = kill
    pretrain(**arguments)


if __name__ == "__main__":
    main(*sys.argv[1:])
