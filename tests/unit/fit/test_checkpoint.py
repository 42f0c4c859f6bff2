"""Checkpoints: a fit that was interrupted, however often, ends with the bits of one that was not.

Processes that are killed are in ``test_resume.py``; here a pass raises an exception.
"""

from __future__ import annotations

import warnings
from contextlib import suppress
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from sfumato import REFCMFS, Capped, CappedREFCMFS, FuzzyClustering, Power
from sfumato._engines.chunked import ChunkedEngine
from sfumato._fit import checkpoint as checkpoints
from sfumato.datasets import make_blobs_with_outliers
from sfumato.exceptions import UnstableFitWarning
from sfumato.streams import stream
from tests.catalogue import blobs
from tests.contract.estimators import every_estimator
from tests.interrupted import (
    KINDS,
    WEIGHTS,
    InterruptError,
    Sweeps,
    X,
    assert_same,
    counted_sweeps,
    fitted,
)

SHARES = (0.1, 0.6, 0.97)
"""Of the passes of a whole fit, after which it is interrupted: seeding, halving, last descent."""
every_kind = pytest.mark.parametrize("kind", KINDS)


@pytest.fixture
def sweeps(monkeypatch: pytest.MonkeyPatch) -> Sweeps:
    return counted_sweeps(monkeypatch)


def check_law(
    sweeps: Sweeps,
    path: Path,
    estimator: Any,
    rows: Any,
    weights: Any = None,
    shares: tuple[float, ...] = SHARES,
    **parameters: Any,
) -> None:
    """Interrupted once, at several places, and several times in a row."""
    sweeps.sparing = True
    whole: list[Any] = []
    total = sweeps.during(lambda: whole.append(fitted(estimator, rows, weights, **parameters)))

    def resumable(name: str) -> Any:
        return fitted(estimator, rows, weights, checkpoint=path / name, **parameters)

    assert_same(resumable("never"), whole[0])
    for after in sorted({int(share * total) for share in shares}):
        sweeps.interrupt(lambda: resumable("once"), after)
        assert_same(resumable("once"), whole[0])
        (path / "once").unlink(missing_ok=True)  # There is none if seeding was interrupted.
    for share in (0.5, 0.3) if len(shares) > 1 else ():
        # What is left may be less than that after the first time.
        sweeps.count, sweeps.limit = 0, int(share * total)
        with suppress(InterruptError):
            resumable("often")
        sweeps.limit = None
    assert_same(resumable("often"), whole[0])


# Simplex with a large gamma may put two centers in one place.
@pytest.mark.filterwarnings("ignore::sfumato.exceptions.CoincidentCentersWarning")
@every_kind
@every_estimator
def test_interrupted_fits_end_with_the_same_bits(
    estimator: Any, kind: str, sweeps: Sweeps, tmp_path: Path
) -> None:
    make, parameters = KINDS[kind]
    shares = SHARES if kind in ("native", "stream") else SHARES[1:2]
    check_law(sweeps, tmp_path, estimator, make(), shares=shares, **parameters)


@pytest.mark.parametrize("kind", ["native", "stream"])
@pytest.mark.parametrize(
    "parameters",
    [
        {"n_init": 3},
        {"n_init": 1, "acceleration": None},
        {"acceleration": None},
        {"init": X[:4]},
        {"init": "random"},
        {"init": "robust", "n_init": 2},
        {"max_iter": 40, "tol": 0.0, "n_init": 1, "acceleration": "lbfgs"},
    ],
    ids=lambda parameters: "-".join(f"{k}={v}" for k, v in parameters.items() if k != "init"),
)
@pytest.mark.filterwarnings("ignore:.*Stopped at `max_iter`")
def test_ways_to_start_and_to_step(
    parameters: dict[str, Any], kind: str, sweeps: Sweeps, tmp_path: Path
) -> None:
    rows = KINDS[kind][0]()
    check_law(sweeps, tmp_path, REFCMFS(4, n_active=3, random_state=0), rows, WEIGHTS, **parameters)


@pytest.mark.parametrize("kind", ["native", "stream"])
@pytest.mark.parametrize("n_init", ["auto", 3])
@pytest.mark.slow
def test_rows_without_outliers_under_a_capped_loss(
    kind: str, n_init: Any, sweeps: Sweeps, tmp_path: Path
) -> None:
    """They have more starts than robust seeds have: what is kept must not depend on these."""
    rows = np.random.default_rng(0).random((600, 5))
    data = stream(rows, chunk_rows=170) if kind == "stream" else rows
    model = CappedREFCMFS(8, random_state=0)
    check_law(sweeps, tmp_path, model, data, shares=(*SHARES, 0.99), n_init=n_init)


def test_wide_rows_are_solved_in_their_span(sweeps: Sweeps, tmp_path: Path) -> None:
    wide = blobs(40, 300, n_clusters=4)
    check_law(sweeps, tmp_path, REFCMFS(4, n_active=3, random_state=0), wide)


def test_repairs_are_kept(sweeps: Sweeps, tmp_path: Path) -> None:
    """Centers far away are empty, so that they jump."""
    start = np.vstack([X[:2], X[:2] + 1e3])
    estimator = FuzzyClustering(4, loss="squared", membership="hard", init=start)
    assert any(record.repairs for record in fitted(estimator, X).history_)
    check_law(sweeps, tmp_path, estimator, X)
    (tmp_path / "stream").mkdir()
    check_law(sweeps, tmp_path / "stream", estimator, stream(X, chunk_rows=50))


@pytest.mark.parametrize("kind", ["native", "stream"])
def test_a_fit_without_a_seed_keeps_the_one_it_drew(
    kind: str, sweeps: Sweeps, tmp_path: Path
) -> None:
    rows = KINDS[kind][0]()
    estimator, path = REFCMFS(4, n_active=3), tmp_path / "state"
    before = np.random.get_state()
    try:
        np.random.seed(7)
        whole: list[Any] = []
        total = sweeps.during(lambda: whole.append(fitted(estimator, rows)))
        np.random.seed(7)
        sweeps.interrupt(lambda: fitted(estimator, rows, checkpoint=path), int(0.7 * total))
        np.random.seed(8)
        assert_same(fitted(estimator, rows, checkpoint=path), whole[0])
    finally:
        np.random.set_state(before)


@pytest.mark.parametrize("again", ["the same object", "a new one"])
def test_a_generator_as_random_state(again: str, sweeps: Sweeps, tmp_path: Path) -> None:
    path = tmp_path / "state"

    def model(rng: np.random.RandomState, **parameters: Any) -> Any:
        return REFCMFS(4, n_active=3, random_state=rng, **parameters)  # Not cloned, nor copied.

    whole: list[Any] = []
    total = sweeps.during(lambda: whole.append(model(np.random.RandomState(3)).fit(X)))
    rng = np.random.RandomState(3)
    sweeps.interrupt(lambda: model(rng, checkpoint=path).fit(X), int(0.7 * total))
    rng = rng if again == "the same object" else np.random.RandomState(3)
    assert_same(model(rng, checkpoint=path).fit(X), whole[0])


def test_another_generator_is_refused(sweeps: Sweeps, tmp_path: Path) -> None:
    path = tmp_path / "state"
    REFCMFS(4, n_active=3, random_state=np.random.RandomState(3), checkpoint=path).fit(X)
    with pytest.raises(ValueError, match="`random_state` was"):
        REFCMFS(4, n_active=3, random_state=np.random.RandomState(4), checkpoint=path).fit(X)


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("n_init", [1, "auto"])
def test_passes_are_saved(
    kind: str, n_init: Any, sweeps: Sweeps, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make, parameters = KINDS[kind]
    rows = make()
    if kind == "stream":  # Passes over all pieces are what is long.
        sweeps = Sweeps()
        monkeypatch.setattr(ChunkedEngine, "sweep", sweeps.wrapped(ChunkedEngine.sweep))
    estimator = REFCMFS(4, n_active=3, fuzzifier=1.5, n_init=n_init, random_state=0, tol=1e-12)
    total = sweeps.during(lambda: fitted(estimator, rows, **parameters))
    assert total >= 4  # Starts are compared on a coreset of the stream.

    def resumable() -> Any:
        return fitted(estimator, rows, checkpoint=tmp_path / "state", **parameters)

    sweeps.interrupt(resumable, total - 2)
    # What comes again: an order of the rows before seeding, the pass that failed, the assignment,
    # and with several starts the few hard iterations after centers were exchanged.
    exchanges = total // 2 if n_init == "auto" and kind != "stream" else 0
    assert sweeps.during(resumable) <= min(5 + exchanges, total - 1)
    # From a fit that has ended: the assignment alone, beside seeding.
    assert sweeps.during(resumable) <= 3 + exchanges


@pytest.mark.parametrize("share", [0.3, 0.9])
def test_stability_is_that_of_a_fit_in_one_go(share: float, sweeps: Sweeps, tmp_path: Path) -> None:
    """Also where it is low because of what hard clusters would prefer, found before the end."""
    rows = make_blobs_with_outliers(
        9000, 2, n_clusters=6, contamination=0.0, size_ratio=30.0, random_state=0
    ).data

    def fit(**options: Any) -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UnstableFitWarning)
            return REFCMFS(6, random_state=0, **options).fit(rows)

    whole: list[Any] = []
    total = sweeps.during(lambda: whole.append(fit()))
    sweeps.interrupt(lambda: fit(checkpoint=tmp_path / "state"), int(share * total))
    resumed = fit(checkpoint=tmp_path / "state")
    assert resumed.stability_ == whole[0].stability_ < 0.9
    assert (resumed.cluster_centers_ == whole[0].cluster_centers_).all()


def test_an_interruption_before_the_first_state_leaves_no_file(
    sweeps: Sweeps, tmp_path: Path
) -> None:
    path = tmp_path / "state"
    sweeps.interrupt(lambda: fitted(REFCMFS(4, random_state=0), X, checkpoint=path), 0)
    assert list(tmp_path.iterdir()) == []


def test_pauses_between_writes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Once a second at most: a quick fit writes at its first pass and at its end."""
    written: list[int] = []
    monkeypatch.setattr(checkpoints.Checkpoint, "_bytes", lambda self: written.append(1) or b"")
    fitted(REFCMFS(4, random_state=0), X, checkpoint=tmp_path / "state")
    assert len(written) == 2


def test_numbers_of_numpy_are_kept(sweeps: Sweeps, tmp_path: Path) -> None:
    """Parameters of parts are written where a fit passes over pieces."""
    rule = Power(np.int64(2), np.float32(1.5))
    estimator = FuzzyClustering(4, loss=Capped(np.float32(3)), membership=rule, random_state=0)
    check_law(sweeps, tmp_path, estimator, stream(X, chunk_rows=50))
