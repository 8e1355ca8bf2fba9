"""The stages of `keras-albert quickstart`, each a call of the library.

    news, reviews -> vocabulary -> pretrained model -> classifier
                                  -> SavedModel -> answers of a fresh process

The test reviews take part in nothing before the last number: neither in the
vocabulary nor in pretraining.
"""

import dataclasses
import time
from pathlib import Path

from keras_albert import export
from keras_albert import tokenizers
from keras_albert import training
from keras_albert.cli import demo_text
from keras_albert.cli import show
from keras_albert.cli.predict import classify
from keras_albert.export import predict_saved_model
from keras_albert.models import load_model
from keras_albert.models.config import AlbertConfig

QUESTIONS = (
    "质量很好，物流也快，下次还会再买。",
    "用了两天就坏了，客服也不理人，太失望了。",
    "酒店房间很干净，服务员态度非常热情。",
    "内容空洞，翻译得也很差，不值这个价钱。",
)


@dataclasses.dataclass(frozen=True)
class Plan:
    """How much a quickstart does.

    Attributes:
        vocabulary_size: int. Pieces of the vocabulary.
        config: `AlbertConfig` of the model.
        steps, batch_size, sequence_length: ints. Pretraining.
        epochs, text_length: ints. Fine-tuning.
        finetuning_rate: float. Its peak rate.
        validation_share: float. Training reviews that choose the best epoch.
        documents, reviews: ints or None. Only so many are read.
    """

    vocabulary_size: int
    config: AlbertConfig
    steps: int
    batch_size: int
    sequence_length: int
    epochs: int
    text_length: int
    finetuning_rate: float
    validation_share: float = 0.05
    documents: int | None = None
    reviews: int | None = None


PLANS = {
    "full": Plan(
        vocabulary_size=8000,
        config=AlbertConfig(
            num_layers=3,
            num_heads=4,
            embedding_dim=128,
            hidden_dim=192,
            intermediate_dim=768,
            max_sequence_length=128,
            # A narrow model starts too flat with the published 0.02.
            initializer_range=0.04,
        ),
        steps=2000,
        batch_size=32,
        sequence_length=64,
        epochs=2,
        text_length=64,
        finetuning_rate=3e-4,
    ),
    # The same path in seconds, for the tests: it learns nothing.
    "tiny": Plan(
        vocabulary_size=3000,
        config=AlbertConfig(
            num_layers=2,
            num_heads=2,
            embedding_dim=16,
            hidden_dim=32,
            intermediate_dim=64,
            max_sequence_length=64,
        ),
        steps=6,
        batch_size=8,
        sequence_length=32,
        epochs=1,
        text_length=32,
        finetuning_rate=3e-4,
        documents=60,
        reviews=400,
    ),
}


@dataclasses.dataclass(frozen=True)
class Outcome:
    """What a quickstart came to.

    Attributes:
        output: path of its folder.
        pretrained: `PretrainResult`.
        accuracies: dict from seed to accuracy on the test reviews.
        majority, naive_bayes: floats. The floors of that accuracy.
        num_train_reviews, num_test_reviews: ints.
        served: path of the SavedModel's version.
        answers: list of `(text, label, probability)`.
        seconds: dict from stage to its time.
    """

    output: Path
    pretrained: training.PretrainResult
    accuracies: dict
    majority: float
    naive_bayes: float
    num_train_reviews: int
    num_test_reviews: int
    served: Path
    answers: list
    seconds: dict


class Stages:
    """Announces each stage and takes its time.

    Args:
        console: `rich.console.Console`.
        total: int. Number of stages.
    """

    def __init__(self, console, total):
        self.console = console
        self.total = total
        self.seconds = {}
        self._began = time.monotonic()
        self._name = None

    def begin(self, name):
        """Ends the stage before, if any, and announces `name`."""
        self.end()
        self._name, self._began = name, time.monotonic()
        number = len(self.seconds) + 1
        self.console.print(
            f"[bold]{number}/{self.total}[/] {name}", markup=True
        )

    def end(self):
        """Notes the time of the stage that is running."""
        if self._name is not None:
            self.seconds[self._name] = time.monotonic() - self._began
            self._name = None


def run_stages(output, plan, seeds, console):
    """Runs all stages; what an earlier call finished is not done again.

    Args:
        output: path of the folder.
        plan: `Plan`.
        seeds: sequence of ints. One fine-tuning run each; the first one's
            model is exported.
        console: `rich.console.Console` for the names of the stages.

    Returns:
        `Outcome`.
    """
    output = Path(output)
    stages = Stages(console, total=5)

    stages.begin("Read the text and train a vocabulary")
    news = demo_text.read_news()[: plan.documents]
    train, test = demo_text.read_reviews()
    train = train.first(plan.reviews)
    documents = news + [[text] for text in train.texts]
    tokenizer = make_tokenizer(documents, plan, output, seeds[0])
    console.print(
        f"    {len(news):,} news documents, {len(train):,} + {len(test):,} "
        f"reviews, {tokenizer.vocabulary_size():,} pieces"
    )

    stages.begin("Pretrain: masked words and sentence order")
    with show.progress_bars() as progress:
        pretrained = training.pretrain(
            corpus=documents,
            tokenizer=tokenizer,
            output=output / "pretrained",
            config=plan.config,
            steps=plan.steps,
            batch_size=plan.batch_size,
            sequence_length=plan.sequence_length,
            seed=seeds[0],
            progress=progress,
        )

    stages.begin("Fine-tune: is a review good or bad?")
    accuracies = {}
    for seed in seeds:
        accuracies[seed] = finetune_reviews(
            pretrained.preset, train, test, plan, output, seed
        )
    majority = training.majority_accuracy(train.labels, test.labels)
    naive_bayes = training.naive_bayes_accuracy(
        train.texts, train.labels, test.texts, test.labels, language="zh"
    )

    stages.begin("Export a SavedModel that takes strings, and check it")
    classifier = classifier_folder(output, seeds[0])
    served = export.export_saved_model(
        classifier / "preset", output / "served" / "reviews"
    )

    stages.begin("Load it in a fresh process and ask")
    answers = ask(served, QUESTIONS)
    stages.end()
    return Outcome(
        output=output,
        pretrained=pretrained,
        accuracies=accuracies,
        majority=majority,
        naive_bayes=naive_bayes,
        num_train_reviews=len(train),
        num_test_reviews=len(test),
        served=served,
        answers=answers,
        seconds=stages.seconds,
    )


def make_tokenizer(documents, plan, output, seed):
    """Trains the vocabulary, or loads the one of an earlier call."""
    path = output / "vocabulary.model"
    if not path.is_file():
        lines = (line for document in documents for line in document)
        tokenizers.train_tokenizer(lines, plan.vocabulary_size, path, seed=seed)
    return tokenizers.load_tokenizer(path)


def ask(served, questions):
    """Classifies texts in a process that has TensorFlow alone.

    Returns:
        A list of `(text, label, probability of that label)`.
    """
    labels, probabilities = predict_saved_model(served, questions)
    best = probabilities.max(axis=1).tolist()
    return list(zip(questions, labels, best, strict=True))


def finetune_reviews(preset, train, test, plan, output, seed):
    """Trains a classifier of reviews, or reads the one of an earlier call.

    Returns:
        Its accuracy on the test reviews, which had no part in choosing the
        best epoch.
    """
    folder = classifier_folder(output, seed)
    if (folder / "preset").is_dir():
        classifier = load_model(folder / "preset")
    else:
        with show.progress_bars() as progress:
            classifier = training.finetune(
                model=preset,
                train=(train.texts, train.labels),
                validation_share=plan.validation_share,
                epochs=plan.epochs,
                sequence_length=plan.text_length,
                learning_rate=plan.finetuning_rate,
                seed=seed,
                output=folder,
                progress=progress,
            ).model
    labels, _ = classify(classifier, [test.texts])
    hits = map(str.__eq__, labels, test.labels)
    return sum(hits) / len(test)


def classifier_folder(output, seed):
    """Where the classifier of a seed is kept."""
    return output / f"classifier_seed_{seed}"
