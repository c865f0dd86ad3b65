"""Logs without secrets, metrics, limits of requests."""

import json
import logging

from whoknows.apps.web.observing import LOG, JsonLines

API = "/api/v1/projects/example"


def test_the_log_is_json_and_tells_no_secret(client, caplog):
    LOG.propagate = True
    with caplog.at_level(logging.INFO, "whoknows.web"):
        client.get("/sign-in/very-secret?token=very-secret", headers={"Authorization": "Bearer very-secret"})
    [line] = [JsonLines().format(record) for record in caplog.records if record.name == "whoknows.web"]
    assert "very-secret" not in line
    seen = json.loads(line)
    assert (seen["event"], seen["path"], seen["status"]) == ("request", "/sign-in/…", 401)


def test_metrics_count_labels_and_requests(client):
    client.get(f"{API}/gold")
    lines = dict(line.rsplit(" ", 1) for line in client.get("/metrics").text.splitlines() if not line.startswith("#"))
    assert lines["whoknows_items"] == "300"
    assert int(lines['whoknows_requests_total{method="GET",status="200"}']) == 1
    assert lines['whoknows_request_seconds_bucket{le="+Inf"}'] == lines["whoknows_request_seconds_count"]
    assert client.get("/healthz").text == "ok"


def test_large_requests_are_refused(client, settings):
    def parts():
        for _ in range(5):
            yield b"0" * (1 << 20)

    headers = {"Content-Type": "application/json"}
    announced = client.post(f"{API}/annotations", content=b"0" * (settings.max_body + 1), headers=headers)
    streamed = client.post(f"{API}/annotations", content=parts(), headers=headers)
    assert (announced.status_code, streamed.status_code) == (413, 413)
