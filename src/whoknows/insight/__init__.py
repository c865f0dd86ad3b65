"""What labels and fits say: agreement, copying, and the settings that held-out labels favour."""

from whoknows.insight.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from whoknows.insight.copying import CopyingSuspects, copying_suspects
from whoknows.insight.model_selection import (
    AnnotationFolds,
    ItemFolds,
    label_log_lik,
    label_log_lik_given_others,
)
from whoknows.insight.pairwise import PairwiseAgreement, pairwise_agreement
from whoknows.insight.table import Agreement, agreement_table

__all__ = [
    "Agreement",
    "AnnotationFolds",
    "CopyingSuspects",
    "ItemFolds",
    "PairwiseAgreement",
    "agreement_table",
    "cohen_kappa",
    "copying_suspects",
    "fleiss_kappa",
    "krippendorff_alpha",
    "label_log_lik",
    "label_log_lik_given_others",
    "pairwise_agreement",
    "percent_agreement",
]
