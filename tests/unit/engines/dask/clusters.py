"""What a cluster is doing."""

from __future__ import annotations

import time

import distributed


def idle(client: distributed.Client) -> bool:
    """Whether nothing runs on the cluster and no result is kept, perhaps after a moment."""
    ends = time.monotonic() + 90
    while time.monotonic() < ends:
        if not client.futures and not any(client.processing().values()):
            return True
        time.sleep(0.02)
    return False
