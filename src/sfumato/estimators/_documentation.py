"""Links from the HTML of estimators to their pages in the documentation."""

from __future__ import annotations

from functools import cache
from importlib.metadata import metadata

from sklearn.base import BaseEstimator

PAGE = "api/generated/sfumato.{estimator_name}.html"
"""Page of an estimator, within the documentation."""


class DocumentedEstimator(BaseEstimator):
    """Estimator whose HTML links to its page, where the package says where its documentation is."""

    _doc_link_module = "sfumato"

    @property
    def _doc_link_template(self) -> str:
        address = documentation()
        return f"{address.rstrip('/')}/{PAGE}" if address else ""


@cache
def documentation() -> str:
    """Address of the documentation, from the metadata of the package; empty if it has none."""
    for entry in metadata("sfumato").get_all("Project-URL") or ():
        name, _, address = entry.partition(",")
        if name.strip().lower() == "documentation":
            return address.strip()
    return ""
