"""Real Bolt servers for the tests, each started once, on loopback, and stopped at the end.

ArcadeDB comes with the test group and always runs. Neo4j needs Java 17 and Maven, so it is chosen
by `RICORDO_TEST_NEO4J=1`; then anything that is missing is a failure.
"""

import atexit
import fcntl
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tests.support import arcade
from tests.support.serving import free_port

NEO4J = "5.26.0"
CHOSEN = bool(os.environ.get("RICORDO_TEST_NEO4J"))
PASSWORD = "not-a-secret"
_PATIENCE = 180
_ROOT = Path(__file__).parents[2]

_POM = f"""<project xmlns="http://maven.apache.org/POM/4.0.0">
  <modelVersion>4.0.0</modelVersion>
  <groupId>ricordo</groupId><artifactId>neo4j-for-tests</artifactId><version>1</version>
  <dependencies>
    <dependency>
      <groupId>org.neo4j.test</groupId><artifactId>neo4j-harness</artifactId>
      <version>{NEO4J}</version>
    </dependency>
  </dependencies>
</project>
"""

CONF = """
server.default_listen_address=127.0.0.1
server.bolt.listen_address=127.0.0.1:{port}
server.http.enabled=false
server.https.enabled=false
server.memory.heap.initial_size=256m
server.memory.heap.max_size=512m
server.memory.pagecache.size=64m
dbms.usage_report.enabled=false
"""


class Program:
    """A server's program, which can be killed and started again on what it had stored.

    Args:
        said: what it prints once it is ready, beyond speaking; None when it prints nothing.
    """

    def __init__(self, command: list[str], *, folder: Path, port: int, said: str | None) -> None:
        self._command = command
        self._log = folder / "said.txt"
        self._port = port
        self._said = said
        self._process: subprocess.Popen[str] | None = None

    def start(self) -> None:
        """Start it, and wait until it speaks."""
        with self._log.open("w") as told:
            # In a folder of its own, for a server may write where it stands.
            self._process = subprocess.Popen(
                self._command,
                stdin=subprocess.PIPE,
                stdout=told,
                stderr=told,
                text=True,
                cwd=self._log.parent,
                env={**os.environ, "PYTHONPATH": str(_ROOT)},
            )
        try:
            _wait(self._process, self._port, self._log)
            if self._said is not None:
                said = self._said
                _wait_until(lambda: said in self._log.read_text(), "no database", self._log)
        except BaseException:
            self.kill()
            raise

    def kill(self) -> None:
        """As `kill -9` does; nothing where it is dead already."""
        process, self._process = self._process, None
        if process is not None:
            process.kill()
            process.wait(30)
            if process.stdin:
                process.stdin.close()


@dataclass(frozen=True)
class Bolt:
    """A running server."""

    url: str
    user: str
    password: str
    database: str | None
    program: Program


KINDS = ("arcadedb", *(("neo4j",) if CHOSEN else ()))
"""Those that these tests run on."""


@cache
def shared(kind: str) -> Bolt:
    """The server that tests of all modules use; stopped when they end."""
    server = own(kind)
    running = server.__enter__()
    atexit.register(server.__exit__, None, None, None)
    return running


def own(kind: str) -> AbstractContextManager[Bolt]:
    """A server for one test alone."""
    return {"arcadedb": arcadedb, "neo4j": neo4j}[kind]()


@contextmanager
def arcadedb() -> Iterator[Bolt]:
    """ArcadeDB, which speaks Bolt and openCypher."""
    with _folder() as folder:
        port = free_port()
        command = [
            sys.executable,
            "-m",
            "tests.support.arcade",
            folder,
            str(port),
            str(free_port()),
        ]
        with _running(Program(command, folder=Path(folder), port=port, said="ready")) as program:
            yield Bolt(
                f"bolt://127.0.0.1:{port}", "root", arcade.PASSWORD, arcade.DATABASE, program
            )


@contextmanager
def neo4j() -> Iterator[Bolt]:
    """Neo4j Community, from Maven Central."""
    with _folder() as folder:
        home, port = Path(folder), free_port()
        (home / "conf").mkdir()
        (home / "conf" / "neo4j.conf").write_text(CONF.format(port=port))
        command = [
            "java", "-Xmx512m", "-cp", f"{_libraries()}/*", "org.neo4j.server.CommunityEntryPoint",
            f"--home-dir={home}", f"--config-dir={home / 'conf'}",
        ]  # fmt: skip
        with _running(Program(command, folder=home, port=port, said=None)) as program:
            url = f"bolt://127.0.0.1:{port}"
            _set_password(url)
            yield Bolt(url, "neo4j", PASSWORD, None, program)


@contextmanager
def _running(program: Program) -> Iterator[Program]:
    program.start()
    try:
        yield program
    finally:
        program.kill()


def _libraries() -> Path:
    """Neo4j's jars, fetched by Maven once per user."""
    cache = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    folder = cache / "ricordo-tests" / f"neo4j-{NEO4J}"
    folder.mkdir(parents=True, exist_ok=True)
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)  # others who run tests wait, then find it complete
        if not (folder / "complete").exists():
            (folder / "pom.xml").write_text(_POM)
            subprocess.run(
                ["mvn", "-q", "-B", "dependency:copy-dependencies", f"-DoutputDirectory={folder}"],
                cwd=folder, check=True, timeout=600, stdin=subprocess.DEVNULL,
            )  # fmt: skip
            (folder / "complete").touch()
    return folder


@contextmanager
def _folder() -> Iterator[str]:
    folder = tempfile.mkdtemp(prefix="ricordo-bolt-")
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _wait(process: subprocess.Popen[str], port: int, log: Path) -> None:
    """Until it speaks: a connection alone may come before the server is ready."""
    import neo4j as driver

    end = time.monotonic() + _PATIENCE
    while time.monotonic() < end:
        if process.poll() is not None:
            raise RuntimeError(f"the server ended: {log.read_text()[-2_000:]}")
        with suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
            try:
                address = f"bolt://127.0.0.1:{port}"
                with driver.GraphDatabase.driver(address, auth=("nobody", "nothing")) as asked:
                    asked.verify_connectivity()
            except driver.exceptions.AuthError:
                return
            except driver.exceptions.DriverError:
                pass
        time.sleep(0.2)
    raise RuntimeError(f"no server within {_PATIENCE} s: {log.read_text()[-2_000:]}")


def _wait_until(holds: Callable[[], bool], otherwise: str, log: Path) -> None:
    end = time.monotonic() + _PATIENCE
    while not holds():
        if time.monotonic() > end:
            raise RuntimeError(f"{otherwise} within {_PATIENCE} s: {log.read_text()[-2_000:]}")
        time.sleep(0.1)


def _set_password(url: str) -> None:
    import neo4j as driver

    with driver.GraphDatabase.driver(url, auth=("neo4j", "neo4j")) as first:
        first.execute_query(
            "ALTER CURRENT USER SET PASSWORD FROM 'neo4j' TO $new", new=PASSWORD, database_="system"
        )
