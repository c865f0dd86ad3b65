"""What all estimators share: validated questions, scores, suggestions and saving."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator
from functools import partial
from importlib import import_module
from os import PathLike
from typing import Any, Literal, overload

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import logsumexp
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import accuracy_score
from sklearn.utils.validation import _num_samples, check_is_fitted

from whoknows._array import Array, Rows, to_numpy
from whoknows.data.annotations import Annotations
from whoknows.data.dataframes import BACKENDS, write_long
from whoknows.data.errors import InputError
from whoknows.data.vocabulary import Ids, elements, tight_array
from whoknows.estimators import intervals
from whoknows.estimators.ask.batch import Voice, suggest
from whoknows.estimators.fitted_pair import FittedPair
from whoknows.estimators.inputs.requirements import is_classifier
from whoknows.estimators.inputs.training_data import TrainingData
from whoknows.estimators.inputs.validation import (
    CheckedFeatures,
    FeatureRows,
    Gold,
    Labels,
    Names,
    Unknown,
    annotator_rows,
    check_annotations,
    check_features,
    row_ids,
)
from whoknows.estimators.intervals import Interval, Ranking
from whoknows.estimators.reading import Reading
from whoknows.fit.items import Items
from whoknows.model.distances import block_by_block
from whoknows.model.settings import check_value

LEAST_VOICE = 0.01  # weight of a member that takes part in suggestions

Ask = Callable[[FittedPair, Items], Any]  # one pair about items


class CrowdEstimator(BaseEstimator):
    """An estimator that is fitted to features and annotations, and can be saved."""

    def save(self, path: str | PathLike[str]) -> None:
        """Write the fitted model to a file that `whoknows.load` reads.

        The file is complete or absent; an existing file is replaced. See `whoknows.load`.

        Parameters
        ----------
        path : str or path
            By convention with the suffix ``.whoknows``.
        """
        from whoknows.estimators.persistence.model_file import save  # it imports the estimators

        save(self, path)

    def report(self, X: FeatureRows, y: Labels, path: str | PathLike[str], **options: Any) -> None:
        """Write a report of the fit as one HTML file.

        Parameters
        ----------
        X, y
            The data of the fit.
        path : str or path
            An existing file is replaced.
        **options
            Of `whoknows.apps.report.report`, such as ``title=`` and ``text=``.
        """
        # By name, when a user asks for it: apps are above the estimators, which must not depend on them.
        import_module("whoknows.apps.report").report(self, X, y, path, **options)

    def _score_annotations(self, X: Any, y: Any, sample_weight: Any) -> float:
        """Mean over labels of their log-likelihood, log p(labels | x)."""
        if sample_weight is not None:
            raise InputError("sample_weight goes with a truth vector; annotations are scored label by label.")
        annotations = self._annotations_of(X, y)
        if not annotations.counts.any():
            raise InputError("score on annotations needs at least one label; y has none.")
        return float(self.log_predictive(X, annotations).sum() / annotations.counts.sum())

    def _checked(self, X: Any) -> Array:
        """Return validated features; what `checked` has validated is not validated again."""
        check_is_fitted(self)
        return X.X if isinstance(X, CheckedFeatures) else check_features(self, X, reset=False)

    def _annotations_of(self, X: Any, y: Any) -> Annotations:
        """Return validated annotations of these items; the columns of a bare matrix are the annotators."""
        check_is_fitted(self)
        return check_annotations(y, _num_samples(X), self.annotators_, row_ids(X))


def checkpoint_of(estimator: Any, folder: Any, data: TrainingData) -> Any:
    """Return the checkpoint of a fit in a folder; None if there is no folder."""
    if folder is None:
        return None
    if is_classifier(getattr(estimator, "truth", None)):
        raise InputError("checkpoint= does not work with a classifier as truth. Leave it out.")
    from whoknows.estimators.persistence.checkpoint import Checkpoint  # it imports the estimators

    return Checkpoint.of(folder, estimator, data)


def is_truth_vector(y: Any) -> bool:
    """Whether y holds one truth per item, rather than annotations."""
    return not isinstance(y, Annotations) and np.ndim(y) == 1


def frame_of_items(X: Any, y: Any, columns: dict[str, Any], backend: str | None) -> Any:
    """Return columns beside the ids of the items, as a table of the library of X unless another is named."""
    if "item" in columns:
        raise InputError("An annotator is called 'item', as is the column of ids. Use expertise(X) instead.")
    ids = y.items if isinstance(y, Annotations) else tight_array(row_ids(X) or list(range(_num_samples(X))))
    library = type(X).__module__.partition(".")[0]
    return write_long({"item": ids} | columns, backend or (library if library in BACKENDS else None))


class CrowdClassifierMixin(ClassifierMixin, CrowdEstimator):
    """Answers of one fitted pair, or of several by weighted averages.

    Attributes
    ----------
    pairs_ : list of FittedPair
    weights_, _truth_weights : (n_pairs,)
        For expertise and labels, and for the truth of items without labels.
    _reading : Reading, optional
        How the posterior is read; none in models saved before there were readings.
    worse_than_chance_ : dict
        Of annotators who are worse than chance on the gold: how the model uses their labels.
    """

    pairs_: list[FittedPair]
    worse_than_chance_: dict[Any, str]
    weights_: Array
    _truth_weights: Array
    _reading: Reading | None = None

    def predict(self, X: FeatureRows) -> Ids:
        """Return the most probable class of each item: (n_items,)."""
        most_probable = self.predict_proba(X).argmax(axis=1)
        return self.classes_[most_probable]

    @overload
    def predict_proba(self, X: FeatureRows, return_interval: Literal[False] = ..., level: float = ...) -> Array: ...

    @overload
    def predict_proba(self, X: FeatureRows, return_interval: Literal[True], level: float = ...) -> Interval: ...

    def predict_proba(self, X: FeatureRows, return_interval: bool = False, level: float = 0.9) -> Array | Interval:
        """p(z | x) of each item, labels aside: (n_items, n_classes), columns as in ``classes_``.

        With ``truth="gp"`` the labels of an item of the fit count too: the truth is no function of x.

        Parameters
        ----------
        X : (n_items, n_features)
        return_interval : bool
            Return the lower and the upper limit of each probability too: three (n_items, n_classes).
        level : float
            Nominal coverage of the intervals.
        """
        X = self._checked(X)
        reading = self._reading or Reading()
        if return_interval:
            ask = partial(intervals.prob_interval, level=level)
            prob, *limits = self._interval(ask, X, self._truth_weights, level)
            return reading.doubted(prob), *reading.doubted_limits(*limits)
        return reading.doubted(self._average(FittedPair.prob, X, self._truth_weights))

    def predict_log_proba(self, X: FeatureRows) -> Array:
        """Return the logarithm of `predict_proba`: (n_items, n_classes)."""
        prob = self.predict_proba(X)
        return np.log(prob)

    def to_frame(
        self,
        X: FeatureRows,
        y: Labels | None = None,
        *,
        of: Literal["truth", "expertise"] = "truth",
        backend: str | None = None,
    ) -> Any:
        """Return results as a dataframe with ids, one row per item.

        Parameters
        ----------
        X : (n_items, n_features)
        y : as in `fit`, optional
            Labels of these items: the truth is that of `posterior`. Without them, that of `predict_proba`.
        of : {"truth", "expertise"}
            "truth": the columns item, truth, and one with the probability of each class, such as "p(cat)".
            "expertise": the column item, and one per annotator.
        backend : {"pandas", "polars", "pyarrow"}, optional
            Default: the library of X, or the first that is installed.
        """
        check_value("of", of, ("'truth' or 'expertise'", ("truth", "expertise").__contains__))
        if of == "expertise":
            columns = dict(zip(map(str, elements(self.annotators_)), self.expertise(X).T, strict=True))
        else:
            prob = self.predict_proba(X) if y is None else self.posterior(X, y)
            columns = {"truth": self.classes_[prob.argmax(axis=1)]}
            columns |= {f"p({label})": p for label, p in zip(elements(self.classes_), prob.T, strict=True)}
        return frame_of_items(X, y, columns, backend)

    @overload
    def expertise(
        self,
        X: FeatureRows,
        annotators: Names | None = ...,
        return_interval: Literal[False] = ...,
        level: float = ...,
        *,
        unknown: Unknown = ...,
    ) -> Array: ...

    @overload
    def expertise(
        self,
        X: FeatureRows,
        annotators: Names | None = ...,
        *,
        return_interval: Literal[True],
        level: float = ...,
        unknown: Unknown = ...,
    ) -> Interval: ...

    def expertise(
        self,
        X: FeatureRows,
        annotators: Names | None = None,
        return_interval: bool = False,
        level: float = 0.9,
        *,
        unknown: Unknown = "error",
    ) -> Array | Interval:
        """Probability that each annotator is right on each item: (n_items, n_annotators).

        Parameters
        ----------
        X : (n_items, n_features)
        annotators : sequence of ids, optional
            One column each; default ``annotators_``.
        return_interval, level
            As in `predict_proba`: three (n_items, n_annotators).
        unknown : {"error", "population"}
            An annotator not seen in training is an error, or has the expertise of the population.
        """
        X, rows = self._checked(X), annotator_rows(annotators, self.annotators_, unknown)
        if return_interval:
            ask = partial(intervals.expertise_interval, level=level, rows=rows)
            return self._interval(ask, X, self.weights_, level)
        return self._average(partial(FittedPair.expertise, rows=rows), X, self.weights_)

    def ranking(self, X: FeatureRows | None = None, level: float = 0.9) -> Ranking:
        """Rank annotators by the probability of being right, averaged over items, with intervals.

        Parameters
        ----------
        X : (n_items, n_features), optional
            Over which items; default those of the fit (about a thousand if there are more).
        level : float
            Nominal coverage of the intervals.
        """
        check_is_fitted(self)
        X = None if X is None else self._checked(X)
        answers = [
            intervals.average_expertise(pair, pair.typical if X is None else pair.prepared.items(X).on_host, level)
            for pair in self.pairs_
        ]
        n_labels = self._training_data.annotations.labels_per_annotator
        return Ranking.of(self.annotators_, intervals.mixture(self.weights_, answers, level), n_labels, level)

    @property
    def item_effect_(self) -> Array:
        """How much each annotator errs together with the others: (n_annotators,).

        The log-odds of being right gain ``item_effect_[t]`` · u, u ~ N(0, 1), where u is shared by the labels of an
        item. 0 is an annotator who errs independently; below 0, one who is right where others are trapped. Annotators
        have one value if labels do not tell them apart. Not for Gaussian and ordered annotators.
        """
        return self._mean_effects[:, 0]

    @property
    def group_effect_(self) -> Array:
        """The same for what annotators of one group share, beside the item effect; 0 without ``groups``."""
        return self._mean_effects[:, 1]

    @property
    def _mean_effects(self) -> Array:
        check_is_fitted(self)
        return np.tensordot(self.weights_, [pair.effects for pair in self.pairs_], axes=1)

    def confusion(self, annotator: Hashable) -> Array:
        """p(label | truth) of one annotator, averaged over items of the fit: (n_classes, n_classes).

        Rows are the truth, columns the label, both as in ``classes_``. If there are many items, about a
        thousand are used.
        """
        check_is_fitted(self)
        (row,) = annotator_rows([annotator], self.annotators_)
        return np.tensordot(self.weights_, np.array([pair.confusion(row) for pair in self.pairs_]), axes=1)

    def log_predictive(self, X: FeatureRows, y: Labels) -> Array:
        """log p(labels | x) of each item, truth and annotators integrated out: (n_items,).

        `score` on annotations is its mean over labels; an item without labels has 0.
        """
        data = TrainingData(self._known_annotations(X, y, "population"))
        blocks = self._answers(FittedPair.log_predictive, self._checked(X), data)
        return np.concatenate([logsumexp(answers, axis=0, b=self.weights_[:, None]) for answers in blocks])

    def score(self, X: FeatureRows, y: Labels, sample_weight: ArrayLike | None = None) -> float:
        """Return accuracy on a truth vector, or the held-out log-likelihood of annotations.

        Parameters
        ----------
        X : (n_items, n_features)
        y : (n_items,) or annotations
            A vector is the truth: returns accuracy. Annotations (or a matrix): returns the mean over labels
            of log p(labels | x), truth integrated out. It needs no truth, so it can select settings.
        """
        if is_truth_vector(y):
            return float(accuracy_score(y, self.predict(X), sample_weight=sample_weight))
        return self._score_annotations(X, y, sample_weight)

    suggest = suggest

    def rate(self, X: FeatureRows, y: Labels, *, gold: Gold | None = None, **options: Any) -> Any:
        """Share of each class, overall and in groups, corrected for the errors of annotators, with intervals.

        Parameters
        ----------
        X, y, gold
            As in `fit`.
        **options
            Of `whoknows.insight.rate`, such as ``by=``, the group of each item.

        Returns
        -------
        whoknows.insight.Rates
        """
        # By name, as in `report`: insight is above the estimators.
        return import_module("whoknows.insight").rate(self, X, y, gold=gold, **options)

    def _known_annotations(self, X: Any, y: Any, unknown: str) -> Annotations:
        """Return validated annotations in the codes of the fit; see `posterior` for ``unknown``."""
        return self._annotations_of(X, y).recode(self.annotators_, self.classes_, unknown=unknown)

    def _updated_data(self, X: Any, y: Any) -> tuple[Any, TrainingData]:
        """Validate the input of `update`; unnamed columns of y are the annotators of the fit."""
        check_is_fitted(self)
        index = row_ids(X)
        X = check_features(self, X, reset=False)
        numbered = elements(self.annotators_) == list(range(len(self.annotators_)))
        new = check_annotations(y, len(X), None if numbered else self.annotators_, index)
        return X, self._training_data.updated(new, X).without_zero_weights()

    def _find_worse_than_chance(self, X: Any) -> None:
        """Name annotators who are worse than chance on the gold of the fit, to validated X."""
        data, found = self._training_data, []
        if data.gold is not None:
            find = import_module("whoknows.insight.worse").worse_than_chance  # by name, as in `report`
            found = find(self, CheckedFeatures(X, None), data.annotations, data.gold)
        self.worse_than_chance_ = {each.annotator: each.use for each in found}

    def _voices(self, X: Any, y: Any) -> list[Voice]:
        """Pairs with a weight worth counting, the largest first."""
        order = [m for m in np.argsort(-self.weights_) if self.weights_[m] >= LEAST_VOICE] or [0]
        total = self.weights_[order].sum()
        data = TrainingData(self._known_annotations(X, y, "population"))
        items = self._items(self._checked(X), data)
        return [Voice(float(self.weights_[m] / total), self.pairs_[m], items[m].on_host) for m in order]

    # --- on validated input --------------------------------------------------------------------------

    def _items(self, X: Array, data: TrainingData | None = None, asked: Rows | None = None) -> list[Items]:
        """Items with the features of each pair, or of those that are asked."""
        return [self.pairs_[m].prepared.items(X, data) for m in self._numbers(asked)]

    def _numbers(self, asked: Rows | None) -> Rows:
        """Numbers of the pairs that are asked; None: of all."""
        return np.arange(len(self.pairs_)) if asked is None else asked

    def _by_block(
        self,
        answer: Callable[[list[Items]], Any],
        X: Array,
        data: TrainingData | None = None,
        asked: Rows | None = None,
    ) -> Iterator[Any]:
        """Yield the answer to each block of items, given with the features of each pair that is asked."""

        def of_block(rows: slice) -> Any:
            return answer(self._items(X[rows], None if data is None else data[rows], asked))

        if any(pair.prepared.needs_all for pair in self.pairs_):
            return iter([of_block(slice(None))])
        return block_by_block(of_block, X)

    def _answers(self, ask: Ask, X: Array, data: TrainingData | None = None) -> Iterator[list[Any]]:
        """Yield what each pair answers, block by block."""
        return self._by_block(lambda items: list(map(ask, self.pairs_, items)), X, data)

    def _average(self, ask: Ask, X: Array, weights: Array, data: TrainingData | None = None) -> Array:
        """Average the answers of the pairs with positive weight, on the device of X."""
        asked = np.flatnonzero(weights > 0)

        def average(items: list[Items]) -> Array:
            return to_numpy(sum(weights[m] * ask(self.pairs_[m], each) for m, each in zip(asked, items, strict=True)))

        return np.concatenate(list(self._by_block(average, X, data, asked)))

    def _interval(self, ask: Ask, X: Array, weights: Array, level: float) -> Interval:
        limits = [intervals.mixture(weights, answers, level) for answers in self._answers(ask, X)]
        value, low, high = map(np.concatenate, zip(*limits, strict=True))
        return value, low, high
