"""Gemini CLI, with a base URL and a key."""

import json

import pytest
from command_line import NOTE, Desk, Ran
from conftest import GATEWAY, KEY
from script import REFUSED, TEXT

OTHERS = ["chat", "responses", "messages", "ollama"]
# With a base URL, API-key authentication must be selected explicitly.
SETTINGS = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
}


def gemini(desk: Desk, upstream: str, prompt: str) -> Ran:
    desk.setting(".gemini/settings.json", json.dumps(SETTINGS))
    return desk.run(
        "@google/gemini-cli/bundle/gemini.js",
        "--skip-trust",
        f"--model=via-{upstream}",
        f"--prompt={prompt}",
        GOOGLE_GEMINI_BASE_URL=GATEWAY,
        GEMINI_API_KEY=KEY,
    )


def test_it_gets_a_text(desk):
    ran = gemini(desk, "ollama", "hello")
    assert (ran.code, ran.out.strip()) == (0, TEXT), ran.all


@pytest.mark.parametrize("upstream", OTHERS)
def test_it_reads_a_file(desk, upstream):
    call = json.dumps({"file_path": "note.txt"})
    ran = gemini(desk, upstream, f"call read_file with {call}")
    assert ran.code == 0, ran.all
    assert ran.out.startswith("The tool said: ") and NOTE in ran.out


@pytest.mark.parametrize("upstream", OTHERS)
def test_it_shows_an_image(desk, png, upstream):
    ran = gemini(desk, upstream, "look at @picture.png")
    assert ran.code == 0, ran.all
    assert f"I see image/png, {len(png)} bytes." in ran.out


def test_it_shows_an_error(desk):
    ran = gemini(desk, "messages", "fail with 400")
    assert ran.code != 0
    assert REFUSED in ran.all and "messages/scripted" in ran.all
