"""The tokenizer that travels with prepared data, so that none need be named."""

import shutil
from pathlib import Path

from keras_albert.data.shards import TOKENIZER_FOLDER
from keras_albert.tokenizers.encoders import encoder_of
from keras_albert.tokenizers.encoders import load_encoder
from keras_albert.tokenizers.loading import PRESET_FILE
from keras_albert.tokenizers.loading import is_preset
from keras_albert.tokenizers.loading import load_tokenizer

_PRESET_ASSETS = Path("assets", "tokenizer")


class StoredTokenizer:
    """A tokenizer as an encoder, and as files for prepared data.

    Args:
        tokenizer: string or path of a vocabulary or of a preset's folder, or
            `AlbertTokenizer`, or `AlbertWordPieceTokenizer`.
    """

    def __init__(self, tokenizer):
        self._tokenizer = tokenizer
        self._is_path = isinstance(tokenizer, str | Path)
        if self._is_path:
            self._tokenizer = Path(tokenizer).expanduser()
            self.encoder = load_encoder(self._tokenizer)
        else:
            self.encoder = encoder_of(tokenizer)

    def write(self, folder: str | Path) -> str:
        """Writes the tokenizer into a folder of prepared data.

        Args:
            folder: string or path.

        Returns:
            The tokenizer's path inside the folder, for `load_tokenizer`.
        """
        target = Path(folder) / TOKENIZER_FOLDER
        shutil.rmtree(target, ignore_errors=True)
        name = self._write(target)
        stored = load_encoder(Path(folder) / name).fingerprint()
        if stored != self.encoder.fingerprint():
            raise RuntimeError("The stored tokenizer is not the one in use.")
        return name

    def _write(self, target):
        if not self._is_path:
            self._tokenizer.save_to_preset(str(target))
        elif self._tokenizer.is_dir() and not is_preset(self._tokenizer):
            # A folder of another library: its rules are in several files.
            load_tokenizer(self._tokenizer).save_to_preset(str(target))
        elif self._tokenizer.is_dir():
            shutil.copytree(
                self._tokenizer / _PRESET_ASSETS, target / _PRESET_ASSETS
            )
            shutil.copyfile(self._tokenizer / PRESET_FILE, target / PRESET_FILE)
        else:
            target.mkdir()
            shutil.copyfile(self._tokenizer, target / self._tokenizer.name)
            return f"{TOKENIZER_FOLDER}/{self._tokenizer.name}"
        return TOKENIZER_FOLDER
