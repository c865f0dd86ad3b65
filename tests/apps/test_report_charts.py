"""Charts are markup that says what the numbers say."""

import re

from whoknows.apps.charts import bar, el, heat, histogram, interval, join, small_map


def test_text_is_escaped_and_markup_is_not():
    assert el("p", "<b>", el("i", "a & b"), title='"x"') == ('<p title="&quot;x&quot;">&lt;b&gt;<i>a &amp; b</i></p>')
    assert join(["a", None, el("br"), 1], ", ") == "a, <br/>, 1"


def test_attributes_that_are_not_there_are_left_out():
    assert el("button", disabled=True, id=None, hidden=False, aria_label="x") == (
        '<button disabled aria-label="x"></button>'
    )


def test_bars_are_as_long_as_their_share():
    assert '<rect width="25.0%"' in bar(0.25)
    assert '<line x1="50.0%" x2="50.0%"' in bar(0.25, 0.5)


def test_intervals_lie_where_they_should():
    drawn = interval(0.6, 0.7, 0.9, (0.5, 1.0))
    assert '<rect x="20.0%" width="60.0%"' in drawn
    assert 'cx="40.0%"' in drawn
    assert "<rect" not in interval(None, 2.0, None, (0.0, 4.0))


def test_histogram_columns_stand_on_each_other():
    drawn = histogram([[4, 0], [4, 2]], ["0%", "100%"], ["with", "without"])
    places = [tuple(map(float, place)) for place in re.findall(r'y="([\d.]+)%" height="([\d.]+)%"', drawn)]
    assert places == [(50, 50), (0, 50), (100, 0), (75, 25)]
    assert "Histogram: with 4, 0; without 4, 2" in drawn


def test_small_maps_are_one_path_a_colour_and_the_first_line_is_below():
    drawn = small_map([0, 1, 5], [0.5, 1.0, 1.0], (3, 2), (0.5, 1.0))
    assert re.findall(r'd="([^"]+)" class="(\w+)"', drawn) == [
        ("M0 1h1v1h-1z", "f0"),
        ("M1 1h1v1h-1zM2 0h1v1h-1z", "f8"),
    ]


def test_small_errors_are_strong():
    assert 'class="f8"' in small_map([0], [1.0], (1, 1), (5.0, 1.0))


def test_heat_tells_more_from_less_than_chance():
    assert 'class="heat plus h4"' in heat(0.4, ".40")
    assert 'class="heat minus h3"' in heat(-0.3, "−.30")
    assert heat(None, "") == '<td class="heat none"></td>'


def test_no_chart_has_a_style_that_a_strict_policy_forbids():
    drawn = [bar(0.5, 0.2), interval(0.1, 0.2, 0.3, (0, 1)), histogram([[1, 2]], ["0"], ["all"]), heat(0.2, "")]
    assert "style=" not in "".join(drawn)
