"""The Python package's server with its default store, as a program: prints its address and ends with its input."""

import asyncio
import json
import logging
import socket
import sys

from agentlightning.store.client_server import LightningStoreServer
from agentlightning.store.memory import InMemoryLightningStore


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def main() -> None:
    logging.disable(logging.WARNING)
    port = free_port()
    store = InMemoryLightningStore(thread_safe=True)
    server = LightningStoreServer(store, host="127.0.0.1", port=port, launch_mode="asyncio")
    await server.start()
    print(json.dumps({"url": f"http://127.0.0.1:{port}"}), flush=True)
    await asyncio.get_running_loop().run_in_executor(None, sys.stdin.read)
    await server.stop()


asyncio.run(main())
