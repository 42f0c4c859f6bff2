"""Plots of clusterings by matplotlib, without its global state: ``pyplot`` is not used.

Displays follow scikit-learn: ``from_estimator`` and ``from_predictions`` compute, the constructor
takes data that is computed already, ``plot`` only draws, and ``ax_`` and ``figure_`` are what it
drew on. matplotlib is imported when the first one is drawn.
"""

from sfumato.plotting._axes import save
from sfumato.plotting._colors import GRAY, INK, PALETTE, cluster_colors, mixed
from sfumato.plotting._curves import ConvergenceDisplay, SelectionDisplay
from sfumato.plotting._images import image_memberships
from sfumato.plotting._map import ClusterMapDisplay
from sfumato.plotting._profiles import ClusterProfileDisplay
from sfumato.plotting._rows import MembershipDisplay, OutlierScoreDisplay
from sfumato.plotting._silhouettes import SilhouetteDisplay

__all__ = [
    "GRAY",
    "INK",
    "PALETTE",
    "ClusterMapDisplay",
    "ClusterProfileDisplay",
    "ConvergenceDisplay",
    "MembershipDisplay",
    "OutlierScoreDisplay",
    "SelectionDisplay",
    "SilhouetteDisplay",
    "cluster_colors",
    "image_memberships",
    "mixed",
    "save",
]
