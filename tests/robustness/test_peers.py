"""The benchmark of robustness: its references, measures and cells; and the benchmark commands."""

from __future__ import annotations

from functools import partial

import benchmarks.__main__
import benchmarks.scale.__main__
import numpy as np
import pytest
from benchmarks.harness import report
from benchmarks.harness.report import Goal, Report
from benchmarks.robustness import cells
from benchmarks.robustness.__main__ import main
from benchmarks.robustness.cases import Blobs, Pictures, Sample, strange
from benchmarks.robustness.cells import Cell, Run, run_cell, stored_cells, wanted
from benchmarks.robustness.measures import center_errors, ideal_auroc, measure
from benchmarks.robustness.peers import PEERS, Found, Task
from benchmarks.robustness.references import (
    best_trimmed_k_means,
    neighbor_k_means,
    noise_clustering,
    noise_memberships,
    trimmed_k_means,
)
from benchmarks.robustness.summary import Summary, complete
from sklearn.cluster import KMeans

from sfumato import FuzzyCMeans
from sfumato.paper.runner import run_missing
from tests.catalogue import blobs

STEPS = 5


@pytest.fixture
def data():
    return blobs(120, 3, 4)


# References.


def test_noise_at_infinity_is_fuzzy_c_means(data):
    start = data[:4]
    found = noise_clustering(data, start, delta=np.inf, max_iter=STEPS, tol=0.0)
    model = FuzzyCMeans(4, init=start, tol=0, acceleration=None, max_iter=STEPS)
    with pytest.warns(match="max_iter"):
        model.fit(data)
    np.testing.assert_allclose(found.centers, model.cluster_centers_, rtol=1e-9)
    assert not found.noise.any()


def test_memberships_with_noise_by_hand():
    # Squared distances 1 and 4, and 2 to the noise: with m = 2, in proportion to 1, 1/4 and 1/2.
    memberships = noise_memberships(np.array([[1.0, 4.0]]), 2.0, 2.0)
    np.testing.assert_allclose(memberships, [[4 / 7, 1 / 7, 2 / 7]])
    # With m = 1.5 in proportion to the squares of these.
    memberships = noise_memberships(np.array([[1.0, 4.0]]), 2.0, 1.5)
    np.testing.assert_allclose(memberships, [[16 / 21, 1 / 21, 4 / 21]])
    on_a_center = noise_memberships(np.array([[0.0, 4.0]]), 2.0, 2.0)
    np.testing.assert_allclose(on_a_center, [[1, 0, 0]], atol=1e-12)


def test_noise_is_what_is_far():
    X = np.array([[0.0], [0.2], [0.4], [10.0], [10.2], [10.4], [80.0]])
    found = noise_clustering(X, np.array([[0.0], [10.0]]), delta=3.0)
    np.testing.assert_allclose(found.centers, [[0.2], [10.2]], atol=0.02)
    assert found.labeled.tolist() == [False] * 6 + [True]


def test_nothing_trimmed_is_k_means(data):
    start = data[:4]
    found = trimmed_k_means(data, start, share=0.0)
    model = KMeans(4, init=start, n_init=1, tol=0).fit(data)
    assert found.objective == pytest.approx(model.inertia_)
    np.testing.assert_allclose(found.centers, model.cluster_centers_)
    assert found.kept.all()


@pytest.mark.parametrize("method", [best_trimmed_k_means, neighbor_k_means])
def test_rows_that_are_left_out_are_the_far_ones(method):
    X = np.array([[0.0], [0.2], [0.4], [10.0], [10.2], [10.4], [80.0], [-50.0]])
    found = method(X, 2, share=0.25, seed=0, number=10)
    np.testing.assert_allclose(np.sort(found.centers.ravel()), [0.2, 10.2])
    assert found.kept.tolist() == [True] * 6 + [False] * 2
    assert found.objective == pytest.approx(4 * 0.2**2)
    assert method(X, 2, share=0.0, seed=0, number=1).kept.all()


@pytest.mark.parametrize("name", PEERS)
def test_every_method_answers_what_it_claims(name):
    sample = Blobs("uniform", 0.1, 2, "equal", n_rows=200).sample(seed=0)
    found = PEERS[name].fit(Task(sample.X, sample.n_clusters, seed=0, share=0.1))
    assert (found.labels is not None) == PEERS[name].clusters
    assert (found.centers is not None) == PEERS[name].centers
    assert np.isfinite(found.scores).all()
    assert found.scores.shape == sample.target.shape
    assert found.outliers is None or found.outliers.dtype == bool


# Measures and pictures.


def test_measures_by_hand():
    X = np.array([[0.0], [1.0], [10.0], [11.0], [90.0]])
    true = np.array([[0.5], [10.5]])
    sample = Sample(X, np.array([0, 0, 1, 1, -1]), 2, true)
    found = Found(
        labels=np.array([1, 1, 0, 0, 0]),
        centers=np.array([[13.5], [0.5]]),
        scores=np.array([0.1, 0.2, 0.3, 0.9, 0.8]),
        outliers=np.array([False, False, False, True, True]),
    )
    clean = Found(centers=np.array([[1.0], [11.5]]))
    expected = {
        "ari": 1.0,
        "acc": 1.0,
        "ari_ratio": 1.0,
        "mean_error": 1.5,
        "largest_error": 3.0,
        "mean_ratio": 2.0,
        "largest_ratio": 3.0,
        "auroc": 0.75,
        "precision": 0.5,
        "alarms": 0.25,
    }
    assert measure(sample, found, clean) == pytest.approx(expected)


def test_centers_are_matched_one_to_one():
    true, found = np.array([[0.0], [4.0]]), np.array([[3.0], [100.0]])
    np.testing.assert_allclose(center_errors(true, found), [3, 96])


def test_cases_that_some_method_has_not_been_through_are_left_out():
    def run(case, method, seed):
        return Run(Cell(case, method, seed), 0.0)

    done = [run("a", method, seed) for method in ("x", "y") for seed in range(2)]
    seed_missing = [run("b", "x", 0), run("b", "x", 1), run("b", "y", 0)]
    method_missing = [run("c", "x", 0)]
    pictures = [run("d", "x", 0)]
    cases = dict.fromkeys("abc", Blobs("uniform", 0.1, 2, "equal")) | {"d": Pictures("d", "salt")}
    found = complete(done + seed_missing + method_missing + pictures, cases)
    assert found == done + pictures


def test_the_ideal_ranking_counts_in_widths():
    """Clusters of widths 1 and 10; what is 5 from a center is far from the one only."""
    X = np.array([[1.0], [-1.0], [110.0], [90.0]])
    for outlier, expected in ((5.0, 1.0), (95.0, 0.0)):
        rows, target = np.append(X, [[outlier]], axis=0), np.array([0, 0, 1, 1, -1])
        found = ideal_auroc(Sample(rows, target, 2, centers=np.array([[0.0], [100.0]])))
        assert found == expected


def test_strange_pictures():
    rng = np.random.default_rng(0)
    X = rng.integers(1, 9, size=(30, 400)).astype(float)
    X[0, 0], X[0, 1] = 0.0, 16.0
    assert np.isin(strange(X, "random", 5, rng), X).all()
    assert (np.ptp(strange(X, "constant", 5, rng), axis=1) == 0).all()
    extreme = np.isin(strange(X, "salt", 5, rng), [0.0, 16.0])
    np.testing.assert_allclose(extreme.mean(axis=1), 0.5, atol=0.1)


def test_strange_pictures_are_half_as_many_as_an_average_class_has():
    sample = Pictures("digits", "constant").sample(seed=0)
    assert (~sample.inliers).sum() == round(0.5 * sample.inliers.sum() / 10)
    assert sample.n_clusters == 10


# Cells.


def test_stored_cells_are_not_run_again_and_an_error_is_part_of_the_result(tmp_path, monkeypatch):
    monkeypatch.setattr(cells, "STORE", tmp_path / "benchmarks")
    case, store = Blobs("clump", 0.1, 2, "equal", n_rows=60), stored_cells(quick=True)
    chosen = [Cell(case.name, method, 0) for method in ("K-Means", "LOF", "none")]
    run = partial(run_cell, cases={case.name: case})
    finished = []

    def note(progress):
        finished.append(progress.finished)

    run_missing(chosen, store, run, report=note)
    assert finished == [0, 1, 2, 3]
    first = store.load()
    assert set(first) == set(chosen)
    assert [first[cell].error for cell in chosen] == ["", "", "KeyError: 'none'"]
    assert first[chosen[0]].measures == run(chosen[0]).measures
    run_missing(chosen, store, run, report=note)
    assert finished[4:] == [3]
    assert store.load() == first
    assert stored_cells(quick=False).load() == {}


def test_large_data_sets_have_few_seeds():
    wished = wanted([Pictures("coil100", "salt"), Pictures("yale", "salt")], ["FCM"], 5)
    assert [cell.case for cell in wished].count("coil100-salt") == 3
    assert len(wished) == 8


def test_a_cell_is_measured_and_summed_up():
    case = Blobs("uniform", 0.1, 2, "equal", n_rows=200)
    cases = {case.name: case}
    runs = [run_cell(Cell(case.name, method, 0), cases) for method in ("K-Means", "LOF")]
    assert {"ari_ratio", "largest_ratio", "auroc"} <= set(runs[0].measures)
    assert set(runs[1].measures) == {"auroc", "precision", "alarms"}
    summary = Summary(runs, cases)
    assert summary.methods == ["K-Means", "LOF"]
    assert summary.measured("ari") == ["K-Means"]
    assert summary.median(case.name, "LOF", "ari") is None


def test_summary_takes_the_worst_seed():
    case = Blobs("clump", 0.1, 2, "equal")
    runs = [
        Run(Cell(case.name, "FCM", seed), 0.1, {"ari": ari, "mean_ratio": 1 - ari})
        for seed, ari in enumerate([0.2, 0.9, 0.8])
    ]
    summary = Summary(runs, {case.name: case})
    assert summary.median(case.name, "FCM", "ari") == 0.8
    assert summary.worst(case.name, "FCM", "ari") == 0.2
    assert summary.worst(case.name, "FCM", "mean_ratio") == 0.8


# The command.


@pytest.mark.parametrize(
    ("words", "answer"),
    [
        (["--methods", "kmeans"], "no method is called kmeans; use one of CappedREFCMFS"),
        (["--cases", "unifrom-*"], "no case matches unifrom-*; use patterns for names such as"),
        (["--jobs", "0"], "0 is not an integer of at least 1"),
        (["--seeds", "some"], "some is not an integer of at least 1"),
    ],
)
def test_wrong_arguments_are_named(words, answer, capsys):
    with pytest.raises(SystemExit) as stopped:
        main(words)
    assert stopped.value.code == 2
    assert answer in capsys.readouterr().err


@pytest.mark.parametrize("command", [benchmarks.__main__, benchmarks.scale.__main__])
def test_unknown_benchmarks_are_named(command, capsys):
    with pytest.raises(SystemExit) as stopped:
        command.main(["passses", "--quick"])
    assert stopped.value.code == 2
    assert (
        f"no benchmark is called passses; use one of {command.NAMES[0]}" in capsys.readouterr().err
    )


def test_named_benchmarks_are_run_and_their_limits_checked(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(report, "STORE", tmp_path)

    def run(quick):
        return Report("imports", "Title", "How.", quick, goals=[Goal("ratio", 2.0, 1.0)])

    monkeypatch.setattr("benchmarks.imports.run", run)
    assert benchmarks.__main__.main(["imports", "--quick"]) == 1
    assert "missed**: ratio 2, at most 1" in capsys.readouterr().out
    assert (tmp_path / "imports.quick.json").exists()
