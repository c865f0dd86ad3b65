"""How it was done, and whom to cite."""

from __future__ import annotations

from whoknows.apps.charts import Html, el, join
from whoknows.insight.summary import Summary

HOW = {
    "classes": "The truth of an item is a function of its features; each annotator is right with a "
    "probability that is a function of the features too, and has mistakes of their own.",
    "levels": "The truth of an item is one of several levels, a function of its features; each annotator "
    "says a level around it, off by a severity of their own, with a spread that is a function of the "
    "features too.",
    "numbers": "The truth of an item is a number, a function of its features plus noise; each annotator says "
    "it plus a bias of their own, with a typical error that is a function of the features too.",
}
CARE = (
    "No truth was used unless gold was given: expertise is what best explains who contradicts whom, and what "
    "the features say. If most annotators make the same mistake, the model makes it with them. Intervals and "
    "probabilities are the model's, and as good as it is."
)
PAPERS = (
    "Y. Yan, R. Rosales, G. Fung, J. Dy (2010). Modeling Multiple Annotator Expertise in the Semi-Supervised "
    "Learning Scenario. Proceedings of the 26th Conference on Uncertainty in Artificial Intelligence (UAI). "
    "arXiv:1203.3529.",
    "K. Krippendorff (2011). Computing Krippendorff's alpha-reliability. University of Pennsylvania.",
)
BIBTEX = """@inproceedings{yan2010modeling,
  title     = {Modeling Multiple Annotator Expertise in the Semi-Supervised Learning Scenario},
  author    = {Yan, Yan and Rosales, R{\\'o}mer and Fung, Glenn and Dy, Jennifer},
  booktitle = {Proceedings of the Twenty-Sixth Conference on Uncertainty in Artificial Intelligence},
  year      = {2010}
}"""


def method(summary: Summary) -> Html:
    """The model in a few sentences, what to be careful of, and the papers."""
    facts = summary.given
    unlabelled = facts["n_items"] > facts["n_labelled"]
    return join(
        [
            el(
                "p",
                HOW[facts["kind"]],
                " Truth and annotators are learnt together from who said what",
                "; items nobody labelled show which items are alike." if unlabelled else ".",
                cls="lead",
            ),
            el("p", CARE),
            el(
                "p",
                "Regions are the best and the worst leaf of a decision tree of depth two, fitted to the "
                "expertise the model gives each annotator on a sample of items; the map shows the first two "
                "principal components. Questions are those of greatest expected information.",
            ),
            el("p", f"Made by whoknows {summary.method['version']}. If you use it, please cite:"),
            el("ul", [el("li", paper) for paper in PAPERS]),
            el("pre", BIBTEX),
        ]
    )
