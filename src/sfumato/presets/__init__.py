"""Published methods as choices of parts, with their citations, and one method of our own."""

from sfumato.presets.others import RSFKM, FuzzyCMeans
from sfumato.presets.sparse import REFCMFS, CappedREFCMFS, SimREFCMFS

__all__ = ["REFCMFS", "RSFKM", "CappedREFCMFS", "FuzzyCMeans", "SimREFCMFS"]
