"""The page of results says what the CSV files say; a claim holds by a stated rule."""

import json
import re
import struct
import zlib
from itertools import product

import pandas as pd
import pytest

from benchmarks import page
from benchmarks.common import verdicts
from benchmarks.common.charts import squeezed
from benchmarks.common.tables import fixed, markdown
from benchmarks.common.verdicts import FAILS, HOLDS, OPEN, PART
from benchmarks.paper import claims, figure3, figures45, summary

BASE = {"vote": 0.7, "annotator-1": 0.55, "annotator-2": 0.6, "ml-gaussian": 0.74, "ml-bernoulli": 0.75}
BASE |= {"tsvm": 0.72, "id": 0.75, "gp": 0.6, "lgp": 0.75, "auto": 0.8}
SETS, SHARES, FOLDS = ("pima", "bupa"), (0.1, 0.2, 1.0), range(5)


def cells(key=figure3.KEY, names=SETS, **changed):
    """Cells of every method: its value in all sets, by set, or by (set, proportion); folds differ a bit."""
    values = BASE | {name.replace("_", "-"): value for name, value in changed.items()}
    rows = []
    for name, share, fold, (method, value) in product(names, SHARES, FOLDS, values.items()):
        if isinstance(value, dict):
            value = value.get((name, share), value.get(name, BASE.get(method)))
        accuracy = value + 0.001 * ((fold * 7 + len(method)) % 5)
        where = {key[0]: name, "problem": 1, "repeat": 0, "fold": fold, "proportion": share}
        rows.append(
            where | {"method": method, "accuracy": accuracy, "auc": accuracy, "seconds": 36, "error": ""}
        )
    return pd.DataFrame(rows).reindex(columns=[*key, "accuracy", "auc", "seconds", "error"])


def told(**changed):
    return {"figure3": summary.with_annotators(cells(**changed), figure3.KEY[:-1])}


def studies(**changed):
    made = cells(figures45.KEY, ("colposcopy", "simulated"), **changed)
    return {"figures45": summary.with_annotators(made, figures45.KEY[:-1])}


@pytest.fixture
def results(tmp_path):
    """A folder of results: Fig. 3 alone, and the machine it ran on."""
    folder = tmp_path / "results"
    (folder / "paper").mkdir(parents=True)
    cells(auto={("bupa", 0.2): 0.7}).to_csv(folder / "paper" / "figure3.csv", index=False)
    machine = {"processor": "Abacus", "cores": "2", "memory": "1 GiB", "system": "Wood", "numpy": "2.0"}
    (folder / "paper" / "figure3.machine.json").write_text(json.dumps([machine]))
    return folder


# --- the page -------------------------------------------------------------------------------------------


def test_the_page_in_the_docs_is_what_the_results_give():
    given = page.page(page.RESULTS, page.PAGE)
    assert given == page.PAGE.read_text("utf-8"), "docs/results.md is stale: run python -m benchmarks.page"


README = {  # what its table calls a method
    "logistic regression on the majority vote": "vote",
    "transductive SVM on the majority vote": "tsvm",
    "multi-annotator logistic regression, constant accuracies (ML original)": "ml-gaussian",
    "the paper's LGP as printed": "lgp",
    "`CrowdClassifier()`": "default",
    "`AutoCrowdClassifier()`, what `whoknows fit` takes": "auto",
}


def test_the_readme_says_what_the_results_say():
    text = (page.PAGE.parents[1] / "README.md").read_text("utf-8")
    wide = page.comparable(page.RESULTS)
    means = summary.cell_means(wide).mean()
    for name, method in README.items():
        points = "" if method == "vote" else f"{fixed(100 * (means[method] - means['vote']), 1, '+')} "
        assert f"| {name} | {fixed(means[method], 3)} | {points}|" in text
    lost = ~summary.won(summary.cell_means(wide), summary.OURS)
    assert f"in {lost.sum()} of the {len(lost)} cells a baseline is better still" in text
    early = wide[wide.index.get_level_values("repeat") < figure3.LOOKED_AT]
    lost = ~summary.won(summary.cell_means(early), summary.OURS)
    assert f"the first five repeats alone have {lost.sum()} such cells" in text


def test_the_readme_tells_of_real_crowds_what_the_results_tell():
    text = (page.PAGE.parents[1] / "README.md").read_text("utf-8")
    rows = page.PARTS["crowds"].read(page.RESULTS)
    told = text[text.index("On four real crowds") : text.index("## Cite")]
    for figure in page.crowds_summary.compared(rows, whole=True).itertuples():
        assert fixed(figure.ours, 3) in told
        assert fixed(figure.theirs, 3) in told
    seconds = page.crowds_summary.means(rows, "cpu_seconds").loc[("labelme", 1.0)]
    assert f"{fixed(seconds['AutoCrowdClassifier'], 0)} s of the processor" in told
    assert f"the next best takes {fixed(seconds['CROWDLAB + tuned LR'], 0)} (" in told
    held = page.crowds_summary.compared(rows)["held"]
    assert f"in {held.sum()} of {len(held)} figures" in " ".join(told.split())


def test_its_pictures_are_there():
    links = page.LINK.findall(page.PAGE.read_text("utf-8"))
    assert [link for link in links if not (page.PAGE.parent / link).exists()] == []
    run = [part for part in page.PARTS.values() if part.is_there(page.RESULTS)]
    assert len(links) == sum(len(part.images) for part in run)


def test_without_results_every_part_says_so(tmp_path):
    text = page.page(tmp_path, tmp_path / "page.md")
    assert text.count("Not run yet (`python -m benchmarks.") == len(page.PARTS) == 6
    assert not page.LINK.search(text)
    assert "reached" not in text
    assert {HOLDS, PART, FAILS}.isdisjoint(re.findall(r"\| (\w[\w ]*\w) +(?=\|)", text))


def test_numbers_on_the_page_are_those_of_the_cells(results, tmp_path):
    text = page.page(results, tmp_path / "page.md")
    lines = text.splitlines()
    assert "They were run on Abacus, 2 cores, 1 GiB, Wood." in text
    assert "Versions: numpy 2.0." in text
    (aim,) = (line for line in lines if "no baseline of the paper" in line and line.startswith("| cells"))
    assert re.search(r"\| 5 of 6 +\| reached, so far \|$", aim)
    (rank,) = (line for line in lines if line.startswith("| its mean rank"))
    assert re.search(r"\| 1\.42 +\| missed, so far +\|$", rank)  # once third and fourth, equal to the vote
    (points,) = (line for line in lines if line.startswith("| its mean accuracy"))
    assert "| +8.3 ± 0.0 points" in points
    (lost,) = (line for line in lines if line.startswith("| bupa") and "ML original" in line)
    assert [cell.strip() for cell in lost.split("|")[2:5]] == ["1 of 3", "ML original (1)", "4.0"]
    assert "| The paper's sets (Fig. 3) | 30 of 2800 | 3.0 h " in text


def test_a_method_that_was_not_run_everywhere_leaves_a_part_incomplete(results):
    """As a run that computes one method again leaves it if it is stopped."""
    path = results / "paper" / "figure3.csv"
    rows = pd.read_csv(path)
    stopped = (rows["method"] == "auto") & (rows["fold"] > 0)
    rows[~stopped].to_csv(path, index=False)
    assert page.PARTS["figure3"].done(results) == 6  # one fold of two sets at three proportions
    wide = page.comparable(results)
    assert set(wide.index.get_level_values("fold")) == {0}


def test_repeats_that_were_looked_at_are_told_from_the_others(results, tmp_path):
    assert "looked at on the way" not in page.page(results, tmp_path / "page.md")
    early, late = cells(auto={("bupa", 0.2): 0.7}), cells(auto={"bupa": 0.6}).assign(repeat=figure3.LOOKED_AT)
    pd.concat([early, late]).to_csv(results / "paper" / "figure3.csv", index=False)
    text = page.page(results, tmp_path / "page.md")
    assert "show 5 of 6 cells, mean rank 1.42 by themselves" in text  # in one cell behind two, level with one
    assert "every default stood as it is, 3 of 6 cells, mean rank 2.50." in text


def test_where_the_larger_class_gets_more_right_it_is_said(results, tmp_path):
    assert "Always naming the larger class" not in page.page(results, tmp_path / "page.md")
    cells(auto={"bupa": 0.57}).to_csv(results / "paper" / "figure3.csv", index=False)
    assert "Always naming the larger class gets bupa (0.580) right" in page.page(
        results, tmp_path / "page.md"
    )


def test_seconds_are_on_the_page(results, tmp_path):
    measured = {"world": "labelled-10k", "method": "AutoCrowdClassifier", "cpu_seconds": 7.3}
    measured |= {"version": "whoknows 1", "error": ""}
    for part, module in (("speed", page.speed), ("against", page.against)):
        columns = [*module.KEY, *module.VALUES]
        row = pd.DataFrame([dict.fromkeys(columns, 1) | measured], columns=columns)
        row.to_csv(results / page.PARTS[part].file, index=False)
    text = page.page(results, tmp_path / "page.md")
    speed = text.partition("## Speed\n")[2].partition("## How")[0]
    assert speed.count(" 7.3 |") == 2
    assert "Not complete: 1 of 10 draws" in speed
    assert "Not run yet" not in speed


def test_the_page_changes_with_a_cell(results, tmp_path):
    before = page.page(results, tmp_path / "page.md")
    path = results / "paper" / "figure3.csv"
    table = pd.read_csv(path, keep_default_na=False)
    table.loc[table["method"] == "tsvm", "accuracy"] += 0.004
    table.to_csv(path, index=False)
    assert page.page(results, tmp_path / "page.md") != before


def test_pictures_are_named_from_where_the_page_stands(results, tmp_path, monkeypatch):
    out = tmp_path / "docs" / "page.md"
    links = page.LINK.findall(page.page(results, out))
    assert links[0] == "../results/paper/figure3.png"
    monkeypatch.setattr("sys.argv", ["page", "--results", str(results), "--out", str(out)])
    with pytest.raises(
        SystemExit, match=r"figure3\.png.*not drawn yet\. Run python -m benchmarks\.paper\.charts"
    ):
        page.main()
    assert not out.exists()


def test_methods_that_were_not_run_leave_gaps_not_errors(results, tmp_path):
    path = results / "paper" / "figure3.csv"
    table = pd.read_csv(path, keep_default_na=False)
    table[table["method"].isin(["vote", "lgp"])].to_csv(path, index=False)
    text = page.page(results, tmp_path / "page.md")
    assert text.count("not run yet") > 10
    assert re.search(r"\| LGP as printed +\| +0\.75\d+ \|.*– ", text)


# --- the rules ------------------------------------------------------------------------------------------


def cells_won(**by_set):
    values = {(name, place): won == "1" for name, row in by_set.items() for place, won in enumerate(row)}
    return pd.Series(values)


@pytest.mark.parametrize(
    ("held", "verdict"),
    [
        (cells_won(a="11111", b="11100"), HOLDS),
        (cells_won(a="11110", b="11100"), PART),  # seven of ten
        (cells_won(a="1111111111", b="1010"), PART),  # of b only half
        (cells_won(a="10", b="01"), PART),
        (cells_won(a="10", b="00"), FAILS),
        (pd.Series(dtype=bool), OPEN),
    ],
)
def test_best_is_best_in_almost_all_cells_and_in_every_set(held, verdict):
    assert verdicts.best(held) == verdict


def differences(mean, sem, **sets):
    return (
        pd.DataFrame({"mean": mean, **sets}.items(), columns=["set", "mean"]).assign(sem=sem).set_index("set")
    )


@pytest.mark.parametrize(
    ("table", "verdict"),
    [
        (differences(0.02, 0.009, a=0.03, b=0.01), HOLDS),
        (differences(0.02, 0.011, a=0.03, b=0.01), FAILS),  # may be chance
        (differences(0.02, 0.009, a=0.06, b=-0.02), PART),  # clearly worse in b
        (differences(0.02, 0.009, a=0.05, b=-0.01), HOLDS),  # in b it may be chance
        (differences(0.004, 0.001, a=0.004, b=0.004), PART),  # clear, but small
        (differences(-0.02, 0.001, a=-0.02, b=-0.02), FAILS),
        (differences(0.02, float("nan"), a=0.02), OPEN),
    ],
)
def test_better_is_clearly_better_and_nowhere_clearly_worse(table, verdict):
    assert verdicts.better(table) == verdict


@pytest.mark.parametrize(
    ("a", "b", "verdict"), [(0.01, -0.01, HOLDS), (0.0, 0.02, PART), (0.02, -0.02, FAILS)]
)
def test_alike_is_within_a_point(a, b, verdict):
    assert verdicts.alike(differences((a + b) / 2, 0.1, a=a, b=b)) == verdict


def test_of_several_comparisons_all_must_hold():
    assert verdicts.together([HOLDS, HOLDS]) == HOLDS
    assert verdicts.together([HOLDS, FAILS]) == verdicts.together([PART, PART]) == PART
    assert verdicts.together([FAILS, FAILS]) == FAILS
    assert verdicts.together([HOLDS, OPEN]) == OPEN


# --- the claims -----------------------------------------------------------------------------------------


def test_cells_are_counted_by_set():
    verdict, figures = claims.best("lgp")(told(lgp={("bupa", 1.0): 0.6}))
    assert (verdict, figures) == (HOLDS, "Best in 5 of 6 cells (bupa 2 of 3, pima 3 of 3)")
    assert claims.best("lgp")(told(lgp={"bupa": 0.6}))[0] == PART
    assert claims.best("gp")(told())[0] == FAILS


def test_differences_are_told_with_their_errors():
    verdict, figures = claims.better(("lgp", "tsvm"), beside=[("ml-gaussian", "lgp")])(told())
    assert verdict == HOLDS
    assert figures.startswith(
        "Over transductive SVM +3.0 ± 0.1 points (clearly above in 2, below in 0 of 2 sets)"
    )
    assert "; ML original over LGP as printed -1.0 ± 0.1 points" in figures


def test_a_reason_is_judged_apart_from_what_it_explains():
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
    assert "+1.5 ± 0.0 points (clearly above in 2, below in 0 of 2 sets)" in figures
    assert claims.gains_from_unlabelled("auto")({}) == claims.NOT_RUN


def test_studies_are_judged_at_one_proportion_each_named():
    made = studies(lgp={("simulated", 0.2): 0.9}, ml_gaussian={("simulated", 1.0): 0.9})
    where = {"file": "figures45", "measure": "auc"}
    verdict, figures = claims.better(("lgp", "ml-gaussian"), at=0.2, **where)(made)
    assert verdict == HOLDS
    assert re.search(r"\(colposcopy \+1\.0 ± [\d.]+, simulated \+16\.0 ± [\d.]+\)", figures)
    assert claims.alike("lgp", "ml-gaussian", at=1.0, **where)(made)[0] == PART
    assert claims.better(("lgp", "ml-gaussian"), at=0.5, **where)(made) == claims.NOT_RUN


def test_every_claim_is_judged_where_all_was_run():
    made = told() | studies()
    for claim in claims.CLAIMS:
        verdict, figures = claim.lgp.judge(made)
        assert verdict in (HOLDS, PART, FAILS), claim.short
        assert figures
        assert claim.lgp.why(verdict)


def test_reasons_state_no_numbers():
    sides = [side for c in claims.CLAIMS for side in (c.lgp, c.ours) if isinstance(side, claims.Side)]
    reasons = [side.why(verdict) for side in sides for verdict in (HOLDS, PART, FAILS)]
    assert all(reasons)
    assert [reason for reason in reasons if re.search(r"\d", reason)] == []


# --- tables and pictures --------------------------------------------------------------------------------


def test_noise_of_sums_does_not_show():
    assert fixed(0.1 + 0.2, 3) == fixed(0.3, 3) == "0.300"
    assert fixed(0.0625 - 1e-13, 3) == fixed(0.0625 + 1e-13, 3)
    assert fixed(1.25, 1, "+") == "+1.2"


def test_words_stand_to_the_left():
    table = pd.DataFrame({"verdict": ["holds"]}, index=pd.Index(["a"], name="claim"))
    assert markdown(table, words=True).splitlines() == [
        "| claim | verdict |",
        "|-------|---------|",
        "| a     | holds   |",
    ]


def test_a_squeezed_picture_is_the_same_picture():
    def chunk(kind, data):
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header, pixels = struct.pack(">IIBBBBB", 90, 90, 8, 0, 0, 0, 0), bytes(91) * 90
    loose = zlib.compress(pixels, 0)
    parts = [(b"IHDR", header), (b"IDAT", loose[:5000]), (b"IDAT", loose[5000:]), (b"IEND", b"")]
    png = b"\x89PNG\r\n\x1a\n" + b"".join(chunk(*part) for part in parts)
    tight = chunk(b"IHDR", header) + chunk(b"IDAT", zlib.compress(pixels, 9)) + chunk(b"IEND", b"")
    assert squeezed(png) == png[:8] + tight
    assert len(squeezed(png)) < len(png) / 10
