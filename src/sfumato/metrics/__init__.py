"""Quality of a clustering: against known classes, or from its memberships and the data alone."""

from sfumato.metrics.centers import (
    calinski_harabasz,
    davies_bouldin,
    pbm,
    simplified_fuzzy_silhouette,
    simplified_silhouette,
)
from sfumato.metrics.comparison import fuzzy_ari, fuzzy_jaccard, fuzzy_rand
from sfumato.metrics.criteria import gap_statistic, prediction_strength, robust_bic
from sfumato.metrics.external import ari, clustering_accuracy, nmi
from sfumato.metrics.fuzzy import (
    fukuyama_sugeno,
    modified_partition_coefficient,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)
from sfumato.metrics.scorers import bic_scorer, silhouette_scorer
from sfumato.metrics.silhouette import fuzzy_silhouette, fuzzy_silhouette_samples

__all__ = [
    "ari",
    "bic_scorer",
    "calinski_harabasz",
    "clustering_accuracy",
    "davies_bouldin",
    "fukuyama_sugeno",
    "fuzzy_ari",
    "fuzzy_jaccard",
    "fuzzy_rand",
    "fuzzy_silhouette",
    "fuzzy_silhouette_samples",
    "gap_statistic",
    "modified_partition_coefficient",
    "nmi",
    "partition_coefficient",
    "partition_entropy",
    "pbm",
    "prediction_strength",
    "robust_bic",
    "silhouette_scorer",
    "simplified_fuzzy_silhouette",
    "simplified_silhouette",
    "xie_beni",
]
