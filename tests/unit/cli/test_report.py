"""Errors of the library on the command line."""

from pathlib import Path

import pytest

from sfumato.cli.report import translate_errors
from sfumato.exceptions import ParameterError, UserError

ANOTHER = "checkpoint='a' is of another fit: {}. Give the same data and parameters."


@pytest.mark.parametrize(
    ("difference", "memory", "hinted"),
    [
        ("n_clusters was 3 and is 4", None, False),
        ("chunks was '2 of up to 10 rows' and is '4 of up to 5 rows'", None, True),
        ("chunks was '2 of up to 10 rows' and is '4 of up to 5 rows'", 10**9, False),
    ],
)
def test_the_hint_at_memory_is_for_other_chunks(difference, memory, hinted):
    with pytest.raises(UserError) as caught, translate_errors(Path("rows.csv"), memory):
        raise ParameterError(ANOTHER.format(difference), "checkpoint", "a")
    assert str(caught.value).startswith("--checkpoint 'a' is of another fit")
    assert ("depend on --memory" in str(caught.value)) is hinted
