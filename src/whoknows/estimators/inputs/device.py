"""Where features are worked on: in this machine's memory, or on a GPU."""

from __future__ import annotations

from functools import partial
from typing import Any

from whoknows.data.errors import InputError
from whoknows.estimators.inputs.preprocessing import TransformedRows


def on_device(X: Any, device: Any) -> Any:
    """Return rows that are on a device when they are taken; a tensor goes there as a whole, if it fits.

    ``device`` is what torch calls it, such as "cuda" or "cuda:1"; None leaves X where it is.
    """
    if device is None:
        return X
    torch = _torch(device)
    if not isinstance(X, torch.Tensor):
        return TransformedRows(X, partial(torch.as_tensor, device=device))
    try:
        return X.to(device)
    except torch.cuda.OutOfMemoryError:
        return TransformedRows(X, lambda rows: rows.to(device))


def _torch(device: Any) -> Any:
    """Return torch, or say what is missing."""
    try:
        import torch
    except ModuleNotFoundError:
        raise ModuleNotFoundError(
            f"device={str(device)!r} needs torch, which is not installed: pip install 'whoknows[gpu]', or "
            "leave device=None."
        ) from None
    if torch.device(device).type == "cuda" and not torch.cuda.is_available():
        raise InputError(
            f"device={str(device)!r} was asked for, but torch {torch.__version__} finds no CUDA device here. "
            "Check nvidia-smi and that torch is a CUDA build, or leave device=None for this machine's cores."
        )
    return torch
