"""The pages of results and README.md agree with the CSV files, and claims are judged by stated rules."""

import json
import re
import struct
import zlib
from itertools import product

import pandas as pd
import pytest

from benchmarks import claims as checked
from benchmarks import doc_tables, overview, page, parts, readme
from benchmarks.common import verdicts
from benchmarks.common.charts import squeezed
from benchmarks.common.tables import fixed, markdown
from benchmarks.common.verdicts import FAILS, HOLDS, OPEN, PART
from benchmarks.paper import claims, figure3, figures45, summary
from benchmarks.speed.worlds import EVERY

BASE = {"vote": 0.7, "annotator-1": 0.55, "annotator-2": 0.6, "ml-gaussian": 0.74, "ml-bernoulli": 0.75}
BASE |= {"tsvm": 0.72, "id": 0.75, "gp": 0.6, "lgp": 0.75, "auto": 0.8}
SETS, SHARES, FOLDS = ("pima", "bupa"), (0.1, 0.2, 1.0), range(5)


def cells(key=figure3.KEY, names=SETS, **changed):
    """Cells of every method: a value for all sets, per set, or per (set, proportion), plus noise per fold."""
    values = BASE | {name.replace("_", "-"): value for name, value in changed.items()}
    rows = []
    for name, share, fold, (method, value) in product(names, SHARES, FOLDS, values.items()):
        if isinstance(value, dict):
            value = value.get((name, share), value.get(name, BASE.get(method)))
        accuracy = value + 0.001 * ((fold * 7 + len(method)) % 5)
        where = {key[0]: name, "problem": 1, "repeat": 0, "fold": fold, "proportion": share}
        rows.append(where | {"method": method, "accuracy": accuracy, "auc": accuracy, "seconds": 36, "error": ""})
    made = pd.DataFrame(rows).reindex(columns=[*key, "accuracy", "auc", "seconds", "error"])
    return made.assign(commit="abc1234", machine="Abacus, 2 cores, 1 GiB, Wood")


def told(**changed):
    return {"figure3": summary.with_annotators(cells(**changed), figure3.KEY[:-1])}


def studies(**changed):
    made = cells(figures45.KEY, ("colposcopy", "simulated"), **changed)
    return {"figures45": summary.with_annotators(made, figures45.KEY[:-1])}


@pytest.fixture
def results(tmp_path):
    """A folder of results with Fig. 3 only, and the versions that it ran with."""
    folder = tmp_path / "results"
    (folder / "paper").mkdir(parents=True)
    cells(auto={("bupa", 0.2): 0.7}).to_csv(folder / "paper" / "figure3.csv", index=False)
    machine = {"processor": "Abacus", "cores": "2", "memory": "1 GiB", "system": "Wood", "numpy": "2.0"}
    (folder / "paper" / "figure3.machine.json").write_text(json.dumps([machine]))
    return folder


def whole(results, out):
    """The text of all pages."""
    return "\n\n".join(page.pages(results, out).values())


# --- the pages ------------------------------------------------------------------------------------------


def test_readme_and_pages_are_up_to_date():
    assert checked.stale(page.RESULTS, page.PAGE) == [], "run python -m benchmarks.page"


def test_a_changed_figure_is_found(tmp_path, monkeypatch):
    text = readme.README.read_text("utf-8")
    shown = readme.comparison(page.RESULTS)
    assert shown in text
    changed = tmp_path / "README.md"
    changed.write_text(text.replace(shown, shown.replace("0.", "0.1", 1)), "utf-8")
    monkeypatch.setattr(readme, "README", changed)
    for file, right in doc_tables.pages().items():
        (tmp_path / file.name).write_text(right.replace("| .826 |", "| .827 |"), "utf-8")  # in sharp_bits.md
    monkeypatch.setattr(doc_tables, "DOCS", tmp_path)
    monkeypatch.setattr(page, "pages", lambda *given: {})  # they take long, and the test above compares them
    assert checked.stale(page.RESULTS, page.PAGE) == [changed, tmp_path / "sharp_bits.md"]


def test_every_figure_of_the_comparison_has_a_file_that_exists():
    figures = list(readme.figures(page.RESULTS))
    assert {figure.what for figure in figures} == set(re.findall(r"{([^}]+)}", readme.TEXT))
    assert all((page.RESULTS / file).is_file() for figure in figures for file in figure.files)


def test_commits_of_all_files_are_told(results, monkeypatch):
    monkeypatch.setattr(doc_tables, "TABLES", {"choice": doc_tables.TABLES["choice"]})
    doc_tables.store("choice", [{"question": "ring"}] * 2, results)
    (name,) = set(pd.read_csv(results / "docs" / "choice.csv", dtype=str)["commit"])
    lines, every = checked.provenance(results)
    assert [line.partition(" rows")[0] for line in lines] == ["    docs/choice.csv: 2", "    paper/figure3.csv: 300"]
    assert every == {name, "abc1234"}


def test_the_conclusions_fit_on_two_screens():
    text = page.front(page.RESULTS, page.PAGE).partition("## Pages")[0]
    assert len(text.split()) < 600


README = {  # names in its table
    "logistic regression on the majority vote": "vote",
    "transductive SVM on the majority vote": "tsvm",
    "multi-annotator logistic regression, constant accuracies (ML original)": "ml-gaussian",
    "the paper's LGP, scaled": "lgp",
    "`CrowdClassifier()`": "default",
    "`AutoCrowdClassifier()`, the default of `whoknows fit`": "auto",
}


def test_the_table_of_the_readme_has_the_means_of_the_file():
    """Computed from the rows once more, without the functions that write the page."""
    rows = pd.read_csv(page.RESULTS / "paper" / "figure3.csv").query("method in @README.values()")
    key = ["set", "repeat", "fold", "proportion"]
    wide = rows.drop_duplicates([*key, "method"], keep="last").pivot(index=key, columns="method", values="accuracy")
    means = wide.groupby("set").mean().mean()
    text = readme.README.read_text("utf-8")
    for name, method in README.items():
        points = "" if method == "vote" else f"{100 * (means[method] - means['vote']):+.1f} "
        assert f"| {name} | {means[method]:.3f} | {points}|" in text


def test_the_readme_agrees_with_the_file_on_real_crowds():
    rows = pd.read_csv(page.RESULTS / "crowds.csv").drop_duplicates(["set", "share", "repeat", "method"], keep="last")
    means = rows.groupby(["set", "method", "share"])["classifier_accuracy"].mean().groupby(["set", "method"]).mean()
    told = readme.README.read_text("utf-8").partition("**Real crowds.**")[2]
    assert f"| labelme, classifier | {means['labelme', 'AutoCrowdClassifier']:.3f} | " in told
    largest = rows[(rows["set"] == "labelme") & (rows["share"] == 1)].set_index("method")["cpu_seconds"]
    assert f"{largest['AutoCrowdClassifier']:.0f} CPU seconds on all of LabelMe" in told


def test_its_pictures_exist():
    files = [page.PAGE, *page.PAGE.with_suffix("").glob("*.md")]
    links = [(file.parent, link) for file in files for link in page.LINK.findall(file.read_text("utf-8"))]
    assert [link for folder, link in links if not (folder / link).exists()] == []
    run = [part for part in parts.PARTS.values() if part.is_there(page.RESULTS)]
    assert len(links) == sum(len(part.images) for part in run)


def test_without_results_every_section_says_so(tmp_path):
    text = whole(tmp_path, tmp_path / "page.md")
    assert text.count("Not run yet (`python -m benchmarks.") == len(parts.PARTS) == 8
    assert not page.LINK.search(text)
    assert "clearly more accurate" not in text
    assert {HOLDS, PART, FAILS}.isdisjoint(re.findall(r"\| (\w[\w ]*\w) +(?=\|)", text))


def test_numbers_on_the_page_are_those_of_the_cells(results, tmp_path):
    text = whole(results, tmp_path / "page.md")
    lines = text.splitlines()
    assert "The benchmarks ran on Abacus, 2 cores, 1 GiB, Wood." in text
    assert "Versions: numpy 2.0." in text
    assert "clearly more accurate in 5, tied in 0 and clearly less accurate in 1 (bupa at 20%)" in text
    assert "The run is not complete." in text
    (won,) = (line for line in lines if line.startswith("| cells won"))
    assert re.search(r"\| 5 of 6 +\|", won)
    (rank,) = (line for line in lines if line.startswith("| mean rank"))
    assert re.search(r"\| 1\.42 +\|", rank)  # 3.5 in one cell, behind two baselines and tied with the vote
    (points,) = (line for line in lines if line.startswith("| mean accuracy"))
    assert "| +8.3 ± 0.0 points" in points
    (lost,) = (line for line in lines if line.startswith("| bupa") and "ML original" in line)
    assert [cell.strip() for cell in lost.split("|")[2:5]] == ["1 of 3", "ML original (1)", "4.0"]
    assert "| The paper's data sets (Fig. 3) | `paper/figure3.csv` | 30 of 2800 | 3.0 h " in text


def test_a_method_that_was_not_run_everywhere_leaves_a_benchmark_incomplete(results):
    """For example after a run that recomputes one method was interrupted."""
    path = results / "paper" / "figure3.csv"
    rows = pd.read_csv(path)
    stopped = (rows["method"] == "auto") & (rows["fold"] > 0)
    rows[~stopped].to_csv(path, index=False)
    assert parts.PARTS["figure3"].done(results) == 6  # one fold of two sets at three proportions
    wide = overview.comparable(results)
    assert set(wide.index.get_level_values("fold")) == {0}


def test_repeats_evaluated_during_development_are_counted_apart(results, tmp_path):
    assert "during development. Then" not in whole(results, tmp_path / "page.md")
    early, late = cells(auto={("bupa", 0.2): 0.7}), cells(auto={"bupa": 0.6}).assign(repeat=figure3.LOOKED_AT)
    pd.concat([early, late]).to_csv(results / "paper" / "figure3.csv", index=False)
    text = whole(results, tmp_path / "page.md")
    assert "the first 1 repeats gave 5 of 6 with the final defaults." in text
    assert "They give 3 of 6 on their own, and all 2 repeats together give 3 of 6." in text
    (rank,) = (line for line in text.splitlines() if line.startswith("| mean rank"))
    assert re.search(r"\| 1\.42 +\| [\d.]+ +\|$", rank)


def test_data_sets_where_the_majority_class_is_more_accurate_are_named(results, tmp_path):
    assert "Always predicting" not in whole(results, tmp_path / "page.md")
    cells(auto={"bupa": 0.57}).to_csv(results / "paper" / "figure3.csv", index=False)
    text = whole(results, tmp_path / "page.md")
    assert "Always predicting the majority class is more accurate than our mean on bupa (0.580)" in text


def test_run_times_are_on_the_page(results, tmp_path):
    measured = {"world": "labelled-10k", "cpu_seconds": 7.3, "version": "whoknows 1", "error": ""}
    columns = [*parts.speed.KEY, *parts.speed.VALUES]
    rows = [
        dict.fromkeys(columns, 1) | measured | {"method": method, "commit": "abc1234"}
        for method in ("AutoCrowdClassifier", "CROWDLAB")
    ]
    pd.DataFrame(rows, columns=columns).to_csv(results / parts.PARTS["speed"].file, index=False)
    text = whole(results, tmp_path / "page.md")
    speed = text.partition("## Speed\n")[2].partition("## ")[0] + text.partition("### Other packages")[2]
    assert speed.count(" 7.3 |") == 2
    assert "7.3 (1.0×)" in speed
    assert f"Not complete: 1 of {len(EVERY)} draws" in speed
    assert re.search(r"\| Speed .*\| abc1234 +\|", text)


def test_the_page_changes_with_a_cell(results, tmp_path):
    before = whole(results, tmp_path / "page.md")
    path = results / "paper" / "figure3.csv"
    table = pd.read_csv(path, keep_default_na=False)
    table.loc[table["method"] == "tsvm", "accuracy"] += 0.004
    table.to_csv(path, index=False)
    assert whole(results, tmp_path / "page.md") != before


def test_links_of_pictures_are_relative_to_the_page(results, tmp_path, monkeypatch):
    out = tmp_path / "docs" / "page.md"
    links = page.LINK.findall(whole(results, out))
    assert links[0] == "../../results/paper/figure3.png"
    monkeypatch.setattr("sys.argv", ["page", "--results", str(results), "--out", str(out)])
    with pytest.raises(SystemExit, match=r"figure3\.png.*not drawn yet\. Run python -m benchmarks\.paper\.charts"):
        page.main()
    assert not out.exists()


def test_methods_that_were_not_run_leave_gaps_not_errors(results, tmp_path):
    path = results / "paper" / "figure3.csv"
    table = pd.read_csv(path, keep_default_na=False)
    table[table["method"].isin(["vote", "lgp"])].to_csv(path, index=False)
    text = whole(results, tmp_path / "page.md")
    assert text.count("not run yet") > 10
    assert re.search(r"\| LGP, scaled +\| +0\.75\d+ \|.*– ", text)


# --- the rules ------------------------------------------------------------------------------------------


def cells_won(**by_set):
    values = {(name, place): won == "1" for name, row in by_set.items() for place, won in enumerate(row)}
    return pd.Series(values)


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        (cells_won(a="11111", b="11100"), HOLDS),
        (cells_won(a="11110", b="11100"), PART),  # seven of ten cells
        (cells_won(a="1111111111", b="1010"), PART),  # only half of the cells of b
        (cells_won(a="10", b="01"), PART),
        (cells_won(a="10", b="00"), FAILS),
        (pd.Series(dtype=bool), OPEN),
    ],
)
def test_best_is_best_in_almost_all_cells_and_in_every_set(held, verdict):
    assert verdicts.best(held) == verdict


def differences(mean, sem, **sets):
    return pd.DataFrame({"mean": mean, **sets}.items(), columns=["set", "mean"]).assign(sem=sem).set_index("set")


@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        (differences(0.02, 0.009, a=0.03, b=0.01), HOLDS),
        (differences(0.02, 0.011, a=0.03, b=0.01), FAILS),  # may be chance
        (differences(0.02, 0.009, a=0.06, b=-0.02), PART),  # clearly worse in b
        (differences(0.02, 0.009, a=0.05, b=-0.01), HOLDS),  # the difference in b may be chance
        (differences(0.004, 0.001, a=0.004, b=0.004), PART),  # clear, but small
        (differences(-0.02, 0.001, a=-0.02, b=-0.02), FAILS),
        (differences(0.02, float("nan"), a=0.02), OPEN),
    ],
)
def test_better_is_clearly_better_and_nowhere_clearly_worse(table, verdict):
    assert verdicts.better(table) == verdict


@pytest.mark.parametrize(("a", "b", "verdict"), [(0.01, -0.01, HOLDS), (0.0, 0.02, PART), (0.02, -0.02, FAILS)])
def test_almost_equal_is_within_one_point(a, b, verdict):
    assert verdicts.alike(differences((a + b) / 2, 0.1, a=a, b=b)) == verdict


def test_of_several_comparisons_all_must_hold():
    assert verdicts.together([HOLDS, HOLDS]) == HOLDS
    assert verdicts.together([HOLDS, FAILS]) == verdicts.together([PART, PART]) == PART
    assert verdicts.together([FAILS, FAILS]) == FAILS
    assert verdicts.together([HOLDS, OPEN]) == OPEN


# --- the claims -----------------------------------------------------------------------------------------


def test_cells_are_counted_by_set():
    verdict, figures = claims.best("lgp")(told(lgp={("bupa", 1.0): 0.6}))
    assert (verdict, figures) == (HOLDS, "Wins 5 of 6 cells (bupa 2 of 3, pima 3 of 3)")
    assert claims.best("lgp")(told(lgp={"bupa": 0.6}))[0] == PART
    assert claims.best("gp")(told())[0] == FAILS


def test_differences_are_given_with_standard_errors():
    verdict, figures = claims.better(("lgp", "tsvm"), beside=[("ml-gaussian", "lgp")])(told())
    assert verdict == HOLDS
    assert figures.startswith(
        "Difference to transductive SVM +3.0 ± 0.1 points (clearly above 0 in 2, below in 0 of 2 data sets)"
    )
    assert "; ML original: difference to LGP, scaled -1.0 ± 0.1 points" in figures


def test_an_explanation_is_judged_apart_from_the_claim():
    by_short = {claim.short: claim for claim in claims.CLAIMS}
    made = told(lgp=0.76, id=0.76)
    assert by_short["better than supervised methods"].lgp.judge(made)[0] == HOLDS
    because = by_short["better because of unlabelled items"].lgp
    assert because.judge(made)[0] == FAILS
    assert because.why(FAILS) == claims.RIDGE != because.why(HOLDS)


def test_unlabelled_items_are_judged_on_the_papers_sets():
    rows = [
        (name, repeat, share, which, "auto", 0.7 + 0.01 * repeat + gain * (which == "with"))
        for (name, gain), repeat, share, which in product(
            [("pima", 0.02), ("bupa", 0.01), ("digits", -0.5)], range(3), ("10%", "30%"), ("with", "without")
        )
    ]
    table = pd.DataFrame(rows, columns=["set", "repeat", "labelled", "unlabelled", "method", "accuracy"])
    verdict, figures = claims.gains_from_unlabelled("auto")({"unlabelled": table})
    assert verdict == HOLDS
    assert "+1.5 ± 0.0 points (clearly above 0 in 2, below in 0 of 2 data sets)" in figures
    assert claims.gains_from_unlabelled("auto")({}) == claims.NOT_RUN


def test_studies_are_judged_at_one_proportion():
    made = studies(lgp={("simulated", 0.2): 0.9}, ml_gaussian={("simulated", 1.0): 0.9})
    where = {"file": "figures45", "measure": "auc"}
    verdict, figures = claims.better(("lgp", "ml-gaussian"), at=0.2, **where)(made)
    assert verdict == HOLDS
    assert re.search(r"\(colposcopy \+1\.0 ± [\d.]+, simulated \+16\.0 ± [\d.]+\)", figures)
    assert claims.alike("lgp", "ml-gaussian", at=1.0, **where)(made)[0] == PART
    assert claims.better(("lgp", "ml-gaussian"), at=0.5, **where)(made) == claims.NOT_RUN


def test_every_claim_is_judged_if_everything_was_run():
    made = told() | studies()
    for claim in claims.CLAIMS:
        verdict, figures = claim.lgp.judge(made)
        assert verdict in (HOLDS, PART, FAILS), claim.short
        assert figures
        assert claim.lgp.why(verdict)


def test_explanations_contain_no_numbers():
    sides = [side for c in claims.CLAIMS for side in (c.lgp, c.ours) if isinstance(side, claims.Side)]
    reasons = [side.why(verdict) for side in sides for verdict in (HOLDS, PART, FAILS)]
    assert all(reasons)
    assert [reason for reason in reasons if re.search(r"\d", reason)] == []


# --- tables and pictures --------------------------------------------------------------------------------


def test_rounding_errors_of_sums_do_not_show():
    assert fixed(0.1 + 0.2, 3) == fixed(0.3, 3) == "0.300"
    assert fixed(0.0625 - 1e-13, 3) == fixed(0.0625 + 1e-13, 3)
    assert fixed(1.25, 1, "+") == "+1.2"


def test_words_are_left_aligned():
    table = pd.DataFrame({"verdict": ["holds"]}, index=pd.Index(["a"], name="claim"))
    assert markdown(table, words=True).splitlines() == [
        "| claim | verdict |",
        "|-------|---------|",
        "| a     | holds   |",
    ]


def test_a_compressed_picture_has_the_same_pixels():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header, pixels = struct.pack(">IIBBBBB", 90, 90, 8, 0, 0, 0, 0), bytes(91) * 90
    loose = zlib.compress(pixels, 0)
    parts = [(b"IHDR", header), (b"IDAT", loose[:5000]), (b"IDAT", loose[5000:]), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
    tight = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b"")
    assert squeezed(png) == png[:8] + tight
    assert len(squeezed(png)) < len(png) / 10
