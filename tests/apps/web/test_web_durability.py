"""Labels under load, beside a fit, with a server that is killed: a small part of benchmarks/web."""

from benchmarks.web.kill import kill_repeatedly
from benchmarks.web.load import measure


def test_no_acknowledged_label_is_lost_when_the_server_is_killed(tmp_path):
    seen = kill_repeatedly(tmp_path, times=2, seconds=1, n_items=100)
    assert seen["acknowledged"] > 50
    assert (seen["lost"], seen["labels_match_history"], seen["integrity"]) == (0, True, True)


def test_labels_are_stored_at_their_rate_beside_a_fit_and_readers(tmp_path):
    seen = measure(tmp_path, rate=50, seconds=3, n_items=200)
    assert (seen["lost"], seen["errors"], seen["pages_failed"]) == (0, 0, 0), seen["first_errors"]
    assert seen["acknowledged"] > 75
