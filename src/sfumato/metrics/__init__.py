"""How good a clustering is: against known classes, or by its memberships and the data alone."""

from sfumato.metrics.external import accuracy, ari, nmi
from sfumato.metrics.fuzzy import (
    fukuyama_sugeno,
    modified_partition_coefficient,
    partition_coefficient,
    partition_entropy,
    xie_beni,
)
from sfumato.metrics.silhouette import fuzzy_silhouette

__all__ = [
    "accuracy",
    "ari",
    "fukuyama_sugeno",
    "fuzzy_silhouette",
    "modified_partition_coefficient",
    "nmi",
    "partition_coefficient",
    "partition_entropy",
    "xie_beni",
]
