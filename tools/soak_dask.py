"""A fit on a dask cluster one of whose workers is killed; part of the soak test (soak.py).

python tools/soak_dask.py ROWS.npy SECONDS
"""

from __future__ import annotations

import logging
import os
import signal
import sys
import threading
import warnings

import dask.array as da
import numpy as np
from distributed import Client, LocalCluster

from sfumato import REFCMFS


def main() -> None:
    """Fit without and with a kill after some seconds, and say whether the bits are the same."""
    rows, seconds = np.load(sys.argv[1]), float(sys.argv[2])
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    chunks = da.from_array(rows, chunks=(1000, -1))
    model = REFCMFS(8, fuzzifier=1.5, random_state=0, tol=1e-12, max_iter=15)
    address = {"host": "127.0.0.1", "dashboard_address": ":0"}
    with (
        LocalCluster(n_workers=2, threads_per_worker=1, **address) as cluster,
        Client(cluster) as c,
    ):
        c.wait_for_workers(2, timeout=120)
        expected = model.fit(chunks).cluster_centers_.copy()
        victim = next(iter(c.run(os.getpid).values()))
        ended = threading.Event()
        struck: list[bool] = []

        def strike() -> None:
            if not ended.wait(seconds):
                os.kill(victim, signal.SIGKILL)
                struck.append(True)

        killer = threading.Thread(target=strike)
        killer.start()
        found = model.fit(chunks).cluster_centers_
        ended.set()
        killer.join()
    same = "same bits" if np.array_equal(found, expected) else "other bits"
    print(same if struck else "ended before")


if __name__ == "__main__":
    main()
