"""get_params / set_params for the pieces, so that clone and grid search reach into them."""

from __future__ import annotations

from dataclasses import fields
from typing import Any, Self


class Settings:
    """A dataclass of hyper-parameters that scikit-learn can read and set, nested ones included."""

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """Return the settings by name; nested ones as ``outer__inner`` too."""
        params = {f.name: getattr(self, f.name) for f in fields(self) if f.init}  # type: ignore[arg-type]
        if deep:
            nested = {name: piece for name, piece in params.items() if isinstance(piece, Settings)}
            for name, piece in nested.items():
                params |= {f"{name}__{key}": value for key, value in piece.get_params().items()}
        return params

    def set_params(self, **params: Any) -> Self:
        """Set settings by name; ``outer__inner`` reaches into a nested piece."""
        known = self.get_params(deep=False)
        for key, value in params.items():
            name, _, inner = key.partition("__")
            if name not in known:
                raise ValueError(f"{type(self).__name__} has no setting {name!r}. It has: {sorted(known)}.")
            if inner:
                getattr(self, name).set_params(**{inner: value})
            else:
                setattr(self, name, value)
        return self


class NotCompatible(ValueError):
    """Two pieces do not fit each other; the message names both and says what to use instead."""
