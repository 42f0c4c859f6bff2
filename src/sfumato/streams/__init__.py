"""Sources that may be larger than memory, as chunks of rows that can be read again and again."""

from sfumato.exceptions import StreamError
from sfumato.streams._base import Chunk, Location, Stream
from sfumato.streams._lazy import LazyArray
from sfumato.streams._open import stream

__all__ = ["Chunk", "LazyArray", "Location", "Stream", "StreamError", "stream"]
