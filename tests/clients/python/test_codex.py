"""Codex, with the gateway as a model provider in its configuration."""

import json

import pytest
from command_line import NOTE, Desk, Ran
from conftest import GATEWAY, KEY
from script import REFUSED, TEXT

OTHERS = ["chat", "messages", "gemini", "ollama"]
CONFIG = f"""
model_provider = "majordomo"
check_for_update_on_startup = false

[model_providers.majordomo]
name = "majordomo"
base_url = "{GATEWAY}/v1"
env_key = "MAJORDOMO_KEY"
wire_api = "responses"

[analytics]
enabled = false
"""


def codex(desk: Desk, config: str, model: str, prompt: str, *arguments: str) -> Ran:
    """Runs Codex once with this configuration."""
    desk.setting(".codex/config.toml", config)
    return desk.run(
        "@openai/codex/bin/codex.js",
        "exec",
        "--skip-git-repo-check",
        # Its sandbox is not under test, and not available on every machine.
        "--sandbox=danger-full-access",
        f"--model={model}",
        *arguments,
        "--",
        prompt,
        MAJORDOMO_KEY=KEY,
    )


def via(desk: Desk, upstream: str, prompt: str, *arguments: str) -> Ran:
    return codex(desk, CONFIG, f"via-{upstream}", prompt, *arguments)


def test_it_gets_a_text(desk):
    ran = via(desk, "ollama", "hello")
    assert (ran.code, ran.out.strip()) == (0, TEXT), ran.all


@pytest.mark.parametrize("upstream", OTHERS)
def test_it_runs_a_command(desk, upstream):
    call = json.dumps({"cmd": "cat note.txt"})
    ran = via(desk, upstream, f"call exec_command with {call}")
    assert ran.code == 0, ran.all
    assert ran.out.startswith("The tool said: ") and NOTE in ran.out


@pytest.mark.parametrize("upstream", OTHERS)
def test_it_shows_an_image(desk, png, upstream):
    ran = via(desk, upstream, "look", f"--image={desk.picture}")
    assert ran.code == 0, ran.all
    assert f"I see image/png, {len(png)} bytes." in ran.out


def test_it_shows_an_error(desk):
    ran = via(desk, "messages", "fail with 400")
    assert ran.code != 0
    assert REFUSED in ran.all and "messages/scripted" in ran.all
