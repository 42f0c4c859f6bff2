"""Streams of what can be sliced: arrays, memory maps, CSR, Zarr, and whatever looks like them."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import scipy.sparse as sp

from sfumato.exceptions import StreamError, one_line
from sfumato.streams._base import Chunk, Location, Stream, default_rows
from sfumato.streams._checks import check_rows, native
from sfumato.streams._files import FileSignature, check_signature


class ArrayStream(Stream):
    """Rows of an object with a shape, a type and slices.

    Parameters
    ----------
    values : object
        With ``shape``, ``dtype``, and slices of rows that are arrays or CSR.
    chunk_rows : int, optional
        Rows per chunk, at most.
    source : str, optional
        What to call it in messages.

    Notes
    -----
    An array that is stored in blocks (Zarr, HDF5) is read in whole blocks, so that none of them is
    decoded twice; chunks do not reach from one run of blocks into the next.
    """

    def __init__(
        self, values: Any, chunk_rows: int | None = None, source: str | None = None
    ) -> None:
        shape = tuple(values.shape)
        self.source = source or f"the {type(values).__name__} of shape {shape}"
        place = Location(self.source, 0)
        if len(shape) != 2:
            raise StreamError(
                f"{self.source} has {len(shape)} dimensions, not two; give rows by features."
            )
        self._values = sp.csr_array(values) if sp.issparse(values) else values
        probe = check_rows(self._slice(0, min(1, shape[0])), place)
        self.n_rows, self.n_features = int(shape[0]), int(shape[1])
        self.dtype, self.is_sparse = native(probe.dtype), bool(sp.issparse(probe))
        self._rows = chunk_rows or default_rows(self._row_bytes())
        stored = _stored_rows(values)
        self._block = max(self._rows // stored, 1) * stored

    def _row_bytes(self) -> float:
        """Memory that a row takes, on average."""
        if not self.is_sparse:
            return self.dtype.itemsize * self.n_features
        csr = self._values
        total = csr.data.nbytes + csr.indices.nbytes + csr.indptr.nbytes
        return float(total / max(1, csr.shape[0]))

    def _slice(self, start: int, stop: int) -> Any:
        try:
            return self._values[start:stop]
        except Exception as error:
            raise StreamError(
                f"{self.source}: rows {start} to {stop - 1} (counting from 0) cannot be read "
                f"({one_line(error)}); check the source."
            ) from error

    def _read(self) -> Iterator[Chunk]:
        n_rows = self.n_rows or 0
        for begin in range(0, n_rows, self._block):
            end = min(begin + self._block, n_rows)
            block = check_rows(self._slice(begin, end), Location(self.source, begin))
            if block.shape != (end - begin, self.n_features):
                raise StreamError(
                    f"{self.source}: rows {begin} to {end - 1} came with the shape {block.shape}, "
                    f"not {(end - begin, self.n_features)}; it must not change while it is read."
                )
            for start in range(begin, end, self._rows):
                rows = block[start - begin : start - begin + self._rows]
                yield Chunk(rows, None, Location(self.source, start))


def _stored_rows(values: Any) -> int:
    """Rows that are stored together; 1 if any row can be read by itself."""
    blocks = getattr(values, "shards", None) or getattr(values, "chunks", None)
    if isinstance(blocks, tuple) and blocks and isinstance(blocks[0], int):
        return max(1, blocks[0])
    return 1


class ZarrStream(ArrayStream):
    """Rows of a Zarr array in a folder.

    Parameters
    ----------
    path : Path
        The folder.
    chunk_rows : int, optional
        Rows per chunk, at most.
    """

    def __init__(self, path: Path, chunk_rows: int | None = None) -> None:
        import zarr

        self._path = path
        self._signatures = _signatures(path)
        try:
            values = zarr.open_array(path, mode="r")
        except Exception as error:
            raise StreamError(
                f"{path} cannot be read as a Zarr array ({one_line(error)}); of a Zarr group, "
                "open the array yourself and give that."
            ) from error
        super().__init__(values, chunk_rows, str(path))

    def _check_unchanged(self) -> None:
        found = _signatures(self._path)
        for path in sorted(found.keys() | self._signatures.keys()):
            if path not in self._signatures:
                raise StreamError(
                    f"{self.source} changed while it was being read: {path} is new; start again, "
                    "or work on a copy."
                )
            if found.get(path) != self._signatures[path]:
                check_signature(path, self._signatures[path])


def _signatures(folder: Path) -> dict[Path, FileSignature]:
    """Stamps of all files of a folder and of those within it."""
    return {path: FileSignature.of(path) for path in folder.rglob("*") if path.is_file()}
