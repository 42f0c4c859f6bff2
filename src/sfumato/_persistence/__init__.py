"""Model files: fitted estimators that outlive the process, and the version of the library.

A file is a zip of ``model.json``, of arrays in the .npy format, and of their checksums. ``schema``
says what is in it, ``preparation`` what of a table, ``kinds`` and ``parameters`` how values are
written, ``archive`` reads bytes.
"""

from __future__ import annotations

import platform
from collections.abc import Sequence
from importlib.metadata import version
from os import PathLike
from pathlib import Path
from typing import Any, NamedTuple

from sklearn.pipeline import Pipeline
from sklearn.utils.validation import check_is_fitted

from sfumato._checks import check_flag
from sfumato._persistence.archive import Archive, NewArchive
from sfumato._persistence.kinds import Maybe, Names, Source, read_fields, require
from sfumato._persistence.preparation import Preparation
from sfumato._persistence.schema import SCHEMAS
from sfumato._tables.preparer import TablePreparer
from sfumato.exceptions import ModelFileError, brief, shown
from sfumato.files import write_atomically

FORMAT = 2
"""Number of the file format. Files of every format so far can be read."""

PACKAGES = ("sfumato", "numpy", "scipy", "scikit-learn")


def save(
    model: Any,
    path: str | PathLike[str],
    *,
    training_rows: bool = False,
    overwrite: bool = False,
) -> None:
    """Write a fitted estimator to a file, which later versions of the library can load.

    The file is a zip of JSON and of arrays; it holds no code, and is loaded without pickle. It
    appears whole or not at all. Equal models have equal files.

    Parameters
    ----------
    model : estimator
        Any fitted estimator of this library, or a pipeline of a :class:`TablePreparer` and one.
        Not a subclass of your own, nor one with a loss, a
        membership rule or an initializer of your own.
    path : path-like
        The file, by custom with the ending ``.sfumato``.
    training_rows : bool, default=False
        Whether to write results of the training rows as well, such as ``labels_`` and
        ``memberships_``. Without them, the size of a file does not grow with the number of rows.
    overwrite : bool, default=False
        Whether a file of that name may be replaced.

    Raises
    ------
    TypeError
        If the model, or a parameter, is of a class that a file cannot hold.
    NotFittedError
        If the model is not fitted.
    OSError
        If the file cannot be written, or exists.

    See Also
    --------
    load : Read the file.

    Notes
    -----
    Settings of scikit-learn, such as callbacks, ``set_output`` and metadata requests, are not
    stored.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sfumato
    >>> model = sfumato.REFCMFS(2, random_state=0).fit([[0.0], [1.0], [8.0], [9.0]])
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     sfumato.save(model, Path(folder, "model.sfumato"))
    ...     loaded = sfumato.load(Path(folder, "model.sfumato"))
    >>> (loaded.predict([[2.0], [7.0]]) == model.predict([[2.0], [7.0]])).all()
    np.True_
    """
    with_rows = check_flag("training_rows", training_rows)
    with write_atomically(path, overwrite=check_flag("overwrite", overwrite)) as unfinished:
        write_model(model, unfinished, training_rows=with_rows)


def write_model(
    model: Any,
    path: Path,
    *,
    columns: Sequence[str] | None = None,
    training_rows: bool = False,
    preparer: TablePreparer | None = None,
) -> None:
    """Write an estimator, the names of its columns, and the preparation of the table."""
    if isinstance(model, Pipeline) and len(model) == 2 and type(model[0]) is TablePreparer:
        preparer, model = model[0], model[1]
    schema = SCHEMAS.get(type(model).__name__)
    if schema is None or type(model) is not schema.made:
        raise TypeError(
            f"model={shown(model)} is of the class {type(model).__name__}, which a model file "
            f"cannot hold; use pickle, or give one of {', '.join(SCHEMAS)}."
        )
    check_is_fitted(model)
    archive = NewArchive(training_rows)
    header = {
        "format": FORMAT,
        "versions": {"python": platform.python_version()} | {p: version(p) for p in PACKAGES},
        "columns": Maybe(Names("features")).write(columns, archive),
        "preparation": Maybe(Preparation()).write(preparer, archive),
        "model": schema.write(model, archive),
    }
    archive.write(header, path)


def load(path: str | PathLike[str]) -> Any:
    """Read an estimator from a file that ``save`` has written.

    Its predictions, memberships and scores are the same bits as those of the model that was saved.
    A file can do no more than fail: nothing in it is run or imported, the class is one of this
    library, and checksums, sizes and types are checked before the model is made.

    Parameters
    ----------
    path : path-like
        The file.

    Returns
    -------
    model : estimator
        Without results of the training rows, unless they were saved. If the file holds the
        preparation of a table, a pipeline of a :class:`TablePreparer` and the estimator.

    Raises
    ------
    ModelFileError
        If the file is not a model, is damaged, or was written by a later version of the library.
    OSError
        If there is no such file, or it cannot be read.

    See Also
    --------
    save : Write the file.

    Examples
    --------
    >>> import tempfile
    >>> from pathlib import Path
    >>> import sfumato
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "model.sfumato")
    ...     sfumato.save(sfumato.KMedoids(2).fit([[0.0], [1.0], [9.0]]), path)
    ...     sfumato.load(path)
    KMedoids(n_clusters=2)
    """
    found = read_model(path)
    if found.preparer is None:
        return found.model
    return Pipeline([("preparer", found.preparer), ("model", found.model)])


class SavedModel(NamedTuple):
    """Contents of a model file.

    Attributes
    ----------
    model : estimator
    columns : list of str or None
        Names of the columns that the model was fitted to, in their order, if they are known.
    preparer : TablePreparer or None
        What made the rows of the fit from a table.
    """

    model: Any
    columns: list[str] | None
    preparer: TablePreparer | None = None


def read_model(path: str | PathLike[str]) -> SavedModel:
    """Read an estimator, and the names of its columns."""
    path = Path(path)
    if not path.is_file():
        what = "is no file" if path.exists() else "does not exist"
        raise FileNotFoundError(f"{path} {what}; give the path of a file that save has written.")
    try:
        source = Source(Archive(path))
        header = source.archive.header
        if type(header.get("format")) is int and header["format"] > FORMAT:
            raise _LaterFormatError(header["format"])
        found = _read(header, source)
    except _LaterFormatError as error:
        raise ModelFileError(
            f"{path} is a model file of format {error}, and this version of sfumato reads formats "
            f"up to {FORMAT}; install a later version."
        ) from None
    except OSError:
        raise
    except Exception as error:  # A damaged archive can raise anything.
        raise ModelFileError(
            f"{path} is no model file of sfumato, or is damaged ({brief(error)}); give a file that "
            "sfumato.save or sfumato cluster has written."
        ) from error
    return found


class _LaterFormatError(Exception):
    """The file has a later format."""


def _read(header: dict[str, Any], source: Source) -> SavedModel:
    keys = {"format", "versions", "columns", "preparation", "model"}
    if header["format"] == 1:  # Before tables were prepared.
        header = {**header, "preparation": None}
    require(header.keys() == keys, list(header), "a header")
    require(type(header["format"]) is int and header["format"] >= 1, header["format"], "a format")
    kinds = {"columns": Maybe(Names("features")), "preparation": Maybe(Preparation())}
    columns = read_fields(kinds, {name: header[name] for name in kinds}, source)
    schema = SCHEMAS[header["model"]["class"]]
    model = schema.read(header["model"], source)
    source.archive.finish()
    names = columns["columns"]
    if names is None and "feature_names_in_" in vars(model):
        names = model.feature_names_in_
    return SavedModel(model, None if names is None else list(names), columns["preparation"])
