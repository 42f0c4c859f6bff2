"""Sources that may be larger than memory, as chunks of rows that can be read again and again."""

from sfumato.streams.base import Chunk, Place, Stream, StreamError
from sfumato.streams.factory import stream
from sfumato.streams.results import Streamed

__all__ = ["Chunk", "Place", "Stream", "StreamError", "Streamed", "stream"]
