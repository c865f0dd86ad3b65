"""Labelling configurations: which question whoknows works on, and what it says of others."""

import pytest

from whoknows.apps.web.label_studio.client import LabelStudioError
from whoknows.apps.web.label_studio.question import Question, question_of

TEXT = '<Text name="t" value="$review"/>'
MOOD = '<Choices name="mood" toName="t"><Choice value="good"/><Choice value="bad" alias="b"/></Choices>'
TONE = '<Choices name="tone" toName="t" choice="single-radio"><Choice value="warm"/></Choices>'
STARS = '<Rating name="stars" toName="i" maxRating="3"/>'


def view(*parts):
    return f"<View>{''.join(parts)}</View>"


def test_a_choice_about_a_text():
    question = question_of(view(TEXT, MOOD))
    assert question == Question("mood", "t", "choices", ("good", "b"), "review")
    assert question.result("good") == [
        {"from_name": "mood", "to_name": "t", "type": "choices", "value": {"choices": ["good"]}}
    ]


def test_a_rating_of_an_image():
    question = question_of(view('<Image name="i" value="$url"/>', STARS))
    assert question == Question("stars", "i", "rating", ("1", "2", "3"), None)
    assert question.result(2)[0]["value"] == {"rating": 2}


def test_one_of_several_is_named():
    assert question_of(view(TEXT, MOOD, TONE), "tone").name == "tone"
    with pytest.raises(LabelStudioError, match=r"2 questions: 'mood', 'tone'. Choose one: --question mood"):
        question_of(view(TEXT, MOOD, TONE))
    with pytest.raises(LabelStudioError, match="no question 'size' with one answer; there are 'mood', 'tone'"):
        question_of(view(TEXT, MOOD, TONE), "size")


@pytest.mark.parametrize(
    "control",
    [
        '<Choices name="c" toName="t" choice="multiple"><Choice value="a"/></Choices>',
        '<Choices name="c" toName="t" perRegion="true"><Choice value="a"/></Choices>',
        '<Number name="c" toName="t"/>',
        '<Taxonomy name="c" toName="t"><Choice value="a"/></Taxonomy>',
    ],
)
def test_questions_with_other_answers_are_refused_by_name(control):
    with pytest.raises(LabelStudioError, match=r"one answer per task.* the project has <.* name='c'>"):
        question_of(view(TEXT, control))


@pytest.mark.parametrize("config", ["", "<View>", "no xml", '<!DOCTYPE v [<!ENTITY a "b">]><View>&a;</View>'])
def test_configurations_that_are_none(config):
    with pytest.raises(LabelStudioError, match="cannot be read"):
        question_of(config)


@pytest.mark.parametrize(
    ("result", "label"),
    [
        ([{"from_name": "mood", "value": {"choices": ["good"]}}], "good"),
        (
            [{"from_name": "tone", "value": {"choices": ["warm"]}}, {"from_name": "mood", "value": {"choices": ["b"]}}],
            "b",
        ),
        ([{"from_name": "mood", "value": {"choices": ["good", "b"]}}], None),
        ([{"from_name": "mood", "value": None}], None),
        ([], None),
        (None, None),
        (["odd"], None),
    ],
)
def test_the_label_of_an_annotation(result, label):
    assert question_of(view(TEXT, MOOD)).label(result) == label
