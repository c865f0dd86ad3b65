from .accuracy import AgainstGold, against_gold
from .blocks import Blocks, contradicting_blocks
from .coefficients import Agreement, agreement, cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from .judging import Judges, judges
from .kinds import ByKind, by_kind
from .model_selection import AnnotationFolds, ItemFolds, label_log_lik, label_log_lik_given_others
from .pair_expectations import expected_pairs
from .pairwise import CopyingSuspects, ExpectedPairs, PairwiseAgreement, copying_suspects, pairwise_agreement
from .rates import Difference, Rates, rate, rate_of
from .together import SharedErrors, shared_errors
from .worse import WorseThanChance, worse_than_chance

__all__ = [
    "AgainstGold",
    "Agreement",
    "AnnotationFolds",
    "Blocks",
    "ByKind",
    "CopyingSuspects",
    "Difference",
    "ExpectedPairs",
    "ItemFolds",
    "Judges",
    "PairwiseAgreement",
    "Rates",
    "SharedErrors",
    "WorseThanChance",
    "against_gold",
    "agreement",
    "by_kind",
    "cohen_kappa",
    "contradicting_blocks",
    "copying_suspects",
    "expected_pairs",
    "fleiss_kappa",
    "judges",
    "krippendorff_alpha",
    "label_log_lik",
    "label_log_lik_given_others",
    "pairwise_agreement",
    "percent_agreement",
    "rate",
    "rate_of",
    "shared_errors",
    "worse_than_chance",
]
