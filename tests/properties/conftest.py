"""How long properties are searched: shortly in the suite, for ``FUZZ_MINUTES`` in ``make fuzz``.

The profile is chosen with ``--hypothesis-profile``, or by the variable ``FUZZ_MINUTES``.
"""

from __future__ import annotations

import os

from hypothesis import HealthCheck, Phase, settings

QUIET = [HealthCheck.too_slow, HealthCheck.data_too_large, HealthCheck.filter_too_much]

settings.register_profile(
    "short",
    max_examples=50,
    derandomize=True,
    deadline=None,
    suppress_health_check=QUIET,
    database=None,
)
settings.register_profile(
    "fuzz",
    max_examples=int(float(os.environ.get("FUZZ_MINUTES", "1")) * 2000),
    derandomize=False,
    deadline=None,
    suppress_health_check=QUIET,
    print_blob=True,
    phases=[Phase.explicit, Phase.reuse, Phase.generate, Phase.shrink],
)
settings.load_profile("fuzz" if "FUZZ_MINUTES" in os.environ else "short")
