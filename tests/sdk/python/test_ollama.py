"""Ollama's own API, tested with the ollama SDK."""

import json

import ollama
import pytest
from conftest import OSLO, PARIS, TEXT, TIMEOUT, WEATHER_SCHEMA, City

HELLO = [{"role": "user", "content": "Hello"}]
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER_SCHEMA}},
    {"type": "function", "function": {"name": "read_clock"}},
]
CALLS = [("get_weather", PARIS), ("get_weather", OSLO), ("read_clock", {})]


@pytest.fixture(scope="module")
def client(server):
    return ollama.Client(host=server, timeout=TIMEOUT)


def heard(client, **request) -> list[str]:
    return client.chat(model="heard", **request).message.content.split("\n")


def assert_end(answer, reason="stop"):
    assert (answer.done, answer.done_reason) == (True, reason)
    assert (answer.prompt_eval_count, answer.eval_count) == (120, 45)


def test_a_text_arrives_with_its_usage_and_its_reason(client):
    answer = client.chat(model="text", messages=HELLO)
    assert answer.model == "text"
    assert answer.created_at == "2023-11-14T22:13:20Z"
    assert (answer.message.role, answer.message.content) == ("assistant", TEXT)
    assert_end(answer)


def test_a_streamed_text_arrives_in_pieces(client):
    *parts, last = client.chat(model="text", messages=HELLO, stream=True)
    assert len(parts) > 3
    assert not any(part.done for part in parts)
    assert "".join(part.message.content for part in [*parts, last]) == TEXT
    assert_end(last)


def test_a_generated_text_arrives(client):
    answer = client.generate(model="text", prompt="Hello")
    assert answer.response == TEXT
    assert_end(answer)
    *parts, last = client.generate(model="text", prompt="Hello", stream=True)
    assert "".join(part.response for part in [*parts, last]) == TEXT
    assert_end(last)


def test_parallel_tool_calls_arrive_whole(client):
    answer = client.chat(model="tools", messages=HELLO, tools=TOOLS)
    assert answer.message.content == "Let me look."
    calls = [(call.function.name, call.function.arguments) for call in answer.message.tool_calls]
    assert calls == CALLS
    assert_end(answer)


def test_parallel_tool_calls_arrive_streamed(client):
    parts = list(client.chat(model="tools", messages=HELLO, tools=TOOLS, stream=True))
    assert "".join(part.message.content for part in parts) == "Let me look."
    calls = [call.function for part in parts for call in part.message.tool_calls or []]
    assert [(call.name, call.arguments) for call in calls] == CALLS
    assert_end(parts[-1])


def test_tool_calls_and_their_results_are_received(client, png):
    """The SDK drops call ids: results are matched by name and order."""
    answer = client.chat(model="tools", messages=HELLO, tools=TOOLS)
    results = [
        {"role": "tool", "tool_name": "get_weather", "content": "sunny"},
        {"role": "tool", "tool_name": "get_weather", "content": "see", "images": [png]},
        {"role": "tool", "tool_name": "read_clock", "content": "noon"},
    ]
    lines = heard(client, messages=[*HELLO, answer.message, *results], tools=TOOLS)
    lines = [line for line in lines if not line.startswith("assistant state ")]
    assert lines[:2] == ["user text Hello", "assistant text Let me look."]
    called = [line.removeprefix("assistant call ").split(" ", 2) for line in lines[2:5]]
    assert [(name, json.loads(arguments)) for _, name, arguments in called] == CALLS
    paris, oslo, clock = [id for id, _, _ in called]
    assert len({paris, oslo, clock}) == 3
    assert lines[5:9] == [
        f"tool result {paris} text sunny",
        f"tool result {oslo} text see",
        f"tool result {oslo} image image/png {len(png)} bytes",
        f"tool result {clock} text noon",
    ]
    name, offered = lines[9].removeprefix("offers ").split(" ", 1)
    assert (name, json.loads(offered)) == ("get_weather", WEATHER_SCHEMA)


def test_an_image_arrives(client, png):
    message = {"role": "user", "content": "What is this?", "images": [png]}
    lines = heard(client, messages=[message])
    assert lines == ["user text What is this?", f"user image image/png {len(png)} bytes"]
    answer = client.generate(model="heard", prompt="What is this?", images=[png])
    assert answer.response.split("\n") == lines


def test_instructions_and_settings_are_received(client):
    lines = heard(
        client,
        messages=[{"role": "system", "content": "Be terse."}, *HELLO],
        options={"num_predict": 200, "temperature": 0.5, "stop": ["END"]},
        think="low",
    )
    assert lines == [
        "system text Be terse.",
        "user text Hello",
        "at most 200 tokens",
        "temperature 0.5",
        "effort Low",
        "stops at END",
    ]


def test_structured_output_is_parsed(client):
    answer = client.chat(model="structured", messages=HELLO, format=City.model_json_schema())
    city = City.model_validate_json(answer.message.content)
    assert city == City(city="Paris", population=2102650)


def test_reasoning_arrives_and_comes_back(client):
    answer = client.chat(model="reasoning", messages=HELLO, think=True)
    assert (answer.message.thinking, answer.message.content) == ("Six times seven.", "42")
    lines = heard(client, messages=[*HELLO, answer.message, *HELLO])
    lines = [line for line in lines if not line.startswith("assistant state ")]
    assert lines[1:3] == ["assistant reasoning Six times seven.", "assistant text 42"]


def test_reasoning_arrives_streamed(client):
    parts = list(client.chat(model="reasoning", messages=HELLO, think=True, stream=True))
    assert "".join(part.message.thinking or "" for part in parts) == "Six times seven."
    assert "".join(part.message.content for part in parts) == "42"


def test_a_call_after_reasoning_arrives(client):
    answer = client.chat(model="reasoning-tools", messages=HELLO, tools=TOOLS)
    parts = list(client.chat(model="reasoning-tools", messages=HELLO, tools=TOOLS, stream=True))
    streamed = [call for part in parts for call in part.message.tool_calls or []]
    for [call] in (answer.message.tool_calls, streamed):
        assert (call.function.name, call.function.arguments) == ("get_weather", PARIS)
    assert answer.message.thinking == "Six times seven."


def test_a_response_may_be_empty(client):
    answer = client.chat(model="silence", messages=HELLO)
    assert answer.message.content == ""
    assert_end(answer)
    [last] = client.chat(model="silence", messages=HELLO, stream=True)
    assert_end(last)


def test_a_refusal_is_text(client):
    answer = client.chat(model="refusal", messages=HELLO)
    assert answer.message.content == "I would rather not."


def test_a_truncated_response_says_so(client):
    assert_end(client.chat(model="cut-short", messages=HELLO), "length")
    *_, last = client.chat(model="cut-short", messages=HELLO, stream=True)
    assert_end(last, "length")


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("status", [400, 401, 403, 404, 409, 422, 429, 500, 503])
def test_an_error_before_the_answer_has_its_status(client, status, stream):
    with pytest.raises(ollama.ResponseError) as raised:
        answer = client.chat(model=f"error-{status}", messages=HELLO, stream=stream)
        list(answer)
    assert raised.value.status_code == status
    assert f"this is what {status} looks like" in raised.value.error


def test_an_error_in_the_middle_of_a_stream_raises(client):
    texts = []
    with pytest.raises(ollama.ResponseError, match="the model fell over"):
        for part in client.chat(model="breaks", messages=HELLO, stream=True):
            texts.append(part.message.content)
    assert "".join(texts) == TEXT


def test_models_are_listed(client):
    models = client.list().models
    assert "text" in [model.model for model in models]
    assert models[0].modified_at.year == 2023


def test_a_model_is_shown(client):
    shown = client.show("text")
    assert "completion" in shown.capabilities
    assert shown.modelinfo is not None
