"""Lines that a person types, awaited without blocking anything else."""

import asyncio
import os
import threading
from collections.abc import AsyncGenerator

_CHUNK = 65_536


async def typed_lines(*, fd: int = 0) -> AsyncGenerator[str, None]:
    """Lines of a file descriptor until its end; Ctrl-C is felt while one is awaited.

    The waiting happens in a daemon thread on the bare descriptor: a thread of the event loop's
    pool, or one inside `sys.stdin`, would keep the program from ending.
    """
    loop = asyncio.get_running_loop()
    queue: asyncio.Queue[bytes] = asyncio.Queue()
    asked = threading.Semaphore(0)

    def read() -> None:
        while True:
            asked.acquire()
            chunk = os.read(fd, _CHUNK)
            try:
                loop.call_soon_threadsafe(queue.put_nowait, chunk)
            except RuntimeError:
                return  # the loop has ended meanwhile: nobody waits for this line any more
            if not chunk:
                return

    threading.Thread(target=read, name="ricordo-typing", daemon=True).start()
    rest = b""
    while True:
        while b"\n" in rest:
            line, _, rest = rest.partition(b"\n")
            yield _decoded(line)
        asked.release()
        chunk = await queue.get()
        if not chunk:
            break
        rest += chunk
    if rest:
        yield _decoded(rest)


def _decoded(line: bytes) -> str:
    return line.decode("utf-8", errors="replace").removesuffix("\r")
