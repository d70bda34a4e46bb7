"""An ArcadeDB in a process of its own: `python -m tests.support.arcade FOLDER BOLT_PORT HTTP_PORT`.

It ends when its standard input does, so it cannot outlive the tests.
"""

import sys

PASSWORD = "playwithdata"
DATABASE = "ricordo"


def main() -> None:
    import arcadedb_embedded

    folder, bolt, http = sys.argv[1], int(sys.argv[2]), int(sys.argv[3])
    server = arcadedb_embedded.create_server(
        folder,
        root_password=PASSWORD,
        config={
            "http_port": http,
            "server_plugins": "Bolt:com.arcadedb.bolt.BoltProtocolPlugin",
            "bolt_port": bolt,
        },
    )
    server.start()
    server.create_database(DATABASE)
    print("ready", flush=True)
    sys.stdin.read()
    server.stop()


if __name__ == "__main__":
    main()
