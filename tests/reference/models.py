"""The three models of the paper, plainly: loops, the paper's letters, nothing but numpy.

Yan, Rosales, Fung, Dy: *Modeling multiple annotator expertise in the semi-supervised learning scenario*,
UAI 2010. Read this first; whoknows computes the same numbers faster, and the tests hold it to that.

    X        (N, D)  items; the last column is constant, so wᵀx + γ and αᵀx + β are one product each
    Y_L      list of (i, t, y): annotator t said y of item i; 𝒯_i are the t that occur with i
    Z        (N,)    the truth: 0 or 1 (ID, LGP), or any real number (GP)
    theta    (T, D)  one row (w_t, γ_t) for each annotator
    xi       (D,)    ξ, or (α, β)
    say      say(y, z, x, t) = p(y | x, z) of annotator t: `gaussian(theta)` or `bernoulli(theta)`
"""

from itertools import product

import numpy as np


def logistic(u):
    return 1 / (1 + np.exp(-u))


# --- annotators: p(y | x, z) ----------------------------------------------------------------------


def sigma(theta_t, x, floor=0.0):
    """σ_t(x), a standard deviation: Eq. (15), lifted to stay above a floor (0 is Eq. (15) as printed)."""
    return floor + (1 - floor) * logistic(theta_t @ x)


def gaussian(theta, floor=0.0):
    """N(y; z, σ_t(x)²), Eq. (14)."""

    def say(y, z, x, t):
        s = sigma(theta[t], x, floor)
        return np.exp(-((y - z) ** 2) / (2 * s**2)) / (np.sqrt(2 * np.pi) * s)

    return say


def bernoulli(theta, k=None):
    """p(y = z) = logistic(w_tᵀx + γ_t): one coin. With k, (2z − 1) k_t more in the log-odds: two coins."""

    def say(y, z, x, t):
        right = logistic(theta[t] @ x + (0 if k is None else (2 * z - 1) * k[t]))
        return right if y == z else 1 - right

    return say


# --- truth: p(z | x) ------------------------------------------------------------------------------


def truth(z, x, xi):
    """p(z | x), logistic: Eqs. (9), (18)."""
    return logistic(xi @ x) if z == 1 else 1 - logistic(xi @ x)


def likelihood(i, z, X, Y_L, say):
    """Π_{t ∈ 𝒯_i} p(y_i^(t) | x_i, z): one for an item nobody labelled."""
    p = 1.0
    for item, t, y in Y_L:
        if item == i:
            p *= say(y, z, X[i], t)
    return p


def joint(Z, X, Y_L, xi, say):
    """p_ID(Y_L, Z | X), Eq. (1), and Eq. (2) when labels are missing."""
    p = 1.0
    for i, z in enumerate(Z):
        p *= truth(z, X[i], xi) * likelihood(i, z, X, Y_L, say)
    return p


def marginal(X, Y_L, xi, say):
    """log p_ID(Y_L | X) by brute force, over every Z ∈ {0, 1}^N; Eq. (6) says it factorises."""
    return np.log(sum(joint(Z, X, Y_L, xi, say) for Z in product((0, 1), repeat=len(X))))


def posterior(X, Y_L, xi, say):
    """p̃(z_i = 1) of every item, Eqs. (7), (12), by brute force over every Z."""
    mass = np.zeros((len(X), 2))
    for Z in product((0, 1), repeat=len(X)):
        p = joint(Z, X, Y_L, xi, say)
        for i, z in enumerate(Z):
            mass[i, z] += p
    return mass[:, 1] / mass.sum(axis=1)


def Q(X, Y_L, xi, say, q, times=lambda i: 1):
    """E_p̃[log p(Z, Y_L | X)], Eq. (13): annotators once a label, the truth ``times(i)`` times an item.

    Printed inside Σ_t, the truth's term would count |𝒯_i| times. EM needs it once.
    """
    value = 0.0
    for i in range(len(X)):
        for z, p in enumerate((1 - q[i], q[i])):
            value += p * np.log(likelihood(i, z, X, Y_L, say)) + times(i) * p * np.log(truth(z, X[i], xi))
    return value


# --- graph ----------------------------------------------------------------------------------------


def weights(X, Sigma):
    """Φ of Eq. (4): φ_ij = exp(−(x_i − x_j)ᵀ Σ (x_i − x_j)); no item is its own neighbour."""
    Phi = np.zeros((len(X), len(X)))
    for i, j in product(range(len(X)), repeat=2):
        if i != j:
            Phi[i, j] = np.exp(-(X[i] - X[j]) @ Sigma @ (X[i] - X[j]))
    return Phi


def energy(Z, Phi):
    """ZᵀΔZ of Eq. (3), as what it means: ½ Σ_ij φ_ij (z_i − z_j)², each edge counted from both ends."""
    pairs = product(range(len(Z)), repeat=2)
    return 0.5 * sum(Phi[i, j] * (Z[i] - Z[j]) ** 2 for i, j in pairs)


def smoothness(X, Phi):
    """A = XᵀΔX of Eq. (10): ½ Σ_ij φ_ij (x_i − x_j)(x_i − x_j)ᵀ."""
    pairs = product(range(len(X)), repeat=2)
    return 0.5 * sum(Phi[i, j] * np.outer(X[i] - X[j], X[i] - X[j]) for i, j in pairs)


# --- GP: real-valued truth, all items at once -----------------------------------------------------


def log_normal(y, mean, covariance):
    """log N(y; mean, covariance)."""
    r = y - mean
    log_det = np.linalg.slogdet(2 * np.pi * covariance)[1]
    return -0.5 * (r @ np.linalg.solve(covariance, r) + log_det)


def graph_prior(Phi, lam, jitter, mean=0.5):
    """Mean and covariance of Z under Eq. (3): exp(−ZᵀΔZ / 2λ), Δ's singularity lifted by a jitter."""
    Delta = np.diag(Phi.sum(axis=1)) - Phi
    return np.full(len(Phi), mean), lam * np.linalg.inv(Delta + jitter * np.eye(len(Phi)))


def gp(prior, X, Y_L, theta, floor=0.0):
    """Mean and covariance of Z given Y_L, and log p_GP(Y_L | X), the left of Eq. (8).

    The joint of Eq. (5) is Gaussian: labels are y = H Z + noise, one row of H and one noise a label.
    """
    mean, covariance = prior
    H = np.zeros((len(Y_L), len(X)))
    for row, (i, _, _) in enumerate(Y_L):
        H[row, i] = 1
    y = np.array([y for _, _, y in Y_L], dtype=float)
    noise = np.diag([sigma(theta[t], X[i], floor) ** 2 for i, t, _ in Y_L])
    S = H @ covariance @ H.T + noise
    gain = covariance @ H.T @ np.linalg.inv(S)
    return mean + gain @ (y - H @ mean), covariance - gain @ H @ covariance, log_normal(y, H @ mean, S)
