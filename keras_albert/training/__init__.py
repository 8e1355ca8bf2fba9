"""Optimizers, schedules and the runs built on `model.fit`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "adam": ["AdamW"],
        "callbacks": ["TrainingInterrupted"],
        "curves": ["curves_table", "plot_curves"],
        "depth": ["DepthSchedule", "RandomDepth"],
        "distribution": ["Distribution", "distribute"],
        "finetune": ["FinetuneResult", "finetune"],
        "floors": [
            "majority_accuracy",
            "naive_bayes_accuracy",
            "unigram_cross_entropy",
        ],
        "labelled_text": ["LabelledText", "read_labelled_text"],
        "lamb": ["Lamb"],
        "phases": ["Phase", "parse_phases"],
        "plan": ["plan"],
        "plan_result": ["Plan"],
        "pretrain": ["pretrain"],
        "pretrain_result": ["PretrainResult", "load_pretrained"],
        "published_recipe": ["Recipe", "make_recipe"],
        "recipes": ["make_optimizer", "small_config"],
        "step_log": ["read_steps"],
        "schedules": ["WarmupPolynomialDecay"],
    },
)
