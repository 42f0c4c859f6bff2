"""Quality of a clustering: against known classes, or from its memberships and the data alone."""

from sfumato.metrics.external import ari, clustering_accuracy, nmi
from sfumato.metrics.fuzzy import (
    fukuyama_sugeno,
    modified_partition_coefficient,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)
from sfumato.metrics.silhouette import fuzzy_silhouette

__all__ = [
    "ari",
    "clustering_accuracy",
    "fukuyama_sugeno",
    "fuzzy_silhouette",
    "modified_partition_coefficient",
    "nmi",
    "partition_coefficient",
    "partition_entropy",
    "xie_beni",
]
