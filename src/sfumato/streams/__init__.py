"""Sources that may be larger than memory, as chunks of rows that can be read again and again."""

from sfumato.exceptions import StreamError
from sfumato.streams._base import Chunk, Place, Stream
from sfumato.streams._lazy import Streamed
from sfumato.streams._open import stream

__all__ = ["Chunk", "Place", "Stream", "StreamError", "Streamed", "stream"]
