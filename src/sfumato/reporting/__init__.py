"""A report on a clustering: one HTML file, which needs no network and tells nothing to anybody."""

from __future__ import annotations

import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sklearn.pipeline import Pipeline

from sfumato.files import write_atomically

__all__ = ["report"]


def report(
    model: Any,
    X: Any,
    path: str | os.PathLike[str],
    feature_names: Sequence[str] | None = None,
    *,
    show_rows: bool = False,
    ids: Sequence[Any] | None = None,
    image_shape: tuple[int, ...] | None = None,
    title: str = "Clusters",
    command: str | None = None,
    preparer: Any = None,
    overwrite: bool = True,
) -> Path:
    """Write a report on the clusters of some rows, a page to read and to show to others.

    The page says how many clusters there are and why, shows a map of the rows, a card for each
    cluster with what sets it apart, rows between clusters, outliers and what made them so, how
    clear memberships are, how the fit ended, and how to repeat it. It is one file without requests;
    the same input gives the same bytes. Time is linear in the rows, which are read three times.

    Parameters
    ----------
    model : estimator or Pipeline
        A fitted estimator with memberships, such as :class:`CappedREFCMFS`, or a pipeline that
        ends with one, perhaps after a :class:`TablePreparer`.
    X : array-like, sparse matrix, frame, Stream or dask collection
        Rows, of shape (n_samples, n_features): those of the fit, or others. The map and the
        histograms are of a sample of at most 5,000 of them, everything else of all rows.
    path : path-like
        File to write.
    feature_names : sequence of str, optional
        Names of the features; by default those of the data of the fit, or x0, x1, ...
    show_rows : bool, default=False
        Whether values and identifiers of single rows may be shown. Without, the page has numbers
        of rows and places on the map, but no values but those of clusters.
    ids : sequence, optional
        Identifiers of the rows, shown instead of their numbers with ``show_rows``.
    image_shape : tuple of int, optional
        Shape of rows that are images, (height, width) or (height, width, 3): centers are shown
        as images, and rows with ``show_rows``.
    title : str, default="Clusters"
        Heading of the page.
    command : str, optional
        Command that computes the result, shown instead of code.
    preparer : TablePreparer, optional
        Fitted, if ``X`` is what it made of a table: the report then has the columns of the table
        in their units, categories by name, and what was decided about each column.
    overwrite : bool, default=True
        Whether a file of that name may be replaced.

    Returns
    -------
    path : Path
        The file.

    Raises
    ------
    ImportError
        If jinja2 or pandas is not installed.

    See Also
    --------
    describe : The numbers behind it.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sfumato
    >>> X = [[0.0, 5.0], [1.0, 6.0], [8.0, 5.0], [9.0, 6.0]]
    >>> model = sfumato.REFCMFS(2, random_state=0).fit(X)
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = sfumato.report(model, X, Path(folder, "report.html"), ["income", "age"])
    ...     print(path.read_text(encoding="utf-8").splitlines()[0])
    <!DOCTYPE html>
    """
    try:
        from sfumato.reporting._facts import Facts
        from sfumato.reporting._page import page
    except ImportError as error:
        raise ImportError(
            f"{error.name} is not installed, which a report needs; run: "
            'pip install "sfumato[report]"'
        ) from error
    model, X, preparer = _unwrapped(model, X, preparer)
    facts = Facts.of(model, X, feature_names, ids, show_rows, image_shape, preparer)
    text = page(facts, title, command)
    with write_atomically(path, overwrite=overwrite) as unfinished:
        unfinished.write_text(text, encoding="utf-8")
    return Path(path)


def _unwrapped(model: Any, X: Any, preparer: Any) -> tuple[Any, Any, Any]:
    """The last step of a pipeline, what the others make of the rows, and the preparer of tables."""
    if not isinstance(model, Pipeline):
        return model, X, preparer
    before = model[:-1]
    if len(before) == 1 and hasattr(before[0], "decisions_"):
        preparer = before[0]
    return model[-1], before.transform(X) if len(before) else X, preparer
