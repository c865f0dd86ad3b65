"""The tables. Times are seconds since 1970 (UTC); ids of items and labels are text, as users gave them."""

from __future__ import annotations

from sqlalchemy import (
    JSON,
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Float,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    Table,
    Text,
    UniqueConstraint,
)

METADATA = MetaData()
Id = BigInteger().with_variant(Integer, "sqlite")  # SQLite numbers rows itself only if they are INTEGER


def _id() -> Column[int]:
    return Column("id", Id, primary_key=True, autoincrement=True)


def _of(table: str, name: str | None = None, **options: bool) -> Column[int]:
    """Column that refers to a row of another table, and goes with it."""
    options = {"nullable": False, **options}
    return Column(name or f"{table}_id", Id, ForeignKey(f"{table}.id", ondelete="CASCADE"), **options)


def _text(name: str, **options: bool) -> Column[str]:
    return Column(name, Text, **{"nullable": False, **options})


def _time(name: str, nullable: bool = False) -> Column[float]:
    return Column(name, Float, nullable=nullable)


schema_version = Table("schema_version", METADATA, Column("version", Integer, nullable=False))

# --- projects and items ------------------------------------------------------------------------------------

project = Table(
    "project",
    METADATA,
    _id(),
    _text("name", unique=True),  # in addresses: letters, digits and hyphens
    _text("title"),
    Column("settings", JSON, nullable=False),  # see projects.ProjectSettings
    _time("created"),
)

item = Table(
    "item",
    METADATA,
    _id(),
    _of("project"),
    _text("key"),  # the id that the user gave
    _text("text", nullable=True),
    _text("second_text", nullable=True),  # of a pair, shown side by side
    _text("image", nullable=True),  # data URI
    Column("features", LargeBinary),  # float32, in the order of the project's settings
    UniqueConstraint("project_id", "key"),
)

# --- labels ------------------------------------------------------------------------------------------------

annotation = Table(  # the current labels
    "annotation",
    METADATA,
    _id(),
    _of("project"),
    _of("item"),
    _text("annotator"),
    _text("label"),
    _text("source"),
    _text("external_id", nullable=True),
    _time("created"),
    UniqueConstraint("project_id", "item_id", "annotator"),
    Index("annotation_by_annotator", "project_id", "annotator"),
)

annotation_event = Table(  # append-only: the history, and which requests were carried out
    "annotation_event",
    METADATA,
    _id(),
    _of("project"),
    _of("item"),
    _text("annotator"),
    _text("kind"),  # set or delete
    _text("label", nullable=True),
    _text("request_id"),
    _text("source"),
    _text("external_id", nullable=True),
    _text("who"),
    _time("created"),
    UniqueConstraint("project_id", "request_id"),
    CheckConstraint("kind IN ('set', 'delete')"),
    Index("event_by_item", "item_id"),
    Index("event_by_project", "project_id", "id"),
)

external_annotation = Table(  # of a labelling tool: it names those that it deletes by their ids alone
    "external_annotation",
    METADATA,
    _of("project", primary_key=True),
    Column("external_id", Id, primary_key=True, autoincrement=False),
    _text("item", nullable=True),  # its key; None if only the end of the annotation is known
    _text("annotator", nullable=True),
    _text("label", nullable=True),
    Column("ground_truth", Boolean),
    _time("updated", nullable=True),  # by the clock of the tool
    Column("deleted", Boolean, nullable=False),
    Index("external_by_item", "project_id", "item", "annotator"),
)

skip = Table(  # items that an annotator does not want to answer now
    "skip",
    METADATA,
    _of("project"),
    _of("item", primary_key=True),
    _text("annotator", primary_key=True),
    _time("created"),
)

reservation = Table(  # the item that an annotator looks at
    "reservation",
    METADATA,
    _of("project", primary_key=True),
    _text("annotator", primary_key=True),
    _of("item"),
    _time("until"),
    Index("reservation_by_item", "item_id"),
)

gold = Table(
    "gold",
    METADATA,
    _of("project"),
    _of("item", primary_key=True),
    _text("label"),
    _text("who"),
    _time("created"),
    Index("gold_by_project", "project_id"),
)

# --- fits --------------------------------------------------------------------------------------------------

fit = Table(
    "fit",
    METADATA,
    _id(),
    _of("project"),
    _text("state"),
    _time("requested"),
    _time("started", nullable=True),
    _time("finished", nullable=True),
    _time("heartbeat", nullable=True),
    _text("worker", nullable=True),
    Column("progress", JSON, nullable=False),
    _text("error", nullable=True),
    Column("n_annotations", Integer),
    Column("last_event", Id),  # the newest event that the fit has seen
    Column("model", LargeBinary),
    _text("summary", nullable=True),
    CheckConstraint("state IN ('queued', 'running', 'done', 'failed', 'cancelled')"),
    Index("fit_by_project", "project_id", "id"),
)
for _state in ("queued", "running"):  # at most one of each per project
    _where = fit.c.state == _state
    Index(f"one_{_state}", fit.c.project_id, unique=True, sqlite_where=_where, postgresql_where=_where)

prediction = Table(
    "prediction",
    METADATA,
    _of("fit", primary_key=True),
    _of("item", primary_key=True),
    _text("label"),
    Column("confidence", Float),  # None for numbers
    Column("n_labels", Integer, nullable=False),
    _text("vote", nullable=True),
    Column("overruled", Boolean, nullable=False),
    Column("disagreement", Float, nullable=False),
    Column("probabilities", JSON, nullable=False),  # by class; {"std": ...} for numbers
    Column("information", Float),  # bits expected of the next label; None for numbers
    Index("prediction_by_confidence", "fit_id", "confidence"),
)

question = Table(
    "question",
    METADATA,
    _of("fit", primary_key=True),
    Column("rank", Integer, primary_key=True),  # among the questions for all annotators, best first
    _of("item"),
    _text("annotator"),
    Column("information", Float, nullable=False),  # bits
    Index("question_by_annotator", "fit_id", "annotator", "rank"),
)

# --- people ------------------------------------------------------------------------------------------------

account = Table(
    "account",
    METADATA,
    _id(),
    _text("name", unique=True),
    _text("password_hash", nullable=True),
    _text("role"),
    _text("annotator", nullable=True),  # under which name the account labels
    _time("created"),
    CheckConstraint("role IN ('viewer', 'annotator', 'lead')"),
)

sign_in_link = Table("sign_in_link", METADATA, _text("token_hash", primary_key=True), _of("account"), _time("expires"))

session = Table(  # of a browser, or a token of the API
    "session",
    METADATA,
    _text("token_hash", primary_key=True),
    _of("account"),
    _text("kind"),
    _text("csrf"),
    _time("created"),
    _time("expires"),
    CheckConstraint("kind IN ('cookie', 'bearer')"),
)

attempt = Table(  # to sign in, of the last minute
    "attempt",
    METADATA,
    _text("who", primary_key=True),  # digest of a name or an address
    _time("since"),
    Column("number", Integer, nullable=False),
)

secret = Table("secret", METADATA, _text("name", primary_key=True), _text("value"))  # in addresses that tools call

audit = Table(
    "audit",
    METADATA,
    _id(),
    _time("created"),
    _text("account"),
    _text("action"),
    Column("detail", JSON, nullable=False),
)

upload = Table(  # files that wait for a confirmation
    "upload",
    METADATA,
    _text("token_hash", primary_key=True),
    _of("project"),
    _text("kind"),
    _text("name"),
    Column("content", LargeBinary, nullable=False),
    _text("who"),
    _time("created"),
)
