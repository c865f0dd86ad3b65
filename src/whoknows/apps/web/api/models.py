"""What comes in and goes out, as the OpenAPI document describes it. Inside, the app has its own small types."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from whoknows.apps.web.store.accounts import Role
from whoknows.apps.web.store.fits import State
from whoknows.apps.web.store.projects import NAME, Model, ProjectSettings

MOST_CLASSES = 200
MOST_FEATURES = 10_000


def _storable(text: str) -> str:
    """Refuse characters that a database or a file cannot hold."""
    if "\0" in text or any("\ud800" <= character <= "\udfff" for character in text):
        raise ValueError("expected text without null characters and lone surrogates")
    return text


Storable = AfterValidator(_storable)
Key = Annotated[str, Field(min_length=1, max_length=500), Storable]
Label = Annotated[str, Field(min_length=1, max_length=200), Storable]
Name = Annotated[str, Field(min_length=1, max_length=200), Storable]
RequestId = Annotated[str, Field(min_length=1, max_length=200), Storable]
Body = Annotated[str, Field(max_length=100_000), Storable]
Number = Annotated[float, Field(allow_inf_nan=False)]
Slug = Annotated[str, Field(pattern=f"^{NAME.pattern}$", max_length=63)]
Image = Annotated[str, Field(max_length=2_000_000, pattern=r"^data:image/(png|jpeg|gif|webp);base64,[A-Za-z0-9+/=]*$")]


class Strict(BaseModel):
    """A body: fields that nobody knows are refused."""

    model_config = ConfigDict(extra="forbid")


class SettingsIn(Strict):
    """What a lead chooses; see `ProjectSettings`."""

    classes: Annotated[list[Label], Field(max_length=MOST_CLASSES)] = []
    question: Annotated[str, Field(max_length=2000), Storable] = ""
    model: Model = "auto"
    seed: Annotated[int, Field(ge=0, le=2**31 - 1)] = 0
    max_iter: Annotated[int, Field(ge=1, le=10_000)] = 200
    refit_every: Annotated[int, Field(ge=0, le=1_000_000)] = 20
    enough: Annotated[float, Field(ge=0, le=10)] = 0.01
    features: Annotated[list[Name], Field(max_length=MOST_FEATURES)] = []

    def settings(self) -> ProjectSettings:
        """Return the settings as they are stored."""
        return ProjectSettings(**self.model_dump())


class ProjectIn(Strict):
    """A new project."""

    name: Slug
    title: Annotated[str, Field(max_length=200), Storable] = ""
    settings: SettingsIn = SettingsIn()


class ProjectChange(Strict):
    """What changes in a project."""

    title: Annotated[str, Field(min_length=1, max_length=200), Storable]
    settings: SettingsIn


class ProjectOut(BaseModel):
    """A project, and how far it is; ``n_since_fit`` labels were given, changed or taken back since the last fit."""

    name: str
    title: str
    settings: dict[str, Any]
    created: float
    n_items: int
    n_labels: int
    n_labelled: int
    n_gold: int
    labels_by_annotator: dict[str, int]
    n_since_fit: int
    fit: FitOut | None = None


class ItemIn(Strict):
    """An item to add, or to replace."""

    key: Key
    text: Body | None = None
    second_text: Body | None = None
    image: Image | None = None
    features: Annotated[list[Annotated[float, Field(allow_inf_nan=False)]], Field(max_length=MOST_FEATURES)] | None = (
        None
    )


class ItemsIn(Strict):
    """Items to add, or to replace."""

    items: Annotated[list[ItemIn], Field(min_length=1, max_length=10_000)]


class ItemOut(BaseModel):
    """An item without anything that was said about it."""

    key: str
    text: str | None = None
    second_text: str | None = None
    image: str | None = None
    features: dict[str, float] | None = None


class AnswerIn(Strict):
    """A label; ``null`` takes it back. A request with a known ``request_id`` changes nothing."""

    item: Key
    annotator: Name | None = None
    label: Label | None
    request_id: RequestId | None = None


class AnswersIn(Strict):
    """Several labels, stored together or not at all."""

    annotations: Annotated[list[AnswerIn], Field(min_length=1, max_length=10_000)]


class TakeBackIn(Strict):
    """Which label to take back."""

    item: Key
    annotator: Name | None = None
    request_id: RequestId | None = None


class SkipIn(Strict):
    """Which item an annotator does not want to answer."""

    item: Key
    annotator: Name | None = None


class UndoIn(Strict):
    """Whose last label to take back."""

    annotator: Name | None = None
    request_id: RequestId | None = None


class Stored(BaseModel):
    """What became of each label, in order."""

    outcomes: list[Literal["stored", "repeated"]]
    refit: bool = False


class Undone(BaseModel):
    """The item whose label was taken back."""

    item: str | None


class TaskOut(BaseModel):
    """The next item for an annotator, and how far they are; nothing about what others said."""

    state: Literal["ask", "enough", "done"]
    item: ItemOut | None
    question: str
    classes: list[str]
    n_done: int
    n_items: int


class LabelOut(BaseModel):
    """A label."""

    item: str
    annotator: str
    label: str
    source: str
    created: float


class EventOut(BaseModel):
    """A label that was given or taken back."""

    id: int
    item: str
    annotator: str
    kind: Literal["set", "delete"]
    label: str | None
    source: str
    who: str
    created: float


class GoldIn(Strict):
    """The truth of an item."""

    label: Label


class ProgressOut(BaseModel):
    """How far a fit is: iterations of one model, or fits of ``total``; and a bound by iteration.

    In an ensemble the bound is that of ``member``: the one being fitted, or the one with most weight at the end.
    """

    done: int
    total: int | None
    member: str = ""
    bound: list[float]


class FitOut(BaseModel):
    """A fit and how far it is."""

    id: int
    state: State
    requested: float
    started: float | None
    finished: float | None
    progress: ProgressOut
    error: str | None
    n_annotations: int | None


class PredictionOut(BaseModel):
    """What the last fit says of an item."""

    item: str
    label: str
    confidence: float | None
    n_labels: int
    vote: str | None
    overruled: bool
    disagreement: float
    probabilities: dict[str, float | None]


class FoundItem(BaseModel):
    """An item that was searched for; everything but gold and the number of labels is of the last fit."""

    key: str
    text: str | None
    label: str | None
    confidence: float | None
    probabilities: dict[str, float | None] | None
    disagreement: float | None
    vote: str | None
    overruled: bool | None
    gold: str | None
    n_labels: int


class FoundItems(BaseModel):
    """A page of the items found, and how many there are on all pages."""

    n_found: int
    items: list[FoundItem]


class ContributionOut(BaseModel):
    """A label, and the posterior of its item without it."""

    annotator: str
    label: str
    without: dict[str, float]


class WhyOut(BaseModel):
    """Posterior of an item: given its features and labels, given its features alone, and without each label."""

    posterior: dict[str, float]
    from_features: dict[str, float]
    labels: list[ContributionOut]


class FlipOut(BaseModel):
    """An item whose consensus changed."""

    item: str
    before: str | float
    consensus: str | float
    confidence: float | None = None


class MovedOut(BaseModel):
    """An annotator whose skill left the 90 % interval of the fit before."""

    annotator: str
    before: float
    after: float


class ChangesOut(BaseModel):
    """What the last fit changed: labels added, items with another consensus, annotators that moved or are new."""

    n_labels: int
    flips: list[FlipOut]
    moved: list[MovedOut]
    new: list[str]


class AnnotatorOut(BaseModel):
    """An annotator in the last fit, and their row in earlier ones, the oldest first.

    Of many annotators, only a selection has a profile: regions and confusions.
    """

    ranking: dict[str, Any]
    profile: dict[str, Any] | None
    history: list[dict[str, Any]]


class QuestionOut(BaseModel):
    """A label worth asking for."""

    rank: int
    item: str
    annotator: str
    information: float


class ItemDetail(ItemOut):
    """An item and everything that is known about it."""

    labels: list[LabelOut]
    gold: str | None
    prediction: PredictionOut | None


class AccountIn(Strict):
    """A new account; without a password it signs in by links."""

    name: Name
    role: Role
    password: Annotated[str, Field(min_length=8, max_length=1000), Storable] | None = None
    annotator: Name | None = None


class AccountOut(BaseModel):
    """An account."""

    name: str
    role: Role
    annotator: str | None


class SecretOut(BaseModel):
    """A sign-in link, or a token for the header "Authorization: Bearer ...". It is shown once."""

    secret: str
    expires: float


class Me(BaseModel):
    """Who is signed in."""

    name: str
    role: Role
    annotator: str | None


class AuditOut(BaseModel):
    """An entry of the audit trail."""

    id: int
    created: float
    account: str
    action: str
    detail: dict[str, Any]


class Preview(BaseModel):
    """What an uploaded file holds, before it is stored; ``token`` names it in the next step.

    ``names`` are the columns that can be chosen, ``columns`` those that were used, by role. With a ``problem``, choose
    others: the file cannot be read with these.
    """

    token: str
    kind: Literal["labels", "items", "gold"]
    format: str
    names: list[str]
    columns: dict[str, str]
    notes: list[str]
    rows: list[dict[str, str | None]]
    n_items: int
    n_labels: int
    n_gold: int
    n_features: int
    classes: list[str]
    annotators: list[str]
    problem: str | None
