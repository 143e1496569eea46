"""Every command-line agent with its default model and settings, over every dialect.

Run by `tests/clients/run agents`. Ends with a table of the conversations.
"""

import os
import re
import subprocess
import time
from fnmatch import fnmatchcase
from pathlib import Path

import pytest
from agents import AGENTS, Agent
from command_line import NOTE
from conftest import KEY, UPSTREAMS, asked_upstream, gateway_of

PAIRS = [
    pytest.param(agent, upstream, id=f"{agent.name}-{upstream}")
    for agent in AGENTS
    for upstream in UPSTREAMS
]


GUIDE = Path(__file__).parents[3] / "docs" / "guide"


def pairs(*names: str) -> list:
    """These agents over all dialects."""
    return [pair for pair in PAIRS if pair.values[0].name in names]


@pytest.fixture(scope="module")
def table(request):
    """The outcome of each conversation: two turns, the tool that was called."""
    rows: dict[str, dict[str, str]] = {}
    yield rows
    lines = ["", "| agent | " + " | ".join(UPSTREAMS) + " |", "|---|" + "---|" * len(UPSTREAMS)]
    for name, cells in rows.items():
        lines.append(f"| {name} | " + " | ".join(cells.get(it, "") for it in UPSTREAMS) + " |")
    plugins = request.config.pluginmanager
    with plugins.getplugin("capturemanager").global_and_fixture_disabled():
        for line in lines:
            plugins.getplugin("terminalreporter").write_line(line)


def ask(agent: Agent, desk, upstream: str, prompt: str, again=False, more=()) -> str:
    ran = agent.ask(desk, gateway_of(upstream), KEY, prompt, again=again, more=more)
    assert ran.code == 0, ran.all[-3000:]
    return ran.out


@pytest.mark.parametrize("agent, upstream", PAIRS)
def test_two_turns_with_a_tool(desk, word, table, agent, upstream):
    row = table.setdefault(agent.name, {})
    row[upstream] = "turn 1 failed"
    tool = agent.tool(desk) if agent.tool else "hello"
    first = ask(agent, desk, upstream, f"{tool} {word}")
    if agent.tool:
        assert "The tool said: " in first, first
    if agent.tool and agent.name != "llm":
        assert NOTE in first, first
    row[upstream] = "turn 2 failed"
    second = ask(agent, desk, upstream, f"recall {word}", again=True)
    asked = asked_upstream(word)
    assert all(request["dialect"] == upstream for request in asked)
    # The second turn has the first one, and the model's answer to it.
    assert "I said: " in second, second
    assert "I said: nothing" not in second, second
    row[upstream] = f"2 turns, {'1 tool' if agent.tool else 'no tools'}, {len(asked)} requests"


@pytest.mark.parametrize("agent, upstream", [pair for pair in PAIRS if pair.values[0].image])
def test_an_image(desk, png, agent, upstream):
    prompt, more = agent.image(desk)
    output = ask(agent, desk, upstream, prompt, more=more)
    assert f"I see image/png, {len(png)} bytes." in output, output


@pytest.mark.parametrize("agent, upstream", pairs("claude", "codex"))
def test_a_conversation_that_is_too_long_is_compacted(desk, word, agent, upstream):
    ask(agent, desk, upstream, f"hello {word}")
    overlong = f"outgrow once as {word}"
    ran = agent.ask(desk, gateway_of(upstream), KEY, overlong, again=True)
    if agent.name == "codex":
        # Codex reports it, and compacts before its next turn.
        assert "context window" in ran.all, ran.all[-3000:]
        ask(agent, desk, upstream, "hello again", again=True)
    else:
        assert ran.code == 0, ran.all[-3000:]
    # The request for a summary.
    prompts = [str(request["body"]).lower() for request in asked_upstream(word)]
    assert any("summar" in prompt[-8000:] or "handoff" in prompt for prompt in prompts)


@pytest.mark.parametrize("agent, upstream", pairs("claude", "codex", "pi"))
def test_the_gateway_serves_on_after_a_killed_client(desk, word, agent, upstream):
    # A sole target waits for the provider's pause; the client is killed meanwhile.
    desk.timeout = 4.0
    with pytest.raises(subprocess.TimeoutExpired):
        prompt = f"stumble 9 times with 429 after 5 as {word}"
        agent.ask(desk, gateway_of(upstream), KEY, prompt)
    desk.timeout = None
    began = time.monotonic()
    # The pause that the provider demanded holds for everyone.
    assert "done." in ask(agent, desk, upstream, "hello")
    assert time.monotonic() - began < 60


@pytest.mark.parametrize(
    "name, page",
    [
        ("claude", "claude-code.md"),
        ("codex", "codex.md"),
        ("gemini", "gemini-cli.md"),
        ("qwen", "qwen-code.md"),
    ],
)
def test_the_guides_route_serves_every_default_model(desk, name, page):
    [agent] = [agent for agent in AGENTS if agent.name == name]
    log = Path(os.environ["MAJORDOMO_LOG_CHAT"])
    before = len(log.read_text())
    ask(agent, desk, "chat", "hello")
    requested = re.findall(r' model="([^"]+)"', log.read_text()[before:])
    assert requested
    routes = re.findall(r'\[\[routes\]\]\nmodel = "([^"]+)"', (GUIDE / page).read_text())
    for model in requested:
        assert any(fnmatchcase(model, route) for route in routes), f"{model} is none of {routes}"
