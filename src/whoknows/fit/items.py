"""Items: what a solver works on, and how it is cut into chunks whose sums add up."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from whoknows._array import Array
from whoknows.data.annotations import Annotations


@dataclass(frozen=True)
class Items:
    """Some items: what the truth and the annotators see of them, and who said what.

    Attributes
    ----------
    Phi : (n_items, n_truth_features)
        What the truth sees of x; the last column is constant.
    Psi : (n_items, n_expertise_features)
        What annotators' expertise depends on; the last column is constant.
    Y : Annotations
        Their labels; items without any are allowed.
    """

    Phi: Array
    Psi: Array
    Y: Annotations

    def labelled(self) -> Items:
        """Return the items somebody labelled: where items do not interact, the others say nothing."""
        seen = self.Y.labelled
        return Items(self.Phi[seen], self.Psi[seen], self.Y[seen])

    def chunks(self, n_chunks: int) -> Iterator[Items]:
        """Cut into consecutive chunks."""
        for rows in self.Y.chunks(n_chunks):
            yield Items(self.Phi[rows], self.Psi[rows], self.Y[rows])
