import contextlib
import functools
import gzip
import os
import random
import resource
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import tensorflow as tf

from keras_albert.data import corpus_units
from keras_albert.data import preparation_steps
from keras_albert.data import prepare_workers
from keras_albert.data.preparation import prepare_corpus
from keras_albert.data.shards import read_manifest
from keras_albert.data.shards import read_token_counts
from keras_albert.data.shards import verify_shards
from keras_albert.data.spill import read_spill
from keras_albert.data.tokenized_corpus import tokenize_corpus
from keras_albert.data.tokenized_documents import identity_of
from keras_albert.tokenizers.loading import load_tokenizer
from tests.data.small_corpora import digests
from tests.data.small_corpora import documents
from tests.data.small_corpora import write_corpus
from tests.data.small_corpora import write_vocabulary

OPTIONS = {"sequence_length": 64, "seed": 3, "num_shards": 5}


@pytest.fixture(scope="module")
def vocabulary(tmp_path_factory):
    return write_vocabulary(tmp_path_factory.mktemp("v") / "vocab.txt")


@pytest.fixture
def prepare(vocabulary, tmp_path, monkeypatch):
    """Prepares in this process, in units of 4 kB, so that there are many."""
    monkeypatch.setattr(corpus_units, "_MIN_UNIT_BYTES", 4000)
    monkeypatch.setattr(corpus_units, "_UNIT_BYTES", 4000)

    def prepare(corpus, name="out", **options):
        options = {"workers": 0, **OPTIONS, **options}
        return prepare_corpus(corpus, vocabulary, tmp_path / name, **options)

    return prepare


@pytest.fixture
def corpus(tmp_path):
    return write_corpus(tmp_path / "corpus.txt")


def records_of(folder):
    """All examples of a folder, as lists, as TensorFlow reads them."""
    rows = []
    for shard in read_manifest(folder).shards:
        dataset = tf.data.TFRecordDataset(str(folder / shard.name))
        for record in dataset.as_numpy_iterator():
            features = tf.train.Example.FromString(record).features.feature
            rows.append(
                {
                    name: list(
                        feature.bytes_list.value or feature.int64_list.value
                    )
                    for name, feature in features.items()
                }
            )
    return rows


def test_all_text_is_in_the_shards(prepare, corpus, vocabulary):
    prepared = prepare(corpus)

    manifest = verify_shards(prepared.folder)
    tokenizer = load_tokenizer(prepared.folder / manifest.tokenizer)
    texts = documents()
    expected = tokenize_corpus(texts, tokenizer)
    found = {}
    for row in records_of(prepared.folder):
        (identity,) = row["document"]
        found.setdefault(identity, []).extend(row["token_ids"])
    borders = expected.sentence_offsets[expected.document_offsets]
    for text, start, stop in zip(texts, borders, borders[1:], strict=False):
        assert found.pop(identity_of(text)) == (
            expected.token_ids[start:stop].tolist()
        )
    assert not found

    summary, totals = expected.summary, manifest.totals
    assert totals.documents == summary.num_documents
    assert totals.sentences == summary.num_sentences
    assert totals.tokens == summary.num_tokens
    assert totals.unknown_tokens == expected.num_unknown_tokens
    assert totals.one_sentence_documents == summary.num_one_sentence_documents
    assert totals.bytes_lost == 0
    assert totals.bytes_read == len("".join(texts).encode())
    assert manifest.tokenizer_fingerprint == tokenizer.fingerprint()
    assert manifest.special_token_ids == {
        name: getattr(tokenizer, f"{name}_token_id")
        for name in ("pad", "unk", "cls", "sep", "mask")
    }
    counts = read_token_counts(prepared.folder, manifest)
    size = tokenizer.vocabulary_size()
    assert manifest.vocabulary_size == size
    assert (counts == np.bincount(expected.token_ids, minlength=size)).all()


def test_the_manifest_says_what_the_records_hold(prepare, corpus):
    prepared = prepare(corpus)

    manifest, rows = prepared.manifest, records_of(prepared.folder)
    assert manifest == read_manifest(prepared.folder)
    assert manifest.num_examples == manifest.totals.examples == len(rows)
    lengths = [len(row["token_ids"]) for row in rows]
    assert manifest.max_chunk_tokens == max(lengths)
    assert manifest.max_chunk_sentences == max(
        len(row["sentence_lengths"]) for row in rows
    )
    assert sum(shard.num_tokens for shard in manifest.shards) == sum(lengths)
    assert manifest.sequence_length == 64
    assert manifest.seed == 3
    assert set(digests(prepared.folder)) == {
        "manifest.json",
        "token_counts.npy",
        "vocab.txt",
        *(f"shard-0000{i}-of-00005.tfrecord" for i in range(5)),
    }


def test_bytes_depend_on_neither_workers_nor_files_nor_their_order(
    prepare, corpus, tmp_path
):
    expected = digests(prepare(corpus).folder)
    texts = documents()
    random.Random(1).shuffle(texts)
    parts = [texts[:20], texts[20:45], texts[45:]]
    files = [
        write_corpus(tmp_path / f"{i}.txt", p) for i, p in enumerate(parts)
    ]
    packed = tmp_path / "3.txt.gz"
    packed.write_bytes(gzip.compress(files[2].read_bytes()))
    files[2] = packed

    for workers in (1, 2, 4):
        prepared = prepare(files, f"out{workers}", workers=workers)
        assert digests(prepared.folder) == expected


def test_shards_may_be_written_several_at_once(prepare, corpus, monkeypatch):
    expected = digests(prepare(corpus).folder)
    monkeypatch.setattr(preparation_steps, "_MANY_SHARDS", 2)
    started = []
    write = prepare_workers.Worker.write_shards

    def writing(self, first, stop, num_units):
        started.append((first, stop))
        return write(self, first, stop, num_units)

    monkeypatch.setattr(prepare_workers.Worker, "write_shards", writing)

    assert digests(prepare(corpus, "other").folder) == expected
    assert started == [(0, 4), (4, 5)]


def test_settings_change_the_bytes(prepare, corpus):
    reference = digests(prepare(corpus).folder)

    for name, change in (
        ("seed", {"seed": 4}),
        ("length", {"sequence_length": 48}),
        ("short", {"short_sequence_probability": 0.9}),
    ):
        assert digests(prepare(corpus, name, **change).folder) != reference


def test_a_complete_folder_is_left_alone(prepare, corpus):
    first = prepare(corpus)
    times = {p: p.stat().st_mtime_ns for p in first.folder.rglob("*")}

    again = prepare(corpus)

    assert not first.was_complete
    assert again.was_complete
    assert again.manifest == first.manifest
    assert times == {p: p.stat().st_mtime_ns for p in first.folder.rglob("*")}


def test_other_settings_need_an_order_to_overwrite(prepare, corpus):
    prepare(corpus)

    with pytest.raises(FileExistsError, match="seed was 3, is 9"):
        prepare(corpus, seed=9)
    prepared = prepare(corpus, seed=9, overwrite=True, num_shards=2)

    assert digests(prepared.folder) == digests(
        prepare(corpus, "other", seed=9, num_shards=2).folder
    )


def test_a_corpus_that_grew_is_noticed(prepare, corpus):
    prepare(corpus)
    write_corpus(corpus, documents(70))

    with pytest.raises(FileExistsError, match="corpus.txt changed, came or"):
        prepare(corpus)


class StoppedError(Exception):
    pass


@pytest.mark.parametrize("moment", range(0, 26, 3))
def test_finished_work_is_not_repeated(prepare, corpus, monkeypatch, moment):
    """Stops before the n-th file is renamed, then goes on."""
    expected = digests(prepare(corpus, "undisturbed").folder)
    rename = os.replace
    names = []

    def stop(source, target):
        if len(names) == moment:
            raise StoppedError
        names.append(target.name)
        rename(source, target)

    monkeypatch.setattr(os, "replace", stop)
    with contextlib.suppress(StoppedError):
        prepare(corpus)
    first = list(names)
    moment = 10**6
    folder = prepare(corpus).folder

    assert digests(folder) == expected
    again = set(first) & set(names[len(first) :])
    again -= {"done.json", "token_counts.npy"}
    # Only a shard whose counts were not yet there.
    assert len(again) <= 1
    assert not again or first[-1] in again


def test_nothing_temporary_is_left(prepare, corpus):
    folder = prepare(corpus).folder

    hidden = [path.name for path in folder.iterdir() if path.name[0] == "."]
    assert hidden == []


def command(corpus, vocabulary, output, *more):
    return [
        *(sys.executable, "-m", "keras_albert.cli.main", "prepare"),
        *("--corpus", corpus, "--tokenizer", vocabulary, "--output", output),
        *("--sequence-length", "64", "--seed", "3", "--num-shards", "5"),
        *("--workers", "2", *more),
    ]


@pytest.fixture(scope="module")
def larger_corpus(tmp_path_factory):
    """Enough for some seconds of work in seven units."""
    path = tmp_path_factory.mktemp("corpus") / "larger.txt"
    return write_corpus(path, documents(2000))


def test_killed_at_any_moment_it_gives_the_same_bytes(
    larger_corpus, vocabulary, tmp_path
):
    arguments = larger_corpus, vocabulary
    started = time.monotonic()
    subprocess.run(
        command(*arguments, tmp_path / "whole"),
        check=True,
        capture_output=True,
    )
    seconds = time.monotonic() - started
    expected = digests(tmp_path / "whole")
    output = tmp_path / "killed"
    moments = random.Random(7)
    num_killed = 0
    for _ in range(4):
        with subprocess.Popen(
            command(*arguments, output),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        ) as process:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(seconds * moments.uniform(0.2, 0.9))
            num_killed += process.poll() is None
            # The whole group, or the main process alone.
            kill = moments.choice((os.killpg, os.kill))
            with contextlib.suppress(ProcessLookupError):
                kill(process.pid, signal.SIGKILL)
    assert num_killed

    subprocess.run(command(*arguments, output), check=True, capture_output=True)

    assert digests(output) == expected


def test_ctrl_c_says_what_remains_and_goes_on(
    larger_corpus, vocabulary, tmp_path
):
    output = tmp_path / "out"
    arguments = command(larger_corpus, vocabulary, output)
    with subprocess.Popen(
        arguments,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        # A shell starts background jobs with Ctrl-C ignored.
        preexec_fn=functools.partial(
            signal.signal, signal.SIGINT, signal.default_int_handler
        ),
    ) as process:
        units = output / ".work" / "units"
        while not list(units.glob("unit-*.bin")):
            assert process.poll() is None
            time.sleep(0.01)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    message = " ".join(errors.split())
    assert f"{output} keeps what is finished; the same command goes" in message
    assert "Traceback" not in errors
    assert list(units.glob("unit-*.bin"))
    subprocess.run(arguments, check=True, capture_output=True)
    assert read_manifest(output).totals.documents == 2000


def test_ctrl_c_while_workers_start_prints_no_traceback(
    larger_corpus, vocabulary, tmp_path
):
    output = tmp_path / "out"
    with subprocess.Popen(
        command(larger_corpus, vocabulary, output),
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=functools.partial(
            signal.signal, signal.SIGINT, signal.default_int_handler
        ),
    ) as process:
        children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
        # The resource tracker of multiprocessing, then the workers.
        while len(children.read_text().split()) < 2:
            time.sleep(0.005)
        time.sleep(0.1)
        os.killpg(process.pid, signal.SIGINT)
        _, errors = process.communicate(timeout=30)

    assert process.returncode == 130
    assert "Traceback" not in errors


def test_memory_does_not_grow_with_the_corpus(vocabulary, tmp_path):
    code = (
        "import resource, sys\n"
        "from keras_albert.data.preparation import prepare_corpus\n"
        "if __name__ == '__main__':\n"
        "    prepare_corpus(*sys.argv[1:4], sequence_length=128, workers=1)\n"
        "    status = open('/proc/self/status').read()\n"
        "    print(status.partition('VmHWM:')[2].split()[0])\n"
        "    children = resource.getrusage(resource.RUSAGE_CHILDREN)\n"
        "    print(children.ru_maxrss)\n"
    )
    script = tmp_path / "measure.py"
    script.write_text(code)
    text = "\n\n".join(documents(1500)).encode()
    peaks = []
    for copies in (2, 20):
        path = tmp_path / f"{copies}.txt"
        # Different text each time: copies would all go to the same shards.
        path.write_bytes(
            b"\n\n".join(
                text.replace(b"shard", b"shard%d" % i) for i in range(copies)
            )
        )
        output = subprocess.run(
            [sys.executable, script, path, vocabulary, tmp_path / f"o{copies}"],
            check=True,
            capture_output=True,
            text=True,
        )
        peaks.append([int(line) for line in output.stdout.split()])
    print(f"peak kB of the main process and a worker: {peaks}")

    small, large = np.array(peaks)
    assert (tmp_path / "20.txt").stat().st_size > 15e6
    assert (large <= 1.2 * small).all()
    assert large.max() < 1_500_000


def test_one_giant_document_is_cut_and_counted(prepare, tmp_path):
    text = "\n".join(documents(2500)).replace("\n\n", "\n")
    path = write_corpus(tmp_path / "giant.txt", [text])

    totals = prepare(path).manifest.totals

    assert totals.cut_documents == 1
    assert totals.documents == -(-len(text) // (1 << 20)) > 1
    assert totals.bytes_lost == 0


@pytest.mark.parametrize("num_documents", [50, 5000])
def test_a_blank_line_after_every_sentence_is_refused(
    prepare, tmp_path, num_documents
):
    texts = [f"The rain was on the {i}." for i in range(num_documents)]
    path = write_corpus(tmp_path / "blank.txt", texts)

    with pytest.raises(ValueError, match="each of the .* is a single sentence"):
        prepare(path)

    assert not (tmp_path / "out").exists()
    prepared = prepare(path, allow_single_sentences=True)
    assert prepared.manifest.totals.one_sentence_documents == num_documents


def test_hopeless_corpora_are_refused_early(prepare, tmp_path, monkeypatch):
    monkeypatch.setattr(preparation_steps, "_TELLING_DOCUMENTS", 100)
    texts = [f"The rain was on the {i}." for i in range(5000)]
    path = write_corpus(tmp_path / "blank.txt", [*texts, "One. Two."])
    seen = []

    class Progress:
        def add_task(self, description, total):
            return description

        def advance(self, task, amount):
            seen.append(amount)

    with pytest.raises(ValueError, match="is a single sentence"):
        prepare(path, progress=Progress())

    assert sum(seen) < 0.2 * path.stat().st_size


HOSTILE = {
    "long lines": ["the rain of " * 5000 + "end.\nThe end."],
    "one long word": ["a" * 60_000 + " the end.\nThe end."],
    "control characters": ["The \x00rain\x07 was.\x1b On\x0c that.\n\x01\x02"],
    "mixed scripts": ["The 北京大学。好人 was! Дом стоял. كتب الولد. The end."],
    "windows": ["The rain was.\r\nOn that.\r"],
    "separators": ["The rain\u2028was.\x85 On that.\u2029It is.\ufeff\u200b"],
    "emoji": ["The 👩‍👩‍👧 was. 🇩🇪! On that. e\u0301\u0301\u0301."],
}


@pytest.mark.parametrize("name", HOSTILE)
def test_strange_text_is_prepared_whole(prepare, tmp_path, name):
    text = "\n\n".join(HOSTILE[name])
    path = tmp_path / "strange.txt"
    path.write_bytes(text.encode())
    plain = write_corpus(tmp_path / "plain.txt")

    prepared = prepare([path, plain])

    totals = verify_shards(prepared.folder).totals
    assert totals.documents == 61
    assert totals.bytes_lost == 0
    assert sum(len(r["token_ids"]) for r in records_of(prepared.folder)) == (
        totals.tokens
    )


def test_windows_line_ends_change_nothing(prepare, corpus, tmp_path):
    windows = tmp_path / "windows.txt"
    windows.write_bytes(corpus.read_bytes().replace(b"\n", b"\r\n"))

    first, second = prepare(corpus), prepare(windows, "windows")

    assert digests(first.folder) == digests(second.folder)


@pytest.mark.parametrize("workers", [0, 2])
def test_a_truncated_file_is_named(
    prepare, corpus, larger_corpus, tmp_path, workers
):
    # Damaged beyond what is looked at before.
    content = gzip.compress(larger_corpus.read_bytes())
    path = tmp_path / "broken.txt.gz"
    path.write_bytes(content[:-5000])

    with pytest.raises(ValueError, match="broken.txt.gz is not a complete"):
        prepare([corpus, path], workers=workers)

    assert not (tmp_path / "out").exists()


def test_bytes_that_are_no_text_are_named(prepare, larger_corpus, tmp_path):
    path = tmp_path / "broken.txt"
    path.write_bytes(larger_corpus.read_bytes() + b"\n\xff\n")

    with pytest.raises(ValueError, match=r"broken.txt is not UTF-8: byte \d+"):
        prepare(path)


def test_a_folder_is_no_corpus(prepare, tmp_path):
    with pytest.raises(ValueError, match="is a folder. Use a pattern"):
        prepare(tmp_path)

    assert not (tmp_path / "out").exists()


def test_a_file_that_vanishes_is_named_and_may_come_back(
    prepare, corpus, tmp_path, monkeypatch
):
    other = write_corpus(tmp_path / "other.txt", documents(30, seed=1))
    shutil.copy2(other, tmp_path / "kept")
    read_units = preparation_steps.read_units

    def reading(*arguments):
        units = read_units(*arguments)
        yield next(units)
        other.unlink()
        yield from units

    with monkeypatch.context() as patch:
        patch.setattr(preparation_steps, "read_units", reading)
        with pytest.raises(FileNotFoundError, match="other.txt was there"):
            prepare([corpus, other])
    assert list((tmp_path / "out" / ".work" / "units").glob("unit-*"))
    shutil.copy2(tmp_path / "kept", other)

    assert prepare([corpus, other]).manifest.totals.documents == 90


def test_a_file_that_changes_meanwhile_is_named(prepare, corpus, monkeypatch):
    read_units = preparation_steps.read_units

    def reading(*arguments):
        yield from read_units(*arguments)
        os.utime(corpus, ns=(1, 1))

    monkeypatch.setattr(preparation_steps, "read_units", reading)
    with pytest.raises(ValueError, match="corpus.txt changed while it was"):
        prepare(corpus)


def test_a_full_disk_is_said_and_nothing_is_lost(
    larger_corpus, vocabulary, tmp_path
):
    disk = tmp_path / "disk"
    disk.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=900k", "tmpfs", disk],
        capture_output=True,
    )
    if mounted.returncode:
        pytest.skip("needs the right to mount a small disk")
    try:
        arguments = command(larger_corpus, vocabulary, disk / "out")
        result = subprocess.run(
            arguments, capture_output=True, text=True, timeout=60
        )
        message = " ".join(result.stderr.split())
        assert result.returncode == 1, result.stderr
        assert f"There is no room left for {disk / 'out'}" in message
        assert "Traceback" not in result.stderr
        assert not list(disk.rglob(".writing-*"))
        units = sorted((disk / "out" / ".work" / "units").iterdir())
        assert units
        for unit in units:
            read_spill(unit, 0, 5)
        kept = {unit: unit.stat().st_mtime_ns for unit in units}
        subprocess.run(["mount", "-o", "remount,size=50m", disk], check=True)
        subprocess.run(arguments, check=True, capture_output=True)
        assert kept
        assert verify_shards(disk / "out").totals.documents == 2000
    finally:
        subprocess.run(["umount", disk], check=True)


def test_a_limit_on_files_is_said_too(larger_corpus, vocabulary, tmp_path):
    def limit():
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))

    result = subprocess.run(
        command(larger_corpus, vocabulary, tmp_path / "out"),
        capture_output=True,
        text=True,
        timeout=60,
        preexec_fn=limit,
    )

    assert result.returncode == 1
    assert "There is no room left for" in " ".join(result.stderr.split())
    assert not list(tmp_path.rglob(".writing-*"))


@pytest.mark.parametrize(
    "options, message",
    [
        ({"sequence_length": 7}, "`sequence_length` must be at least 8.*=7"),
        ({"workers": -1}, "`workers` must be at least 0"),
        ({"num_shards": 0}, "`num_shards` must be at least 1"),
        ({"short_sequence_probability": 1.5}, r"lie in \[0, 1\].*1.5"),
        ({"word_segmenter": "x"}, "`word_segmenter` must be one of jieba"),
    ],
)
def test_bad_arguments_are_named_before_any_work(
    prepare, corpus, tmp_path, options, message
):
    with pytest.raises(ValueError, match=message):
        prepare(corpus, **options)

    assert not (tmp_path / "out").exists()


def test_text_without_tokens_is_refused(prepare, tmp_path):
    path = write_corpus(tmp_path / "a.txt", ["\x01\n\x02", "\x03"])

    with pytest.raises(ValueError, match="no document with a token"):
        prepare(path)


def test_chinese_words_of_jieba(prepare, tmp_path):
    path = write_corpus(tmp_path / "a.txt", ["北京大学好人。\n北京。"] * 2)

    plain = records_of(prepare(path).folder)
    words = records_of(prepare(path, "words", word_segmenter="jieba").folder)

    def starts(rows):
        return [
            np.unpackbits(
                np.frombuffer(row["word_starts"][0], "uint8"),
                bitorder="little",
                count=len(row["token_ids"]),
            ).tolist()
            for row in rows
        ]

    assert starts(plain)[0] == [1] * 10
    # 北京大学 | 好人 | 。 and 北京 | 。
    assert starts(words)[0] == [1, 0, 0, 0, 1, 0, 1, 1, 0, 1]
    assert read_manifest(tmp_path / "words").word_segmenter == "jieba"
