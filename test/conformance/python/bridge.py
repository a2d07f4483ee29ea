"""Lets the TypeScript tests use the Python package: one process, one HTTP route, one operation a request.

Prints the port as a JSON line, and ends when its standard input is closed.
"""

from __future__ import annotations

import asyncio
import inspect
import json
import logging
import socket
import sys
import threading
import traceback
from typing import Any, Awaitable, Callable, Dict, List

from aiohttp import web
from pydantic import BaseModel, TypeAdapter

import agentlightning as agl
from agentlightning.adapter.messages import TraceToMessages
from agentlightning.adapter.triplet import TracerTraceToTriplet, TraceTree
from agentlightning.emitter.reward import find_final_reward, get_rewards_from_span
from agentlightning.runner.agent import LitAgentRunner
from agentlightning.store.client_server import LightningStoreClient, LightningStoreServer
from agentlightning.store.memory import InMemoryLightningStore
from agentlightning.tracer.otel import OtelTracer
from agentlightning.types import EnqueueRolloutRequest, NamedResources, RolloutConfig, Span

from agents import AGENTS

# What a JSON value stands for, by the name of the parameter that takes it.
PARAMETERS: Dict[str, TypeAdapter[Any]] = {
    "config": TypeAdapter(RolloutConfig),
    "rollouts": TypeAdapter(List[EnqueueRolloutRequest]),
    "resources": TypeAdapter(NamedResources),
    "span": TypeAdapter(Span),
    "spans": TypeAdapter(List[Span]),
}

servers: Dict[str, LightningStoreServer] = {}


def plain(value: Any) -> Any:
    if isinstance(value, BaseModel):
        return value.model_dump(mode="json")
    if isinstance(value, dict):
        return {str(key): plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


async def serve_store(scan_debounce_seconds: float = 10.0) -> str:
    """Starts the package's own store server, as `agl store` does, in a thread of its own."""
    store = InMemoryLightningStore(thread_safe=True, scan_debounce_seconds=scan_debounce_seconds)
    server = LightningStoreServer(store, host="127.0.0.1", port=free_port(), launch_mode="thread")
    await server.start()
    url = f"http://127.0.0.1:{server.server_launcher.args.port}"
    servers[url] = server
    return url


async def stop_store(url: str) -> None:
    await servers.pop(url).stop()


async def client_call(url: str, method: str, arguments: Dict[str, Any]) -> Any:
    """Calls a method of the package's HTTP client."""
    client = LightningStoreClient(url, retry_delays=(), health_retry_delays=())
    try:
        values = {
            name: PARAMETERS[name].validate_python(value) if name in PARAMETERS and value is not None else value
            for name, value in arguments.items()
        }
        return plain(await getattr(client, method)(**values))
    finally:
        await client.close()


async def client_methods() -> List[str]:
    """The store methods of the package's HTTP client."""
    return sorted(
        name
        for name, member in inspect.getmembers(LightningStoreClient, inspect.iscoroutinefunction)
        if not name.startswith("_") and name != "close"
    )


async def spans_of(url: str, rollout_id: str) -> List[Span]:
    client = LightningStoreClient(url)
    try:
        return list((await client.query_spans(rollout_id, "latest")).items)
    finally:
        await client.close()


async def triplets(url: str, rollout_id: str, options: Dict[str, Any]) -> Any:
    return plain(TracerTraceToTriplet(**options).adapt(await spans_of(url, rollout_id)))


async def messages(url: str, rollout_id: str) -> Any:
    return plain(TraceToMessages().adapt(await spans_of(url, rollout_id)))


async def tree(url: str, rollout_id: str) -> Any:
    """Names of the trace's spans as nested lists, after the package's repair of the hierarchy."""
    root = TraceTree.from_spans(await spans_of(url, rollout_id))
    root.repair_hierarchy()
    return plain(root.names_tuple())


async def rewards(url: str, rollout_id: str) -> Any:
    """Each reward span's dimensions, and what the package takes for the final reward."""
    spans = await spans_of(url, rollout_id)
    each = [found for span in spans if (found := get_rewards_from_span(span))]
    return {"each": plain(each), "final": find_final_reward(spans)}


# The package's tracer sets OpenTelemetry's global provider, which can be set once a process.
tracer = OtelTracer()


async def run_agent(url: str, agent: str, steps: int, worker_id: int = 0) -> None:
    """Lets the package's runner take `steps` tasks from the queue."""
    store = LightningStoreClient(url)
    runner: LitAgentRunner[Any] = LitAgentRunner(
        tracer, max_rollouts=steps, poll_interval=0.05, interval_jitter=0.0, heartbeat_interval=0.2
    )
    runner.init(AGENTS[agent]())
    runner.init_worker(worker_id, store)
    try:
        await runner.iter()
    finally:
        runner.teardown_worker(worker_id)
        await store.close()


OPERATIONS: Dict[str, Callable[..., Awaitable[Any]]] = {
    operation.__name__: operation
    for operation in (
        serve_store,
        stop_store,
        client_call,
        client_methods,
        triplets,
        messages,
        tree,
        rewards,
        run_agent,
    )
}


async def handle(request: web.Request) -> web.Response:
    body = await request.json()
    try:
        result = await OPERATIONS[body["operation"]](**body["arguments"])
    except Exception as error:  # The test decides what an error means.
        traceback.print_exc()
        return web.json_response({"error": {"type": type(error).__name__, "message": str(error)}})
    return web.json_response({"result": result})


async def main() -> None:
    agl.setup_logging("WARNING")
    logging.getLogger("asyncio").setLevel(logging.ERROR)
    app = web.Application(client_max_size=2**28)
    app.router.add_post("/", handle)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", free_port())
    await site.start()
    ended = asyncio.Event()
    loop = asyncio.get_running_loop()

    def watch_parent() -> None:
        sys.stdin.buffer.read()
        loop.call_soon_threadsafe(ended.set)

    threading.Thread(target=watch_parent, daemon=True).start()
    print(json.dumps({"url": site.name}), flush=True)
    await ended.wait()
    for url in list(servers):
        await stop_store(url)
    await runner.cleanup()


asyncio.run(main())
