"""Draw the picture of the README: where each annotator of the demo can be trusted.

python docs/picture.py
"""

import sys
from pathlib import Path

import altair as alt
import numpy as np
from sklearn.decomposition import PCA
from sklearn.preprocessing import StandardScaler

ROOT = Path(__file__).parents[1]
sys.path.insert(0, str(ROOT / "examples"))

from demo import NAMES, given  # noqa: E402

from whoknows import CrowdClassifier  # noqa: E402


def main() -> None:
    X, said, _, _ = given()
    model = CrowdClassifier().fit(X, said)
    expertise = model.expertise(X)
    place = PCA(2).fit_transform(StandardScaler().fit_transform(X))
    inside = np.all(np.abs(place) < 8, axis=1)  # a few outliers would shrink everybody else
    rows = [
        {"x": place[i, 0], "y": place[i, 1], "annotator": name, "right": expertise[i, t]}
        for i in np.flatnonzero(inside)
        for t, name in enumerate(NAMES)
    ]
    hidden = alt.Axis(labels=False, ticks=False, domain=False, grid=False, title=None)
    scale = alt.Scale(scheme="viridis", domain=[0.4, 1.0], clamp=True)
    legend = alt.Legend(title="probability of being right", format="%", orient="bottom", gradientLength=300)
    chart = (
        alt.Chart(alt.Data(values=rows))
        .mark_circle(size=14, opacity=0.85)
        .encode(
            x=alt.X("x:Q", axis=hidden),
            y=alt.Y("y:Q", axis=hidden),
            color=alt.Color("right:Q", scale=scale, legend=legend),
            column=alt.Column("annotator:N", title=None, spacing=8, header=alt.Header(labelFontSize=14)),
        )
        .properties(width=170, height=170)
        .configure_view(stroke="#ddd")
        .configure_legend(titleFontSize=12, titleLimit=300)
    )
    chart.save(ROOT / "docs" / "images" / "who_knows_what.png", scale_factor=2)


if __name__ == "__main__":
    main()
