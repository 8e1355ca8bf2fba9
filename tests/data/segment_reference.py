"""Split, swap, trim and pack as plain loops: the judge of the graph."""

import tensorflow as tf

from keras_albert.data.counter_random import derive_key

LOW_64_BITS = (1 << 64) - 1
PAIR_KEY = 0x50414952
MASK_KEY = 0x4D41534B
SPLIT, SWAP, OTHER, OTHER_START, TRIM_FIRST, TRIM_SECOND = range(6)


def bits(key, counter):
    """SplitMix64 at one counter, in Python integers."""
    z = (int(key) + (counter + 1) * 0x9E3779B97F4A7C15) & LOW_64_BITS
    z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & LOW_64_BITS
    z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & LOW_64_BITS
    return z ^ (z >> 31)


def fraction(key, counter):
    return (bits(key, counter) >> 11) / 2**53


def below(key, counter, number):
    return int(fraction(key, counter) * number)


def read_shard(path):
    """The chunks of a shard, parsed by the protocol buffer library."""
    chunks = []
    for record in tf.data.TFRecordDataset(str(path)).as_numpy_iterator():
        feature = tf.train.Example.FromString(record).features.feature
        ids = list(feature["token_ids"].int64_list.value)
        packed = feature["word_starts"].bytes_list.value[0]
        chunks.append(
            {
                "ids": ids,
                "starts": [
                    packed[i // 8] >> (i % 8) & 1 for i in range(len(ids))
                ],
                "lengths": list(feature["sentence_lengths"].int64_list.value),
                "document": feature["document"].int64_list.value[0],
            }
        )
    return chunks


def tokens_of(chunk):
    return list(zip(chunk["ids"], chunk["starts"], strict=True))


def pair(chunk, key, max_tokens, swap_probability=0.5, other=None):
    """Returns A, B, label and weight; segments are lists of tokens.

    `other` is a chunk of another document for next-sentence prediction.
    """
    tokens, lengths = tokens_of(chunk), chunk["lengths"]
    if len(lengths) > 1:
        number = 1 + below(key, SPLIT, len(lengths) - 1)
        split = sum(lengths[:number])
    else:
        places = [i for i in range(1, len(tokens)) if tokens[i][1]]
        split = len(tokens)
        if places:
            split = places[below(key, SPLIT, len(places))]
    first, second = tokens[:split], tokens[split:]
    label = int(bool(second) and fraction(key, SWAP) < swap_probability)
    if label and other is None:
        first, second = second, first
    elif label:
        sentence = below(key, OTHER_START, len(other["lengths"]))
        second = tokens_of(other)[sum(other["lengths"][:sentence]) :]
    first, second = trim(first, second, key, max_tokens)
    return first, second, label, float(split < len(tokens))


def trim(first, second, key, max_tokens):
    """Takes one token after the other off the longer segment."""
    kept = [len(first), len(second)]
    while sum(kept) > max_tokens:
        kept[0 if kept[0] > kept[1] else 1] -= 1
    trimmed = []
    for segment, length, stream in zip(
        (first, second), kept, (TRIM_FIRST, TRIM_SECOND), strict=True
    ):
        removed = len(segment) - length
        stream_key = bits(key, stream)
        heads = 0
        for word in range(-(-removed // 64)):
            flips = min(64, removed - 64 * word)
            heads += (bits(stream_key, word) >> (64 - flips)).bit_count()
        trimmed.append(segment[heads : heads + length])
    return trimmed


def pack(first, second, tokenizer, length):
    """Token ids, segment ids and padding mask of an example."""
    cls, sep = tokenizer.cls_token_id, tokenizer.sep_token_id
    ids = [cls, *(i for i, _ in first), sep]
    segments = [0] * len(ids)
    if second:
        ids += [*(i for i, _ in second), sep]
        segments += [1] * (len(second) + 1)
    rest = length - len(ids)
    return {
        "token_ids": ids + [tokenizer.pad_token_id] * rest,
        "segment_ids": segments + [0] * rest,
        "padding_mask": [1] * len(ids) + [0] * rest,
    }


def keys_of(kind, seed, epoch, position):
    return int(derive_key(kind, seed, epoch, position))
