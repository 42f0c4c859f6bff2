"""Tables that tests read back."""

from typing import Any

import pandas as pd

EXACT = {} if int(pd.__version__.split(".")[0]) >= 3 else {"float_precision": "round_trip"}


def read_exact(source: Any, **options: Any) -> pd.DataFrame:
    """Table of a text file, with numbers to the last bit, as pandas reads them from 3 on."""
    return pd.read_csv(source, **EXACT, **options)
