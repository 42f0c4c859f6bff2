"""Fits in processes made by fork, and from many threads and processes at once."""

import subprocess
import sys

import numpy as np
import pytest
from joblib import Parallel, delayed

from sfumato import REFCMFS, RSFKM, CappedREFCMFS
from sfumato._native import core
from tests.catalogue import blobs

pytestmark = pytest.mark.slow
PATIENCE = 120
"""Seconds after which a process counts as hanging."""

SETUP = """
import multiprocessing, os, sys, warnings
import numpy as np
import scipy.sparse as sp
import sfumato
from sfumato import REFCMFS, CappedREFCMFS

warnings.simplefilter("ignore")
rng = np.random.default_rng(0)
X = rng.normal(size=(6001, 96)) + 9 * rng.integers(4, size=(6001, 1))
model = REFCMFS(24, random_state=0, n_threads=3, max_iter=3, n_init=1)

def centers(rows=X):
    return model.fit(rows).cluster_centers_.tobytes()
"""
SCRIPTS = {
    "fork": """
expected = centers()
pid = os.fork()
if pid == 0:
    os._exit(0 if centers() == expected else 3)
_, status = os.waitpid(pid, 0)
sys.exit(os.waitstatus_to_exitcode(status))
""",
    "a fork of a fork": """
expected = centers()
if os.fork() == 0:
    if os.fork() == 0:
        os._exit(0 if centers() == expected else 3)
    os._exit(os.waitstatus_to_exitcode(os.wait()[1]))
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
""",
    "pool": """
expected = centers()
with multiprocessing.get_context("fork").Pool(3) as pool:
    found = pool.map(centers, [X, sp.csr_array(X), X])
sys.exit(0 if found[0] == found[2] == expected else 3)
""",
    "predictions": """
model.fit(X)
expected = model.predict(X), model.transform(X), model.score(X)
if os.fork() == 0:
    found = model.predict(X), model.transform(X), model.score(X)
    os._exit(0 if all(map(np.array_equal, found, expected)) else 3)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
""",
    "lazy results of a stream": """
model.fit(sfumato.stream(X))
expected = np.asarray(model.labels_)
if os.fork() == 0:
    os._exit(0 if np.array_equal(model.labels_, expected) else 3)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
""",
    "wide sums": """
model.set_params(n_clusters=200)
wide = rng.normal(size=(4000, 400))
expected = centers(wide)
if os.fork() == 0:
    os._exit(0 if centers(wide) == expected else 3)
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
""",
    "a fork while another thread limits BLAS": """
import threading
from sfumato._native import single_blas_thread
held, done = threading.Event(), threading.Event()

def hold():
    with single_blas_thread():
        held.set()
        done.wait()

thread = threading.Thread(target=hold)
thread.start()
held.wait()
wide = rng.normal(size=(40, 400))  # Projected, by BLAS.
warnings.simplefilter("ignore")
if os.fork() == 0:
    REFCMFS(4).fit(wide)
    os._exit(0)
_, status = os.wait()
done.set()
thread.join()
sys.exit(os.waitstatus_to_exitcode(status))
""",
}


@pytest.mark.parametrize("name", SCRIPTS)
def test_a_forked_process_fits(name):
    """It hung: OpenMP waits for threads that stayed behind in the parent."""
    command = [sys.executable, "-c", SETUP + SCRIPTS[name]]
    done = subprocess.run(command, capture_output=True, text=True, timeout=PATIENCE, check=False)
    assert (done.returncode, done.stderr) == (0, "")


def test_a_forked_process_uses_one_thread():
    script = """
from sfumato._native import core
rows = core.RowsFloat64.dense(X, np.zeros(96))
before = core.threads_used(rows, 24, 3)
if os.fork() == 0:
    os._exit(10 * before + core.threads_used(rows, 24, 3))
sys.exit(os.waitstatus_to_exitcode(os.wait()[1]))
"""
    done = subprocess.run([sys.executable, "-c", SETUP + script], timeout=PATIENCE, check=False)
    assert done.returncode == 31


def fit(number):
    model = (REFCMFS, CappedREFCMFS, RSFKM)[number % 3](4, random_state=0, n_threads=1 + number % 3)
    return model.fit(blobs(3000, 5, 4)).cluster_centers_


@pytest.mark.parametrize("backend", ["threading", "loky", "multiprocessing"])
def test_many_fits_at_once(backend):
    expected = [fit(number) for number in range(3)]
    assert core.max_threads() >= 1
    found = Parallel(n_jobs=18 if backend == "threading" else 3, backend=backend)(
        delayed(fit)(number) for number in range(18)
    )
    for number, centers in enumerate(found):
        np.testing.assert_array_equal(centers, expected[number % 3])
