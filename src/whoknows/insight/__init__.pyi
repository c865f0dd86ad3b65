from .against_gold import AgainstGold, against_gold
from .by_kind import ByKind, by_kind
from .coefficients import Agreement, agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from .model_selection import AnnotationFolds, ItemFolds, label_log_lik, label_log_lik_given_others
from .pairwise import CopyingSuspects, PairwiseAgreement, copying_suspects, pairwise_agreement
from .rates import Difference, Rates, rate, rate_of
from .shared_errors import SharedErrors, shared_errors

__all__ = [
    "AgainstGold",
    "Agreement",
    "AnnotationFolds",
    "ByKind",
    "CopyingSuspects",
    "Difference",
    "ItemFolds",
    "PairwiseAgreement",
    "Rates",
    "SharedErrors",
    "against_gold",
    "agreement",
    "by_kind",
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
    "shared_errors",
]
