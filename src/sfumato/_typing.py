"""Types of arrays that every module speaks of."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.floating]
"""Array of float32 or float64."""
