"""Long passes: Ctrl-C, in a process of its own, and other threads."""

from __future__ import annotations

import random
import signal
import subprocess
import sys
import threading
import time

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from sfumato import REFCMFS, FuzzyClustering
from sfumato.streams import stream
from tests.catalogue import blobs
from tests.injected import interrupt_at

LONG_FIT = """
import sys
import numpy as np
from sfumato import REFCMFS

X = np.random.default_rng(0).normal(size=(200_000, 32))
model = REFCMFS(n_clusters=200, n_active=5, fuzzifier=1.1, tol=0, max_iter=100_000, n_init=1)
if sys.argv[1] == "loop":
    model.set_params(init=X[:200].copy())
print("fitting", flush=True)
try:
    model.fit(X)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    assert not [name for name in vars(model) if name.endswith("_")], vars(model)
    model.set_params(n_clusters=3, n_active=2, init="random", max_iter=2, tol=0.9).fit(X[:1000])
    sys.exit(0)
print("finished")
"""


@pytest.mark.parametrize(("phase", "after"), [("seeding", 0.5), ("loop", 1.5)])
@pytest.mark.slow
def test_ctrl_c_is_prompt(phase: str, after: float) -> None:
    process = subprocess.Popen(
        [sys.executable, "-W", "ignore", "-c", LONG_FIT, phase],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "fitting\n"
    time.sleep(after)
    assert process.poll() is None, "the fit must still be running"
    process.send_signal(signal.SIGINT)
    sent = time.monotonic()
    assert process.stdout.readline() == "interrupted\n"
    assert time.monotonic() - sent < 60, "a pass is interrupted, not waited for"
    out, err = process.communicate(timeout=180)
    assert process.returncode == 0, err
    assert out == ""


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("kind", ["array", "stream"])
def test_ctrl_c_at_any_moment_leaves_the_estimator_as_it_was(kind: str) -> None:
    X = blobs(200, 3, n_clusters=3)
    rows = stream(X, chunk_rows=60) if kind == "stream" else X
    model = REFCMFS(3, max_iter=5, random_state=0).fit(X)
    before = dict(vars(model))
    moments = random.Random(0)
    for _ in range(25):
        if interrupt_at(round(10 ** moments.uniform(0, 4)), lambda: model.fit(rows)):
            same = vars(model).keys() == before.keys()
            assert same
            assert all(vars(model)[name] is value for name, value in before.items())
        else:
            before = dict(vars(model))
        assert not [
            t for t in threading.enumerate() if t.name.startswith("sfumato") and t.is_alive()
        ]


def test_other_threads_run_during_a_pass() -> None:
    rng = np.random.default_rng(0)
    wide = rng.normal(size=(100_000, 64))
    start = wide[:600].copy()
    model = FuzzyClustering(600, membership="hard", init=start, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        model.fit(wide[:1000])
    ticks, done = [], threading.Event()

    def tick() -> None:
        while not done.is_set():
            ticks.append(time.monotonic())
            time.sleep(0.002)

    thread = threading.Thread(target=tick)
    thread.start()
    began = time.monotonic()
    model.score(wide)
    lasted = time.monotonic() - began
    done.set()
    thread.join()
    during = [moment for moment in ticks if began < moment < began + lasted]
    assert len(during) > 2, "one thread held the interpreter during the pass"
