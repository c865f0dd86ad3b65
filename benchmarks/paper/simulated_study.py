"""A simulated study with the shape of the paper's cardiac data (Sec. 4.2), which are not public.

220 hearts and 16 wall segments. Each segment is a separate problem with 24 features, read by the same five
readers. All data are simulated, but not from the model that is fitted. Cases near the boundary between normal
and abnormal are hard for every reader, so errors are correlated. Each reader is also worse where one property
of the heart is high, a different property for each reader. The truth is not exactly linear in x.
"""

import numpy as np

N_CASES, N_FEATURES, N_READERS, N_PROBLEMS = 220, 24, 5, 16
HEART, SEGMENT = 5, 3  # hidden properties of a heart, and of one segment of it
SEED = 16
USUAL_ERROR = (0.02, 0.1)  # range over readers, away from the boundary and outside their poor region
NEAR_LIMIT, POOR_REGION = 0.45, 0.25  # added to the error rate
WORST = 0.5


def problem(number: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """X (220, 24), truth (220,) and labels (220, 5) of segment 1, …, 16; label 1 is abnormal."""
    study, here = np.random.default_rng(SEED), np.random.default_rng([SEED, number])
    heart, usual = study.normal(size=(N_CASES, HEART)), study.uniform(*USUAL_ERROR, size=N_READERS)
    hidden = np.column_stack([heart, here.normal(size=(N_CASES, SEGMENT))])
    noise = here.standard_t(5, size=(N_CASES, N_FEATURES))
    X = hidden @ here.normal(size=(HEART + SEGMENT, N_FEATURES)) / 2 + noise
    severity = hidden @ here.normal(size=HEART + SEGMENT) + 0.5 * hidden[:, -1] ** 2
    severity /= severity.std()
    margin = severity - np.quantile(severity, 1 - here.uniform(0.25, 0.45))  # 25 to 45 % are abnormal
    error = usual + NEAR_LIMIT * np.exp(-np.abs(margin) / 0.4)[:, None] + POOR_REGION * (heart > 0.5)
    z = (margin > 0).astype(int)
    wrong = here.random((N_CASES, N_READERS)) < np.minimum(error, WORST)
    return X, z, np.where(wrong, 1 - z[:, None], z[:, None])
