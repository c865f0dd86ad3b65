"""Points in time, as people say them."""

from __future__ import annotations

from datetime import UTC, datetime

from whoknows.apps.charts import Html, el

UNITS = ((86_400, "day"), (3_600, "hour"), (60, "minute"))


def moment(seconds: float) -> Html:
    """Date and time (UTC).

    >>> moment(0)
    '<time datetime="1970-01-01T00:00:00+00:00">1 January 1970, 00:00</time>'
    """
    when = datetime.fromtimestamp(seconds, UTC)
    return el("time", f"{when:%d %B %Y, %H:%M}".lstrip("0"), datetime=when.isoformat(timespec="seconds"))


def ago(seconds: float) -> str:
    """Time that has passed.

    >>> ago(30), ago(3_700), ago(200_000)
    ('a moment ago', '1 hour ago', '2 days ago')
    """
    for size, unit in UNITS:
        n = int(seconds // size)
        if n:
            return f"{n} {unit}{'' if n == 1 else 's'} ago"
    return "a moment ago"


def duration(seconds: float) -> str:
    """Length of time.

    >>> duration(4.2), duration(125)
    ('4 s', '2 min 5 s')
    """
    minutes, rest = divmod(round(seconds), 60)
    return f"{minutes} min {rest} s" if minutes else f"{rest} s"
