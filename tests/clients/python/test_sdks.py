"""Every SDK through the gateway to an upstream of every dialect."""

import json

import pytest
from conftest import UPSTREAMS, asked_upstream
from script import INPUT_TOKENS, OUTPUT_TOKENS, REFUSED, TEXT
from sdk import WEATHER, Sdk
from sdk_anthropic import Messages
from sdk_google import Gemini
from sdk_ollama import Ollama
from sdk_openai import Chat, Responses

SDKS = [Chat, Responses, Messages, Gemini, Ollama]
PARIS = {"city": 'Zoë\'s "Paris"', "days": 3}

streamed = pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])


@pytest.fixture(scope="module", params=SDKS, ids=lambda sdk: sdk.__name__.lower())
def sdk(request) -> Sdk:
    return request.param()


@pytest.fixture(params=UPSTREAMS, ids=lambda upstream: f"via-{upstream}")
def upstream(request) -> str:
    return request.param


@streamed
def test_a_text_arrives_with_its_usage(sdk, upstream, stream, word):
    said = sdk.say(f"via-{upstream}", f"hello {word}", None, stream)
    assert said.text == TEXT
    assert said.usage == (INPUT_TOKENS, OUTPUT_TOKENS)
    assert (len(said.pieces) > 1) == stream
    [asked] = asked_upstream(word)
    assert asked["dialect"] == upstream


@streamed
def test_a_tool_is_called_and_its_result_is_heard(sdk, upstream, stream):
    prompt = f"call {WEATHER} with {json.dumps(PARIS, ensure_ascii=False)}"
    used = sdk.use(f"via-{upstream}", prompt, "sunny, 21 °C", stream)
    assert (used.name, used.arguments) == (WEATHER, PARIS)
    assert used.text == "The tool said: sunny, 21 °C"


@streamed
def test_an_image_arrives_as_it_was(sdk, upstream, stream, png):
    said = sdk.say(f"via-{upstream}", "look", png, stream)
    assert said.text.removeprefix(TEXT) == f"\nI see image/png, {len(png)} bytes."


@streamed
def test_an_error_names_the_target_and_the_cause(sdk, upstream, stream):
    with pytest.raises(sdk.error) as raised:
        sdk.say(f"via-{upstream}", "fail with 400", None, stream)
    assert sdk.status(raised.value) == 400
    assert REFUSED in str(raised.value)
    assert f"{upstream}/scripted" in str(raised.value)


def test_a_cut_stream_is_an_error_and_no_answer(sdk, upstream):
    # A separate model, because a failing target is benched.
    model = f"{upstream}/breaks-for-{sdk.dialect}"
    with pytest.raises(sdk.broken):
        sdk.say(model, "break off", None, True)


def test_a_throttled_upstream_is_a_429_that_an_sdk_may_repeat(sdk, upstream, word):
    model = f"{upstream}/throttled-for-{sdk.dialect}"
    with pytest.raises(sdk.error) as raised:
        sdk.say(model, f"fail with 429 {word}", None, False)
    assert sdk.status(raised.value) == 429
    # The gateway tries again once. An SDK that repeats does so twice; then the benched target
    # is called once each time, and has one retry to spare (ADR 0067).
    assert len(asked_upstream(word)) <= 5
