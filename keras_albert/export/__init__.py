"""SavedModels that take strings, and other formats that take token ids."""

import lazy_loader

__getattr__, __dir__, __all__ = lazy_loader.attach(
    __name__,
    submod_attrs={
        "prediction": ["predict_saved_model"],
        "saved_model": ["Export", "export_model", "export_saved_model"],
        "signature_shapes": ["ServedTask"],
        "token_export": ["TokenExport", "export_token_model"],
        "verification": ["verify_saved_model"],
    },
)
