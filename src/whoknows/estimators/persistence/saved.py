"""save(): a method of everything that can be fitted and kept."""

from __future__ import annotations

from os import PathLike


class Saved:
    """An estimator that can be kept in a file."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `whoknows.load` reads.

        The file appears whole or not at all; an old one of that name is replaced. See `whoknows.load`.

        Parameters
        ----------
        path : str or path
            By custom with the suffix ``.whoknows``.
        """
        from whoknows.estimators.persistence.model_file import save  # which knows this class too

        save(self, path)
