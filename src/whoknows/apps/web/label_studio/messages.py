"""What Label Studio sends to a backend, as far as it is used; tokens among it are dropped here."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any

from pydantic import BaseModel, BeforeValidator, Field, StringConstraints

Config = Annotated[str, StringConstraints(max_length=1_000_000)]


def _listed(value: Any) -> Any:
    """Return one or several as a list: bulk actions send lists where others send an object."""
    return value if isinstance(value, list) else [] if value is None else [value]


def _id(value: Any) -> Any:
    """Return the id of a user, who may be given as an object."""
    return value.get("id") if isinstance(value, dict) else value


def _number(value: Any) -> Any:
    """Return the number of a project, to which /setup and /predict append the time of its creation."""
    return value.partition(".")[0] if isinstance(value, str) else value


class Annotation(BaseModel):
    """What one person said about one task."""

    id: int
    task: int
    completed_by: Annotated[int, BeforeValidator(_id)]
    updated_at: datetime
    result: list[Any] = Field(default_factory=list)
    was_cancelled: bool = False
    ground_truth: bool = False


class Task(BaseModel):
    """A task; with its annotations in a request for predictions."""

    id: int
    data: dict[str, Any] = Field(default_factory=dict)
    annotations: list[Annotation] = Field(default_factory=list)


class Named(BaseModel):
    """Something that is gone: its id."""

    id: int


class ProjectFacts(BaseModel):
    """A project as it comes with an event."""

    id: int
    label_config: Config
    title: str = ""


class Event(BaseModel):
    """Something that happened."""

    action: str
    project: ProjectFacts
    annotation: Annotated[list[Annotation], BeforeValidator(_listed)] = Field(default_factory=list)
    task: Annotated[list[Task], BeforeValidator(_listed)] = Field(default_factory=list)
    tasks: list[Task] = Field(default_factory=list)
    annotations: list[Named] = Field(default_factory=list)


class Setup(BaseModel):
    """A project that the backend is added to, or that is about to ask for predictions."""

    project: Annotated[int, BeforeValidator(_number)]
    label_config: Config = Field(alias="schema")


class Questions(BaseModel):
    """A request for predictions."""

    project: Annotated[int, BeforeValidator(_number)]
    label_config: Config
    tasks: list[Task]
