"""Annotations from the library datasets: rows of labels, lists of labels, class codes."""

import pytest

from whoknows import Annotations

datasets = pytest.importorskip("datasets")
CLASSES = datasets.ClassLabel(names=["cat", "dog"])


def test_one_row_per_label_is_read_as_a_frame_is():
    columns = {"item": [3, 3, 1], "worker": ["a", "b", "a"], "label": ["cat", "dog", "cat"]}
    Y = Annotations.from_hf(datasets.Dataset.from_dict(columns))
    assert (Y.items.tolist(), Y.annotators.tolist(), Y.labels.tolist()) == ([3, 1], ["a", "b"], ["cat", "dog"])
    assert Y.n_annotations == 3


def test_lists_of_labels_keep_items_without_labels_and_names_of_classes():
    rows = {
        "id": ["x", "y", "z"],
        "raters": [["a", "b"], [], ["b"]],
        "labels": [[0, 1], [], [1]],
        "sure": [[1.0, 0.5], [], [1.0]],
    }
    typed = datasets.Features(
        {
            "id": datasets.Value("string"),
            "raters": datasets.List(datasets.Value("string")),
            "labels": datasets.List(CLASSES),
            "sure": datasets.List(datasets.Value("float64")),
        }
    )
    names = {"annotator": "raters", "label": "labels", "confidence": "sure"}
    Y = Annotations.from_hf(datasets.Dataset.from_dict(rows, features=typed), columns=names)
    assert Y.items.tolist() == ["x", "y", "z"]
    assert Y.labels_per_item.tolist() == [2, 0, 1]
    assert [(str(Y.labels[k]), float(c)) for k, c in zip(Y.label, Y.confidence, strict=True)] == [
        ("cat", 1.0),
        ("dog", 0.5),
        ("dog", 1.0),
    ]


def test_a_missing_class_is_dropped_with_a_warning():
    features = datasets.Features({"item": datasets.Value("int64"), "user": datasets.Value("string"), "label": CLASSES})
    dataset = datasets.Dataset.from_dict(
        {"item": [0, 1, 1], "user": ["a", "a", "b"], "label": [0, -1, 1]}, features=features
    )
    with pytest.warns(UserWarning, match="1"):
        Y = Annotations.from_hf(dataset)
    assert Y.n_annotations == 2


@pytest.mark.parametrize(
    ("dataset", "error", "message"),
    [
        (
            datasets.DatasetDict(train=datasets.Dataset.from_dict({"item": [0]})),
            ValueError,
            r"got a dictionary of 'train'. Pass dataset\['train'\]",
        ),
        ([1, 2], TypeError, "Expected a datasets.Dataset, got list"),
        (
            datasets.Dataset.from_dict({"item": ["x"], "rater": [["a", "b"]], "label": [[1]]}),
            ValueError,
            "item 'x'; got 2 for the annotator, 1 for the label",
        ),
    ],
)
def test_what_cannot_be_read_is_refused_with_what_to_do(dataset, error, message):
    with pytest.raises(error, match=message):
        Annotations.from_hf(dataset)
