"""What labels and fits say about the crowd: agreement of annotators, and who may have copied from whom."""

from whoknows.insight.agreement import (
    Agreement,
    CopyingSuspects,
    PairwiseAgreement,
    agreement_table,
    cohen_kappa,
    copying_suspects,
    fleiss_kappa,
    krippendorff_alpha,
    pairwise_agreement,
    percent_agreement,
)

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
