"""The table of overloads: each agent, directly and through the gateway.

    tests/clients/run overloads [AGENT…]

Three failures, then a response. Prints time and outcome of each, and fails if an agent
that recovers directly does not recover through the gateway, or takes more than a second
longer. The agents retry with random delays, so the better of two runs counts.
"""

import os
import sys
import tempfile
import time
import uuid
from pathlib import Path

from agents import AGENTS, Agent
from command_line import Desk

FAILURES = ["529", "429 after 2", "503", "reset"]
RUNS = 2
MARGIN = 1.0


def measure(agent: Agent, base: str, failure: str) -> tuple[bool, float]:
    """Whether the agent recovered, and in how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        desk = Desk(Path(folder), b"")
        prompt = f"stumble 3 times with {failure} as {uuid.uuid4().hex}"
        began = time.monotonic()
        try:
            ran = agent.ask(desk, base, os.environ["MAJORDOMO_KEY"], prompt)
            recovered = ran.code == 0 and "done." in ran.out
        except Exception:  # it took too long
            recovered = False
        return recovered, time.monotonic() - began


def best(agent: Agent, base: str, failure: str) -> tuple[bool, float]:
    runs = [measure(agent, base, failure) for _ in range(RUNS)]
    return min(runs, key=lambda run: (not run[0], run[1]))


def shown(run: tuple[bool, float]) -> str:
    recovered, seconds = run
    return f"{'recovers' if recovered else 'fails'}, {seconds:.1f} s"


def main() -> int:
    wanted = sys.argv[1:] or [agent.name for agent in AGENTS]
    worse = 0
    print("| agent | failure | directly | through the gateway | |\n|---|---|---|---|---|", flush=True)
    for agent in (agent for agent in AGENTS if agent.name in wanted):
        for failure in FAILURES:
            direct = best(agent, f"{os.environ['UPSTREAM']}/{agent.dialect}", failure)
            through = best(agent, os.environ[f"MAJORDOMO_URL_{agent.dialect.upper()}"], failure)
            lost = direct[0] and not through[0]
            slower = direct[0] and through[1] > direct[1] + MARGIN
            worse += lost or slower
            verdict = "worse" if lost or slower else ""
            row = f"| {agent.name} | {failure} | {shown(direct)} | {shown(through)} | {verdict} |"
            print(row, flush=True)
    return 1 if worse else 0


sys.exit(main())
