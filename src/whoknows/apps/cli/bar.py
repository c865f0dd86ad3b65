"""A bar of progress on a terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, Progress, ProgressColumn, SpinnerColumn, Task, TextColumn
from rich.text import Text

from whoknows.apps.cli.console import Pace


class Clock(ProgressColumn):
    """Seconds spent, and how many are left once that can be told."""

    def render(self, task: Task) -> Text:
        """Say it in words."""
        spent = duration(task.elapsed or 0.0)
        left = task.fields.get("left")
        return Text(spent if left is None else f"{spent}, about {duration(left)} left")


def duration(seconds: float) -> str:
    """Seconds up to two minutes, then minutes.

    >>> duration(7.4), duration(300)
    ('7 s', '5 min')
    """
    return f"{seconds:.0f} s" if seconds < 120 else f"{seconds / 60:.0f} min"


@contextmanager
def bar(what: str) -> Iterator[Callable[[float, float], None]]:
    """Draw a bar on standard error that is gone once the work is done."""
    columns = SpinnerColumn(), TextColumn("{task.description}", markup=False), BarColumn(), Clock()
    with Progress(*columns, console=Console(stderr=True), transient=True) as drawn:
        task, pace = drawn.add_task(what, total=None), Pace()

        def update(done: float, of: float) -> None:
            left = pace.at(done, of)
            drawn.update(task, completed=pace.share, total=1.0, left=left)

        yield update
