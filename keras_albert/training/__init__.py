"""Optimizers, schedules and the runs built on `model.fit`."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "curves": ["plot_curves"],
        "finetune": ["finetune"],
        "floors": ["majority_accuracy", "naive_bayes_accuracy"],
        "lamb": ["Lamb"],
        "pretrain": ["pretrain"],
        "schedules": ["WarmupPolynomialDecay"],
    },
)
