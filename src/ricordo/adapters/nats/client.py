"""The client of NATS, where it is too trusting or too easily broken."""

from typing import Any

from nats.aio.client import Client
from nats.aio.msg import Msg
from nats.errors import SecureConnWantedError


class CarefulClient(Client):
    """Survives what others publish, and keeps what it was told to keep from the wire.

    Subjects and headers that are no text would end its reading, and nobody would be told.

    Args:
        encrypted: say nothing to a server before TLS stands. By itself the client does what the
            server's first line says, and whoever is in between may write that line.
    """

    def __init__(self, *, encrypted: bool = False) -> None:
        super().__init__()
        self._encrypted = encrypted

    @property
    def wants_certificate(self) -> bool:
        """Whether the server that was asked last said that it lets nobody in without one."""
        return bool(self._server_info.get("tls_verify"))

    async def _process_info(self, info: dict[str, Any], initial_connection: bool = False) -> None:
        if self._encrypted and info.get("tls_available"):
            info["tls_required"] = True
        await super()._process_info(info, initial_connection)

    def _connect_command(self) -> bytes:
        if self._encrypted and not self._is_encrypted():
            raise SecureConnWantedError
        return super()._connect_command()

    def _is_encrypted(self) -> bool:
        current: Any = self._current_server
        if current is not None and current.uri.scheme in ("ws", "wss"):
            return current.uri.scheme == "wss"
        writer: Any = getattr(self._transport, "_io_writer", None)
        return writer is not None and writer.get_extra_info("ssl_object") is not None

    def _build_message(
        self,
        sid: int,
        subject: bytes,
        reply: bytes,
        data: bytes,
        headers: dict[str, str] | None,
    ) -> Msg:
        readable = subject.decode(errors="replace").encode()
        return super()._build_message(sid, readable, reply, data, headers)

    async def _process_headers(self, headers: bytes) -> dict[str, str] | None:
        try:
            parent: Any = super()
            return await parent._process_headers(headers)  # noqa: SLF001
        except (ValueError, IndexError) as error:
            await self._error_cb(error)
            return None
