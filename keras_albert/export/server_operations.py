"""Which operations a stock TensorFlow Serving image can run.

A SavedModel holds operations by name, and a server has only those linked into
its binary. Images 2.13 to 2.19 link TensorFlow Text 2.12, image 2.20 and
later TensorFlow Text 2.20.
"""

# Registered by `//tensorflow_text:ops_lib` of TensorFlow Text 2.12.1, which
# tensorflow/serving 2.13 to 2.19.1 builds (`tensorflow_serving/workspace.bzl`
# and `model_servers/BUILD`). `TFText>RoundRobinTrim`,
# `TFText>RoundRobinGenerateMasks` and `TFText>Utf8Binarize` are missing on
# purpose: that library does not link them.
TEXT_OPERATIONS = frozenset(
    {
        "CaseFoldUTF8",
        "ConstrainedSequence",
        "FastBertNormalize",
        "FastWordpieceTokenizeWithOffsets",
        "FindSourceOffsets",
        "MaxSpanningTree",
        "NormalizeUTF8",
        "NormalizeUTF8WithOffsetsMap",
        "PhraseTokenize",
        "RegexSplitWithOffsets",
        "RougeL",
        "SentenceFragments",
        "SentenceFragmentsV2",
        "SentencepieceDetokenizeOp",
        "SentencepieceIdToStringOp",
        "SentencepieceOp",
        "SentencepieceStringToIdOp",
        "SentencepieceTokenizeOp",
        "SentencepieceTokenizeWithOffsetsOp",
        "SentencepieceVocabSizeOp",
        "SplitMergeTokenizeWithOffsets",
        "TFText>BoiseTagsToOffsets",
        "TFText>ByteSplitByOffsets",
        "TFText>ByteSplitWithOffsets",
        "TFText>FastSentencepieceDetokenize",
        "TFText>FastSentencepieceTokenize",
        "TFText>FastWordpieceDetokenize",
        "TFText>NgramsStringJoin",
        "TFText>OffsetsToBoiseTags",
        "TFText>PhraseDetokenize",
        "TFText>WhitespaceTokenizeWithOffsetsV2",
        "TokenizerFromLogits",
        "UnicodeScriptTokenizeWithOffsets",
        "WhitespaceTokenizeWithOffsets",
        "WordpieceTokenizeWithOffsets",
    }
)

# In `tf.raw_ops` of TensorFlow 2.21, which exports, but not in the core library
# of every server from 2.18 on (`TF_GetAllOpList` of each release).
NEWER_CORE_OPERATIONS = frozenset(
    {
        "DecodeJxl",
        "DecodeWebP",
        "TPUDummyInput",
        "XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdagradAndCsrInput",
        "XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdagradMomentumAndCsrInput",
        "XlaSparseDenseMatmulCustomCombinerOnTcGradWithAdamAndCsrInput",
        "XlaSparseDenseMatmulCustomCombinerOnTcGradWithCsrInput",
        "XlaSparseDenseMatmulCustomCombinerOnTcGradWithFtrlAndCsrInput",
        "XlaSparseDenseMatmulCustomCombinerOnTcGradWithSgdAndCsrInput",
        "XlaSparseDenseMatmulCustomCombinerOnTcWithCsrInput",
    }
)

# Need XLA, which the stock server switches off, or the Python that exported.
REFUSED_OPERATIONS = frozenset(
    {
        "EagerPyFunc",
        "PyFunc",
        "PyFuncStateless",
        "XlaCallModule",
        "XlaLaunch",
        "XlaLaunchV2",
    }
)


def unservable_operations(operations):
    """Names the operations that some TensorFlow Serving cannot run.

    Args:
        operations: dict. Operation name to bool: is it part of TensorFlow's
            core library (else it comes from TensorFlow Text or elsewhere).

    Returns:
        Sorted list of names; empty when servers from 2.18 on have them all.

    >>> unservable_operations({"MatMul": True, "TFText>RoundRobinTrim": False})
    ['TFText>RoundRobinTrim']
    """
    refused = REFUSED_OPERATIONS | NEWER_CORE_OPERATIONS
    return sorted(
        name
        for name, is_core in operations.items()
        if name in refused or not (is_core or name in TEXT_OPERATIONS)
    )
