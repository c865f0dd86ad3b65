"""A summary in a run of MLflow."""

import pytest

from tests.insight.summary_worlds import summary_of
from whoknows.insight.summary import Summary, log_to_mlflow
from whoknows.insight.summary.tracking import metrics

mlflow = pytest.importorskip("mlflow")


@pytest.fixture
def runs(tmp_path, monkeypatch):
    """A folder that runs are logged to."""
    monkeypatch.setenv("MLFLOW_ALLOW_FILE_STORE", "true")
    monkeypatch.chdir(tmp_path)
    mlflow.set_tracking_uri((tmp_path / "runs").as_uri())
    yield
    mlflow.set_tracking_uri(None)


@pytest.mark.filterwarnings("ignore::FutureWarning")
def test_a_run_has_the_numbers_and_the_summary(runs):
    summary = summary_of("alone")
    with mlflow.start_run() as run:
        log_to_mlflow(summary)
    logged = mlflow.get_run(run.info.run_id)
    assert logged.data.metrics == pytest.approx(metrics(summary))
    path = mlflow.artifacts.download_artifacts(f"{logged.info.artifact_uri}/whoknows/summary.json")
    with open(path, encoding="utf-8") as file:
        assert Summary.from_json(file.read()) == summary


@pytest.mark.parametrize(("kind", "skill"), [("alone", "expertise"), ("numbers", "typical_error")])
def test_every_annotator_is_a_metric(kind, skill):
    summary = summary_of(kind)
    names = {name for name in metrics(summary) if name.startswith(f"{skill}/")}
    assert names == {f"{skill}/{annotator}" for annotator in summary.annotators["annotator"]}
