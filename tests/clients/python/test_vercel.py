"""Vercel's AI SDK, whose default API refers to earlier turns by their ids.

Run by `tests/clients/run agents`.
"""

import shutil
from pathlib import Path

import pytest
from agents import MODULES, NODE
from command_line import Desk, Ran
from conftest import KEY, UPSTREAMS, asked_upstream, gateway_of
from script import TEXT

# It refers to every turn of a model that does not think.
MODEL = "gpt-4.1"
PROGRAM = Path(__file__).parent.parent / "agents" / "vercel.mjs"


def two_turns(desk: Desk, upstream: str, word: str, *store: str) -> Ran:
    # Node.js resolves packages next to the program.
    (desk.work / "node_modules").symlink_to(MODULES)
    program = shutil.copy(PROGRAM, desk.work)
    return desk.launch(
        [NODE, program, MODEL, f"hello {word}", f"recall {word}", *store],
        OPENAI_BASE_URL=f"{gateway_of(upstream)}/v1",
        OPENAI_API_KEY=KEY,
    )


@pytest.mark.parametrize("upstream", [it for it in UPSTREAMS if it != "responses"])
def test_a_turn_that_only_openai_can_resolve_is_refused_with_a_remedy(desk, word, upstream):
    ran = two_turns(desk, upstream, word)
    assert ran.code == 1, ran.all
    assert "400: " in ran.all and "`item_reference`" in ran.all and "`store: false`" in ran.all
    assert len(asked_upstream(word)) == 1, "the second turn reaches no target"


def test_its_own_dialect_gets_the_reference(desk, word):
    ran = two_turns(desk, "responses", word)
    assert ran.code == 0, ran.all
    first, second = asked_upstream(word)
    assert not [item for item in first["body"]["input"] if item.get("type") == "item_reference"]
    assert [item for item in second["body"]["input"] if item.get("type") == "item_reference"]


@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_without_storing_it_keeps_its_turns(desk, word, upstream):
    ran = two_turns(desk, upstream, word, "false")
    assert ran.code == 0, ran.all
    assert ran.out.startswith(f"I said: {TEXT}"), ran.out
