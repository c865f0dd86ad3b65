from .coefficients import Agreement, agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from .model_selection import AnnotationFolds, ItemFolds, label_log_lik, label_log_lik_given_others
from .pairwise import CopyingSuspects, PairwiseAgreement, copying_suspects, pairwise_agreement
from .rates import Difference, Rates, rate, rate_of

__all__ = [
    "Agreement",
    "AnnotationFolds",
    "CopyingSuspects",
    "Difference",
    "ItemFolds",
    "PairwiseAgreement",
    "Rates",
    "agreement",
    "cohen_kappa",
    "copying_suspects",
    "fleiss_kappa",
    "krippendorff_alpha",
    "label_log_lik",
    "label_log_lik_given_others",
    "pairwise_agreement",
    "percent_agreement",
    "rate",
    "rate_of",
]
