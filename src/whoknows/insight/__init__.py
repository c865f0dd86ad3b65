"""What labels and fits say about the crowd: agreement of annotators, and who may have copied from whom."""

from whoknows.insight.agreement import cohen_kappa, fleiss_kappa, krippendorff_alpha, percent_agreement
from whoknows.insight.copying import CopyingSuspects, copying_suspects
from whoknows.insight.pairwise import PairwiseAgreement, pairwise_agreement
from whoknows.insight.table import Agreement, agreement_table

__all__ = [
    "Agreement",
    "CopyingSuspects",
    "PairwiseAgreement",
    "agreement_table",
    "cohen_kappa",
    "copying_suspects",
    "fleiss_kappa",
    "krippendorff_alpha",
    "pairwise_agreement",
    "percent_agreement",
]
