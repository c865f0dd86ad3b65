"""What a fit reports is what its pages draw."""

from whoknows.apps.web.jobs.progress import Progress
from whoknows.estimators.auto.members import Member

FLAT, CURVED = Member("none", 10.0, varies_with_x=False), Member("rbf 2", 3.0, varies_with_x=True)


def test_one_model_counts_its_iterations():
    progress = Progress()
    assert progress.facts() == {"done": 0, "total": None, "member": "", "bound": []}
    for iteration, bound in enumerate((-3.0, -2.5), start=1):
        progress.of_model(iteration, bound, 0.1)
    assert progress.facts() == {"done": 2, "total": None, "member": "", "bound": [-3.0, -2.5]}


def test_an_ensemble_shows_the_fit_that_began_last_and_at_the_end_the_one_with_most_weight():
    progress = Progress()
    progress.of_member(FLAT, 1, -9.0, 0.1)
    progress.of_member(CURVED, 1, -7.0, 0.1)  # in another thread
    progress.of_member(FLAT, 2, -8.0, 0.2)
    progress.of_ensemble(1, 6, 0.2)
    seen = progress.facts()
    assert (seen["done"], seen["total"], seen["bound"]) == (1, 6, [-7.0])
    assert seen["member"] == "map rbf 2, prior variance 3, expertise varies with x"
    progress.of_member(CURVED, 1, -6.0, 0.3)  # the next fold
    assert progress.facts()["bound"] == [-6.0]
    progress.end_with(FLAT, [-5.0, -4.0])
    assert (progress.facts()["member"][:8], progress.facts()["bound"]) == ("map none", [-5.0, -4.0])
