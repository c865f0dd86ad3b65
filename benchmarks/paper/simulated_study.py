"""A simulated study of the shape of the paper's cardiac data (Sec. 4.2), which are not public.

220 hearts, 16 wall segments, each a problem of its own with 24 features, read by the same five readers.
Nothing here is measured. It is not drawn from the model that is fitted, either: cases near the limit between
normal and abnormal are hard for every reader, so that readers err together; besides, each reader is poor
where one property of the heart, another one for each, is high; and the truth is not quite linear in x.
"""

import numpy as np

N_CASES, N_FEATURES, N_READERS, N_PROBLEMS = 220, 24, 5, 16
HEART, SEGMENT = 5, 3  # hidden properties of a heart, and of one segment of it
SEED = 16
USUAL_ERROR = (0.02, 0.1)  # of readers, on cases that are neither near the limit nor in their poor region
NEAR_LIMIT, POOR_REGION = 0.45, 0.25  # what either adds
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
    margin = severity - np.quantile(severity, 1 - here.uniform(0.25, 0.45))  # that share is abnormal
    error = usual + NEAR_LIMIT * np.exp(-np.abs(margin) / 0.4)[:, None] + POOR_REGION * (heart > 0.5)
    z = (margin > 0).astype(int)
    wrong = here.random((N_CASES, N_READERS)) < np.minimum(error, WORST)
    return X, z, np.where(wrong, 1 - z[:, None], z[:, None])
