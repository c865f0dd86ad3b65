"""The report embeds images from folders that the user names, and from no others."""

import base64
import json
import os
import tomllib

import pytest

from tests.apps.cli import failure, run, write

PUBLIC, SECRET = b"\x89PNG public", b"\x89PNG secret"


def is_embedded(content, out):
    """Whether an image is in any result of a fit."""
    code = base64.b64encode(content).decode().rstrip("=")
    return any(code in (out / name).read_text("utf-8") for name in ("report.html", "summary.json"))


@pytest.fixture
def project(tmp_path, monkeypatch):
    """A folder of labels and images, which is the current one, and an image outside of it."""
    (tmp_path / "secret.png").write_bytes(SECRET)
    folder = tmp_path / "project"
    (folder / "pics").mkdir(parents=True)
    (folder / "pics" / "a.png").write_bytes(PUBLIC)
    os.symlink(tmp_path / "secret.png", folder / "pics" / "link.png")
    monkeypatch.chdir(folder)
    return folder


def export(name):
    """Write a Label Studio export of 20 items with the same image; return the arguments of a fit to it."""
    tasks = [
        {
            "id": i,
            "data": {"image": str(name)},
            "annotations": [
                {
                    "completed_by": who,
                    "result": [
                        {
                            "from_name": "kind",
                            "to_name": "image",
                            "type": "choices",
                            "value": {"choices": ["ab"[(i + (who == 2 and i < 4)) % 2]]},
                        }
                    ],
                }
                for who in (1, 2)
            ],
        }
        for i in range(20)
    ]
    write("export.json", json.dumps(tasks))
    write("features.csv", "item,x\n" + "".join(f"{i},{i % 2}.{i}\n" for i in range(20)))
    return "fit", "export.json", "--features", "features.csv", "--model", "id", "--out", "out", "--quiet"


@pytest.mark.parametrize(
    "name",
    ["{above}/secret.png", "../secret.png", "pics/../../secret.png", "pics/link.png", "link.png"],
    ids=["absolute", "parent", "through", "symlink", "symlink-in-folder"],
)
@pytest.mark.parametrize("folders", [(), ("pics",), (".", "pics")], ids=len)
def test_an_export_cannot_put_a_local_file_into_the_report(project, name, folders):
    name = name.format(above=project.parent)
    said = run(*export(name), *(word for folder in folders for word in ("--image-folder", folder)))
    assert not is_embedded(SECRET, project / "out")
    assert name in (project / "out" / "summary.json").read_text("utf-8")  # its name is shown
    if folders or name != "link.png":  # without a folder there is no such file
        warning = " ".join(said.err.split())
        assert "refers to 20 image files outside the folders given with --image-folder" in warning
        assert f"such as '{name}'" in warning
        assert "name the folder that holds the images: --image-folder FOLDER." in warning


def test_images_next_to_the_labels_need_the_option(project):
    assert "--image-folder" in run(*export("pics/a.png")).err
    assert not is_embedded(PUBLIC, project / "out")


@pytest.mark.parametrize("name", ["pics/a.png", "a.png", "{here}/pics/a.png"], ids=["labels", "folder", "full"])
@pytest.mark.parametrize("folders", [("pics",), ("out", "pics")], ids=len)
def test_images_in_named_folders_are_embedded(project, name, folders):
    (project / "out").mkdir()
    said = run(*export(name.format(here=project)), *(word for folder in folders for word in ("--image-folder", folder)))
    assert said.err == ""
    assert is_embedded(PUBLIC, project / "out")


def test_a_folder_is_named_in_settings_too(project, tmp_path, monkeypatch):
    run(*export("pics/a.png"), "--image-folder", "pics")
    settings = project / "out" / "settings.toml"
    assert tomllib.loads(settings.read_text("utf-8"))["image_folder"] == [str(project / "pics")]
    monkeypatch.chdir(tmp_path)
    run("fit", "--config", settings, "--out", "again", "--quiet")
    assert is_embedded(PUBLIC, tmp_path / "again")
    words = 'labels = "export.json"\nfeatures = "features.csv"\nmodel = "id"\nimage_folder = "pics"\n'
    write(project / "my.toml", words)  # paths are relative to the file of settings
    run("fit", "--config", project / "my.toml", "--out", "mine", "--quiet")
    assert is_embedded(PUBLIC, tmp_path / "mine")


def test_a_folder_that_does_not_exist(project):
    message = failure(*export("pics/a.png"), "--image-folder", "nowhere", code=2)
    assert "--image-folder" in message
    assert "nowhere" in message
