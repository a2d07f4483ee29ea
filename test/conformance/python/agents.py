"""Agents that the Python runner executes. Each takes its task from the rollout's input."""

from __future__ import annotations

import asyncio
from typing import Any, Dict

import agentlightning as agl


class ScalarAgent(agl.LitAgent[Dict[str, Any]]):
    """Returns a number, which the runner stores as the reward."""

    def training_rollout(self, task: Dict[str, Any], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
        return float(task["a"]) * float(task["b"])

    def validation_rollout(self, task: Dict[str, Any], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
        return -1.0


class EmittingAgent(agl.LitAgent[Dict[str, Any]]):
    """Emits rewards, a message, an object and an operation while it runs, and returns nothing."""

    def rollout(self, task: Dict[str, Any], resources: agl.NamedResources, rollout: agl.Rollout) -> None:
        agl.emit_message("thinking about " + task["topic"])
        agl.emit_object({"topic": task["topic"], "scores": [1, 2, 3]})

        @agl.operation
        def grade(topic: str) -> Dict[str, Any]:
            return {"topic": topic, "points": 3}

        grade(task["topic"])
        agl.emit_reward(0.25)
        agl.emit_reward({"correct": task["correct"], "short": True}, primary_key="correct")
        return None


class AsyncEmittingAgent(agl.LitAgent[Dict[str, Any]]):
    """The same from a coroutine, with a tag and a link on the reward."""

    async def rollout_async(self, task: Dict[str, Any], resources: agl.NamedResources, rollout: agl.Rollout) -> None:
        from agentlightning.utils.otel import make_link_attributes, make_tag_attributes

        attributes = {
            **make_tag_attributes(["fast", "sure"]),
            **make_link_attributes({"gen_ai.response.id": "chatcmpl-1"}),
        }
        agl.emit_reward(task["value"], attributes=attributes)


class FlakyAgent(agl.LitAgent[Dict[str, Any]]):
    """Fails as many times as the task says, then succeeds."""

    def __init__(self) -> None:
        super().__init__()
        self.tries: Dict[str, int] = {}

    def rollout(self, task: Dict[str, Any], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
        tries = self.tries[rollout.rollout_id] = self.tries.get(rollout.rollout_id, 0) + 1
        if tries <= task["failures"]:
            raise RuntimeError(f"try {tries} fails")
        return float(tries)


class PatientAgent(agl.LitAgent[Dict[str, Any]]):
    """Works until the store has heard of its worker: a shorter run may end before the first heartbeat is sent."""

    async def rollout_async(self, task: Dict[str, Any], resources: agl.NamedResources, rollout: agl.Rollout) -> float:
        runner = self.get_runner()
        while True:
            worker = await runner.get_store().get_worker_by_id(runner.get_worker_id())
            if worker is not None and worker.last_heartbeat_time is not None:
                return 1.0
            await asyncio.sleep(0.05)


@agl.rollout
def decorated(task: Dict[str, Any], prompt_template: agl.PromptTemplate) -> float:
    """A plain function under the decorator; it gets the prompt from the resources."""
    return float(len(prompt_template.format(**task)))


AGENTS = {
    "scalar": ScalarAgent,
    "emitting": EmittingAgent,
    "async": AsyncEmittingAgent,
    "flaky": FlakyAgent,
    "patient": PatientAgent,
    "decorated": lambda: decorated,
}
