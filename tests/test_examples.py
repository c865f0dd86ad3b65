"""Every example runs, its results are plausible, and docs/examples.md shows its output."""

import re
import runpy
from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "examples.md").read_text("utf-8")
NUMBER = re.compile(r"(?<![\w.-])[+-]?\d+(?:\.\d+)?")  # not the 03 of w03


def run(name, capsys):
    """Run a script as a user would; return its globals, and the lines it printed under each heading."""
    script = runpy.run_path(str(ROOT / "examples" / f"{name}.py"), run_name="__main__")
    printed = capsys.readouterr().out.strip("\n")
    lines = printed.splitlines()
    assert len(lines) <= 50
    assert max(map(len, lines)) <= 100
    assert_on_page(name, printed)
    parts = [part.splitlines() for part in printed.split("\n\n")]
    return script, {heading: body for heading, _, *body in parts}


def assert_on_page(name, printed):
    """The page shows the same words, and numbers up to differences between machines."""
    shown = re.search(rf"python examples/{name}\.py\n```\n+```text\n(.*?)\n```\n", PAGE, re.DOTALL)
    assert shown, f"docs/examples.md does not show what examples/{name}.py prints"
    old, new = (NUMBER.sub("#", text).split() for text in (shown[1], printed))
    assert old == new, f"docs/examples.md is out of date: put in what examples/{name}.py prints"
    for was, now in zip(NUMBER.findall(shown[1]), NUMBER.findall(printed), strict=True):
        assert float(now) == pytest.approx(float(was), abs=0.05 if "." in was else 2, rel=0.05)


def numbers(lines, start):
    """Return the numbers in the one line with this start."""
    found = [line.strip()[len(start) :] for line in lines if line.strip().startswith(start)]
    assert len(found) == 1, (start, found)
    return [float(number) for number in NUMBER.findall(found[0])]


def test_llm_judges(capsys):
    script, printed = run("llm_judges", capsys)
    names, people = script["NAMES"], script["PEOPLE"]
    judges = len(names) - len(people)

    part = printed["Which answers are good?"]
    [vote], [plain], [sure] = (numbers(part, s) for s in ("majority", "whoknows  ", "whoknows, with"))
    assert plain > vote + 5
    assert sure > vote + 5
    assert sure > plain - 1

    part = printed["Whom to trust on what?"]
    table = np.array([numbers(part, f"{name} ") for name in names])  # labels, then estimated and true by topic
    learnt, true = table[:, 1::2], table[:, 2::2]
    assert np.abs(learnt - true).mean() < 8
    best = learnt[:judges].argmax(axis=0)
    assert (true[best, range(4)] > 85).all()  # the experts on each topic
    assert (learnt[judges:] < true[judges:]).all()  # shrunk
    learnt_passed, passed = numbers(part, "The most lenient is dune: it passes")
    assert learnt_passed == pytest.approx(passed, abs=10)

    part = printed["How good is the chatbot?"]
    rates = np.array([numbers(part, f"{name} ") for name in ("all items", *script["TOPICS"])])
    _, rate, low, high, actual = rates.T
    assert ((low <= rate) & (rate <= high)).all()
    assert ((low <= actual) & (actual <= high)).sum() >= 4

    part = printed["Who repeats whom?"]
    assert part[0].startswith("1 of 21 pairs")
    agree, of, expected = numbers(part, "atlas and atlas-mini")
    assert expected + 20 < agree <= of

    part = printed["Whom to ask next?"]
    by_people = [numbers(part, f"If a person costs {price:>2} times")[0] for price in (1, 5, 20)]
    assert by_people[0] > 40
    assert by_people[0] > by_people[1] > by_people[2] == 0
    asked = {name: numbers(part, f"{name} ") for name in ("atlas", "birch", "cedar")}
    assert not any(line.startswith("atlas-mini") for line in part)
    assert sum(asked["atlas"][:2]) > 0.75 * sum(asked["atlas"])
    assert asked["birch"][2] > 0.75 * sum(asked["birch"])
    assert asked["cedar"][3] > 0.75 * sum(asked["cedar"])
    before, _, chosen, _, chance = numbers(part, "Accuracy so far")
    assert chosen > chance > before - 1
    assert chosen > before + 1


def test_radiologists(capsys):
    script, printed = run("radiologists", capsys)
    part = printed["The true level of every case"]
    off = [numbers(part, s)[0] for s in ("mean of", "median of", "whoknows without", "whoknows  ")]
    assert off[3] < 0.5 * min(off[:3])
    shares = np.array([numbers(part, s)[1:] for s in ("mean of", "whoknows  ")])
    assert shares.sum(axis=1) == pytest.approx(100, abs=2)
    assert shares[0, 1] > 10 * shares[0, 2]  # nearly all score too high
    assert shares[1, 1] < 2 * shares[1, 2]

    part = printed["How each reader scores"]
    table = np.array([numbers(part, f"{name} ") for name in script["READERS"]])
    severity, fatty, dense = table[:, :2].T, table[:, 2:4].T, table[:, 4:].T
    assert severity[1].tolist() == [severity for severity, _ in script["READERS"].values()]
    assert np.abs(severity[0] - severity[1]).max() < 0.25
    assert (dense[0] > fatty[0]).all()
    assert fatty[0].argmax() == dense[0].argmax() == list(script["READERS"]).index("resident")

    part = printed["Probability of the exact level"]
    table = np.array([numbers(part, f"{name}  ") for name in script["READERS"] | script["NEW"]])
    for value, low, high, true in (table[:, :4].T, table[:, 4:].T):
        assert ((low <= value) & (value <= high)).all()
        assert ((low <= true) & (true <= high)).all()
        assert (high - low).argmax() == len(table) - 1  # the new reader
        assert value[-1] > true[-1]  # too optimistic


def test_spammers(capsys):
    script, printed = run("spammers", capsys)
    kinds = script["KINDS"]
    part = printed["The true answers"]
    [vote], [before] = numbers(part, "majority vote"), numbers(part, "whoknows")
    assert before > vote + 20

    part = printed["Who knows?"]
    table = {name: numbers(part, f"{name} ") for name in kinds}
    assert {name: sum(counts) for name, counts in table.items()} == kinds
    above, around, below = (dict(zip(table, column, strict=True)) for column in zip(*table.values(), strict=True))
    assert above["expert"] == kinds["expert"]
    assert below["liar"] == kinds["liar"]
    assert around["always yes"] == kinds["always yes"]
    assert around["random answers"] >= kinds["random answers"] - 1
    assert [line.split()[-1] for line in part[1:7]] == ["expert"] * 3 + ["liar"] * 3
    missed = int(part[-2].split()[0])
    assert missed <= 8
    always = [name for name, kind in script["KIND"].items() if kind == "always yes"]
    assert part[-1] == f"Say yes whatever the true answer: {', '.join(always)}."

    part = printed["300 more answers"]
    asked = numbers(part, "Most informative to ask:")
    assert sum(asked) == 300
    assert asked[2] + asked[3] == 0
    assert asked[0] > 100
    assert asked[4] > 10
    after, _, chance = numbers(part, "Accuracy:")
    assert after > before + 3
    assert after > chance
    update, fit = numbers(part, "update() took")
    assert update < fit
