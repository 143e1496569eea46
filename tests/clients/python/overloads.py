"""The table of overloads: each agent, directly and through the gateway.

    tests/clients/run overloads [AGENT…]

Three failures, then a response. Prints the outcome, and the seconds from the first request
to the one that succeeded, of each way: directly, through a gateway to the same upstream, and
to one of another dialect. Fails if an agent that recovers directly does not recover through
the gateway, or takes more than a second longer. The agents retry with random delays, so the
better of two runs counts.
"""

import os
import sys
import tempfile
import uuid
from pathlib import Path
from subprocess import TimeoutExpired

from agents import AGENTS, Agent
from command_line import Desk
from conftest import asked_upstream, gateway_of

FAILURES = ["529", "429 after 2", "503", "reset"]
# Another dialect for each agent.
FOREIGN = {
    "claude": "responses",
    "codex": "messages",
    "gemini": "chat",
    "opencode": "gemini",
    "qwen": "ollama",
    "pi": "chat",
    "aider": "responses",
    "llm": "messages",
}
MARGIN = 1.0

Run = tuple[bool, float]


def measure(agent: Agent, base: str, failure: str) -> Run:
    """Whether the agent recovered, and in how many seconds."""
    with tempfile.TemporaryDirectory() as folder:
        desk, word = Desk(Path(folder), b""), uuid.uuid4().hex
        prompt = f"stumble 3 times with {failure} as {word}"
        try:
            ran = agent.ask(desk, base, os.environ["MAJORDOMO_KEY"], prompt)
            recovered = ran.code == 0 and "done." in ran.out
        except TimeoutExpired:
            recovered = False
        times = [request["at"] for request in asked_upstream(word)]
        return recovered, times[-1] - times[0] if times else 0.0


def is_worse(direct: Run, through: Run) -> bool:
    return direct[0] and (not through[0] or through[1] > direct[1] + MARGIN)


def compare(agent: Agent, failure: str) -> tuple[list[Run], bool]:
    """The runs of each way, and whether one through the gateway was worse."""
    bases = [
        f"{os.environ['UPSTREAM']}/{agent.dialect}",
        gateway_of(agent.dialect),
        gateway_of(FOREIGN[agent.name]),
    ]
    runs = [measure(agent, base, failure) for base in bases]
    for way in (1, 2):
        if is_worse(runs[0], runs[way]):
            again = measure(agent, bases[way], failure)
            runs[way] = min(runs[way], again, key=lambda run: (not run[0], run[1]))
    return runs, any(is_worse(runs[0], run) for run in runs[1:])


def shown(run: Run) -> str:
    recovered, seconds = run
    return f"{'recovers' if recovered else 'fails'}, {seconds:.1f} s"


def main() -> int:
    wanted = sys.argv[1:] or [agent.name for agent in AGENTS]
    worse = 0
    print("| agent | failure | directly | gateway | gateway, translated | |", flush=True)
    print("|---|---|---|---|---|---|", flush=True)
    for agent in (agent for agent in AGENTS if agent.name in wanted):
        for failure in FAILURES:
            runs, lost = compare(agent, failure)
            worse += lost
            cells = " | ".join(shown(run) for run in runs)
            row = f"| {agent.name} | {failure} | {cells} | {'worse' if lost else ''} |"
            print(row, flush=True)
    return 1 if worse else 0


sys.exit(main())
