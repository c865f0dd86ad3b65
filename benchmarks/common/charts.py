"""Style shared by all charts.

Colours are those of Okabe and Ito, which colour-blind readers can distinguish; methods also differ in dash
and shape. Charts are written as PNG and SVG, without a browser.
"""

import struct
import zlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt
import pandas as pd

BLACK, GREY = "#000000", "#767676"
ORANGE, SKY, GREEN, BLUE, VERMILION, PURPLE = "#E69F00", "#56B4E9", "#009E73", "#0072B2", "#D55E00", "#CC79A7"
FONT = "Helvetica, Arial, sans-serif"
SCALE = 1.5  # PNG pixels per chart pixel


@dataclass(frozen=True)
class Look:
    """How a method is drawn."""

    name: str
    colour: str
    shape: str = "circle"
    dash: tuple[int, ...] = (1, 0)
    width: float = 1.6


def encodings(looks: Sequence[Look]) -> dict[str, alt.Color | alt.Shape | alt.StrokeDash | alt.StrokeWidth]:
    """Colour, shape, dash and width by the column ``name``, without a legend: see `legend`."""
    names = [look.name for look in looks]

    def scale(values: list) -> alt.Scale:
        return alt.Scale(domain=names, range=values)

    field = "name:N"
    return {
        "color": alt.Color(field, scale=scale([look.colour for look in looks]), legend=None),
        "shape": alt.Shape(field, scale=scale([look.shape for look in looks]), legend=None),
        "strokeDash": alt.StrokeDash(field, scale=scale([list(look.dash) for look in looks]), legend=None),
        "strokeWidth": alt.StrokeWidth(field, scale=scale([look.width for look in looks]), legend=None),
    }


def lines(
    data: pd.DataFrame, looks: Sequence[Look], x: alt.X, y: str, title: str, band: bool = False, zero: bool = False
) -> alt.LayerChart:
    """A line with points for each name, at column ``y``, and a band from column ``low`` to ``high``."""
    look = encodings(looks)
    base = alt.Chart(data).encode(x=x, color=look["color"])
    height = _height(y, title, zero)
    line = base.mark_line().encode(y=height, strokeDash=look["strokeDash"], strokeWidth=look["strokeWidth"])
    points = base.mark_point(filled=True, size=34, opacity=1).encode(y=height, shape=look["shape"])
    if not band:
        return line + points
    return base.mark_area(opacity=0.13).encode(y=_height("low", title, zero), y2="high:Q") + line + points


def _height(column: str, title: str, zero: bool) -> alt.Y:
    return alt.Y(f"{column}:Q", title=title, scale=alt.Scale(zero=zero), axis=alt.Axis(tickCount=5, labelFlush=True))


def legend(looks: Sequence[Look], width: int, row: int = 22) -> alt.LayerChart:
    """One row per method: its line, its point and its name."""
    data = pd.DataFrame([{"name": look.name, "x": x} for look in looks for x in (0, 0.5, 1)])
    names = [look.name for look in looks]
    look = encodings(looks)
    y = alt.Y("name:N", sort=names, axis=None)
    x = alt.X("x:Q", scale=alt.Scale(domain=[-0.1, width / 40]), axis=None)
    base = alt.Chart(data).encode(x=x, y=y, color=look["color"])
    line = base.mark_line().encode(strokeDash=look["strokeDash"], strokeWidth=look["strokeWidth"])
    middle = base.transform_filter("datum.x == 0.5")
    point = middle.mark_point(filled=True, size=50, opacity=1).encode(shape=look["shape"])
    words = middle.mark_text(align="left", dx=28, fontSize=12, color=BLACK).encode(
        text="name:N", color=alt.value(BLACK)
    )
    frame = alt.ViewBackground(stroke=None)
    return (line + point + words).properties(width=width, height=row * len(names), view=frame)


def finish(chart: alt.TopLevelMixin, title: str, subtitle: Sequence[str]) -> alt.TopLevelMixin:
    """Add title, white background and light axes to a chart."""
    words = alt.TitleParams(title, subtitle=list(subtitle), anchor="start", offset=14)
    return (
        chart.properties(title=words, background="white", padding=16)
        .configure(font=FONT)
        .configure_view(stroke="#cccccc")
        .configure_axis(gridColor="#eeeeee", domainColor="#999999", tickColor="#999999", titleFontWeight="normal")
        .configure_title(fontSize=16, subtitleFontSize=12, subtitleColor="#555555", subtitlePadding=6)
        .configure_header(title=None, labelFontSize=12, labelFontWeight="bold")
    )


def save(chart: alt.TopLevelMixin, stem: Path) -> None:
    """Write stem.png and stem.svg."""
    stem.parent.mkdir(parents=True, exist_ok=True)
    picture = stem.with_suffix(".png")
    chart.save(picture, scale_factor=SCALE)
    picture.write_bytes(squeezed(picture.read_bytes()))
    chart.save(stem.with_suffix(".svg"))
    print(f"{stem.name}.png, {stem.name}.svg")


def squeezed(png: bytes) -> bytes:
    """Compress a PNG as far as possible; the library writes it for speed."""
    kinds = dict(_chunks(png))
    pixels = b"".join(data for kind, data in _chunks(png) if kind == b"IDAT")
    kinds[b"IDAT"] = zlib.compress(zlib.decompress(pixels), 9)
    parts = [struct.pack(">I", len(d)) + k + d + struct.pack(">I", zlib.crc32(k + d)) for k, d in kinds.items()]
    return png[:8] + b"".join(parts)


def _chunks(png: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield type and content of each chunk of a PNG file, after its eight bytes of signature."""
    start = 8
    while start < len(png):
        (size,) = struct.unpack_from(">I", png, start)
        yield png[start + 4 : start + 8], png[start + 8 : start + 8 + size]
        start += 12 + size
