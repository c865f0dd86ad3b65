"""Results are stored piece by piece: those of a stopped worker are replaced, those of another are not touched."""

from whoknows.apps.web.store import fits, items, projects


def rows(ids, label):
    same = {"label": label, "n_labels": 0, "overruled": False, "disagreement": 0.0, "probabilities": {}}
    return [{"item_id": id, **same} for id in ids]


def labels_of(db, fit):
    return [row.label for row in fits.predictions(db, fit.id)]


def test_results_of_a_stopped_worker_are_replaced(store, monkeypatch):
    monkeypatch.setattr(fits, "BATCH", 2)
    with store.write() as db:
        project = projects.by_name(db, "example")
        ids = [id for id, _ in items.every(db, project.id)][:5]
        fit = fits.request(db, project.id)
        before = fits.latest(db, project.id)
        fits.claim(db, "stopped")
        [first, *_] = fits.Results(b"", "", rows(ids, "old"), []).batches()
        assert fits.add(db, fit.id, "stopped", first, first=True)
        fits.requeue_stale(db, -1)
        fits.claim(db, "next")
        pieces = list(fits.Results(b"", "", rows(ids, "new"), []).batches())
        assert [len(piece["predictions"]) for piece in pieces] == [2, 2, 1]
        for place, piece in enumerate(pieces):
            assert fits.add(db, fit.id, "next", piece, first=place == 0)
        assert not fits.add(db, fit.id, "stopped", first, first=True)
        assert fits.latest(db, project.id) == before  # nobody sees them yet
        assert fits.finish(db, fit.id, "next", fits.Results(b"", "", [], []))
        assert fits.latest(db, project.id).id == fit.id
        assert labels_of(db, fit) == ["new"] * 5


def test_what_a_cancelled_fit_has_stored_goes_with_the_next_one(store):
    with store.write() as db:
        project = projects.by_name(db, "example")
        ids = [id for id, _ in items.every(db, project.id)][:5]
        fit = fits.request(db, project.id)
        fits.claim(db, "a")
        fits.add(db, fit.id, "a", {"predictions": rows(ids, "old")}, first=True)
        fits.cancel(db, project.id, fit.id)
        assert not fits.finish(db, fit.id, "a", fits.Results(b"", "", [], []))
        after = fits.request(db, project.id)
        fits.claim(db, "a")
        fits.finish(db, after.id, "a", fits.Results(b"", "", [], []))
        assert labels_of(db, fit) == []
