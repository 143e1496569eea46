"""Claude Code, with a base URL and a key."""

import json

import pytest
from command_line import NOTE, Desk, Ran
from conftest import GATEWAY, KEY, asked_upstream
from script import REFUSED, TEXT

OTHERS = ["chat", "responses", "gemini", "ollama"]


def claude(desk: Desk, prompt: str, *arguments: str) -> Ran:
    return desk.run(
        "@anthropic-ai/claude-code/cli-wrapper.cjs",
        "--print",
        "--allowedTools=Read",
        *arguments,
        prompt,
        ANTHROPIC_BASE_URL=GATEWAY,
        ANTHROPIC_API_KEY=KEY,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


def test_its_own_model_name_is_found_in_a_providers_list(desk, word):
    ran = claude(desk, f"hello {word}")
    assert (ran.code, ran.out.strip()) == (0, TEXT), ran.all
    asked = asked_upstream(word)[-1]
    assert (asked["dialect"], asked["body"]["model"]) == ("messages", "claude-opus-5-5")


def test_it_gets_a_text(desk):
    ran = claude(desk, "hello", "--model=via-ollama")
    assert (ran.code, ran.out.strip()) == (0, TEXT), ran.all


@pytest.mark.parametrize("upstream", OTHERS)
def test_it_reads_a_file(desk, upstream):
    call = json.dumps({"file_path": str(desk.note)})
    ran = claude(desk, f"call Read with {call}", f"--model=via-{upstream}")
    assert ran.code == 0, ran.all
    assert ran.out.startswith("The tool said: ") and NOTE in ran.out


@pytest.mark.parametrize("upstream", OTHERS)
def test_it_reads_an_image(desk, png, upstream):
    call = json.dumps({"file_path": str(desk.picture)})
    ran = claude(desk, f"call Read with {call}", f"--model=via-{upstream}")
    assert ran.code == 0, ran.all
    assert f"I see image/png, {len(png)} bytes." in ran.out


def test_its_own_login_reaches_its_vendor_and_nothing_else_does(desk, word):
    login = "sk-ant-oat01-canary-" + word
    ran = desk.run(
        "@anthropic-ai/claude-code/cli-wrapper.cjs",
        "--print",
        "--model=via-subscription",
        f"hello {word}",
        ANTHROPIC_BASE_URL=GATEWAY,
        ANTHROPIC_CUSTOM_HEADERS=f"x-majordomo-key: {KEY}",
        CLAUDE_CODE_OAUTH_TOKEN=login,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )
    assert (ran.code, ran.out.strip()) == (0, TEXT), ran.all
    asked = asked_upstream(word)[-1]
    assert asked["dialect"] == "messages"
    assert asked["headers"]["authorization"] == f"Bearer {login}"
    assert "oauth" in asked["headers"]["anthropic-beta"]
    assert "x-api-key" not in asked["headers"] and "x-majordomo-key" not in asked["headers"]
    assert KEY not in json.dumps(asked["headers"])


def test_it_shows_an_error(desk):
    ran = claude(desk, "fail with 400", "--model=via-responses")
    assert ran.code != 0
    assert REFUSED in ran.all and "responses/scripted" in ran.all
