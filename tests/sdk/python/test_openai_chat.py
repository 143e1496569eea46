"""Chat Completions, tested with the openai SDK."""

import base64
import json

import openai
import pytest
from conftest import OSLO, PARIS, TEXT, WEATHER_SCHEMA, City
from openai_sdk import ERRORS, connect

HELLO = [{"role": "user", "content": "Hello"}]
TOOLS = [
    {"type": "function", "function": {"name": "get_weather", "parameters": WEATHER_SCHEMA}},
    {"type": "function", "function": {"name": "read_clock"}},
]


@pytest.fixture(scope="module")
def client(server):
    with connect(server) as client:
        yield client


def heard(client, **request) -> list[str]:
    answer = client.chat.completions.create(model="heard", **request)
    return answer.choices[0].message.content.split("\n")


def assert_usage(usage):
    assert (usage.prompt_tokens, usage.completion_tokens, usage.total_tokens) == (120, 45, 165)
    assert usage.prompt_tokens_details.cached_tokens == 80
    assert usage.completion_tokens_details.reasoning_tokens == 12


def assert_calls(calls):
    assert [(call.id, call.function.name) for call in calls] == [
        ("call_paris", "get_weather"),
        ("call_oslo", "get_weather"),
        ("call_clock", "read_clock"),
    ]
    assert [call.type for call in calls] == ["function"] * 3
    assert [json.loads(call.function.arguments) for call in calls] == [PARIS, OSLO, {}]


def test_a_text_arrives_with_its_usage_and_its_reason(client):
    answer = client.chat.completions.create(model="text", messages=HELLO)
    assert answer.id == "answer_1"
    assert answer.model == "text"
    assert answer.created == 1_700_000_000
    [choice] = answer.choices
    assert choice.message.role == "assistant"
    assert choice.message.content == TEXT
    assert choice.message.tool_calls is None
    assert choice.finish_reason == "stop"
    assert_usage(answer.usage)


def test_a_streamed_text_arrives_in_pieces(client):
    stream = client.chat.completions.create(model="text", messages=HELLO, stream=True)
    chunks = list(stream)
    assert {(chunk.id, chunk.model) for chunk in chunks} == {("answer_1", "text")}
    deltas = [chunk.choices[0].delta for chunk in chunks]
    assert [delta.role for delta in deltas if delta.role] == ["assistant"]
    texts = [delta.content for delta in deltas if delta.content]
    assert len(texts) > 3
    assert "".join(texts) == TEXT
    reasons = [chunk.choices[0].finish_reason for chunk in chunks]
    assert [reason for reason in reasons if reason] == ["stop"]
    assert all(chunk.usage is None for chunk in chunks), "usage that nobody asked for"


def test_a_stream_tells_its_usage_when_asked(client):
    stream = client.chat.completions.create(
        model="text", messages=HELLO, stream=True, stream_options={"include_usage": True}
    )
    *chunks, last = list(stream)
    assert all(chunk.usage is None for chunk in chunks)
    assert last.choices == []
    assert_usage(last.usage)


def test_the_streaming_helper_rebuilds_the_response(client):
    with client.chat.completions.stream(model="text", messages=HELLO) as stream:
        deltas = [event.delta for event in stream if event.type == "content.delta"]
        answer = stream.get_final_completion()
    assert "".join(deltas) == TEXT
    assert answer.choices[0].message.content == TEXT
    assert answer.choices[0].finish_reason == "stop"


def test_parallel_tool_calls_arrive_whole(client):
    answer = client.chat.completions.create(model="tools", messages=HELLO, tools=TOOLS)
    [choice] = answer.choices
    assert choice.message.content == "Let me look."
    assert_calls(choice.message.tool_calls)
    assert choice.finish_reason == "tool_calls"


def test_parallel_tool_calls_arrive_streamed(client):
    with client.chat.completions.stream(model="tools", messages=HELLO, tools=TOOLS) as stream:
        kinds = [event.type for event in stream]
        answer = stream.get_final_completion()
    assert kinds.count("tool_calls.function.arguments.done") == 3
    [choice] = answer.choices
    assert choice.message.content == "Let me look."
    assert_calls(choice.message.tool_calls)
    assert choice.finish_reason == "tool_calls"


def test_tool_calls_and_their_results_are_received(client):
    answer = client.chat.completions.create(model="tools", messages=HELLO, tools=TOOLS)
    results = [
        {"role": "tool", "tool_call_id": call.id, "content": f"result of {call.id}"}
        for call in answer.choices[0].message.tool_calls
    ]
    messages = [*HELLO, answer.choices[0].message, *results]
    lines = heard(client, messages=messages, tools=TOOLS, tool_choice="required")
    assert lines[:8] == [
        "user text Hello",
        "assistant text Let me look.",
        'assistant call call_paris get_weather {"city":"Paris","days":3}',
        'assistant call call_oslo get_weather {"city":"Zoë\'s \\"Oslo\\"","days":1}',
        "assistant call call_clock read_clock {}",
        "tool result call_paris text result of call_paris",
        "tool result call_oslo text result of call_oslo",
        "tool result call_clock text result of call_clock",
    ]
    name, offered = lines[8].removeprefix("offers ").split(" ", 1)
    assert (name, json.loads(offered)) == ("get_weather", WEATHER_SCHEMA)
    assert lines[9:] == ["offers read_clock none", "choice required"]


def test_an_image_arrives(client, png):
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    content = [
        {"type": "text", "text": "What is this?"},
        {"type": "image_url", "image_url": {"url": url}},
    ]
    lines = heard(client, messages=[{"role": "user", "content": content}])
    assert lines == ["user text What is this?", f"user image image/png {len(png)} bytes"]


def test_instructions_and_settings_are_received(client):
    lines = heard(
        client,
        messages=[{"role": "system", "content": "Be terse."}, *HELLO],
        max_completion_tokens=200,
        temperature=0.5,
        reasoning_effort="low",
        stop=["END"],
        tools=TOOLS[1:],
        tool_choice={"type": "function", "function": {"name": "read_clock"}},
    )
    assert lines == [
        "system text Be terse.",
        "user text Hello",
        "offers read_clock none",
        "choice named read_clock",
        "at most 200 tokens",
        "temperature 0.5",
        "effort Low",
        "stops at END",
    ]


def test_structured_output_is_parsed(client):
    answer = client.chat.completions.parse(
        model="structured", messages=HELLO, response_format=City
    )
    assert answer.choices[0].message.parsed == City(city="Paris", population=2102650)


def test_streamed_structured_output_is_parsed(client):
    with client.chat.completions.stream(
        model="structured", messages=HELLO, response_format=City
    ) as stream:
        answer = stream.get_final_completion()
    assert answer.choices[0].message.parsed == City(city="Paris", population=2102650)


def test_reasoning_arrives_and_its_state_is_returned(client):
    answer = client.chat.completions.create(model="reasoning", messages=HELLO)
    message = answer.choices[0].message
    assert message.content == "42"
    assert message.reasoning_content == "Six times seven."
    assert message.reasoning_details == [{"type": "reasoning.encrypted", "data": "state-1"}]
    [_, reasoning, state, text, _] = heard(client, messages=[*HELLO, message, *HELLO])
    assert reasoning == "assistant reasoning Six times seven."
    assert "state-1" in state
    assert text == "assistant text 42"


def test_reasoning_arrives_streamed(client):
    stream = client.chat.completions.create(model="reasoning", messages=HELLO, stream=True)
    deltas = [chunk.choices[0].delta for chunk in stream]
    texts = [getattr(delta, "reasoning_content", None) or "" for delta in deltas]
    assert "".join(texts) == "Six times seven."
    details = [d for delta in deltas for d in getattr(delta, "reasoning_details", None) or []]
    assert details == [{"type": "reasoning.encrypted", "data": "state-1"}]
    assert "".join(delta.content or "" for delta in deltas) == "42"


def test_reasoning_of_another_vendor_is_shown(client):
    message = client.chat.completions.create(model="foreign-reasoning", messages=HELLO)
    message = message.choices[0].message
    assert (message.reasoning_content, message.content) == ("Six times seven.", "42")


@pytest.mark.parametrize("stream", [False, True])
def test_a_call_after_reasoning_arrives(client, stream):
    request = {"model": "reasoning-tools", "messages": HELLO, "tools": TOOLS}
    if stream:
        with client.chat.completions.stream(**request) as events:
            answer = events.get_final_completion()
    else:
        answer = client.chat.completions.create(**request)
    [choice] = answer.choices
    [call] = choice.message.tool_calls
    assert (call.id, json.loads(call.function.arguments)) == ("call_paris", PARIS)
    assert not choice.message.content
    assert choice.finish_reason == "tool_calls"


def test_a_response_may_be_empty(client):
    whole = client.chat.completions.create(model="silence", messages=HELLO)
    with client.chat.completions.stream(model="silence", messages=HELLO) as stream:
        streamed = stream.get_final_completion()
    for answer in (whole, streamed):
        assert not answer.choices[0].message.content
        assert answer.choices[0].finish_reason == "stop"


def test_an_overlong_request_is_identified_by_its_code(client):
    with pytest.raises(openai.BadRequestError) as raised:
        client.chat.completions.create(model="too-long", messages=HELLO)
    assert raised.value.code == "context_length_exceeded"


def test_a_refusal_is_a_refusal(client):
    answer = client.chat.completions.parse(model="refusal", messages=HELLO, response_format=City)
    message = answer.choices[0].message
    assert (message.refusal, message.parsed) == ("I would rather not.", None)


def test_a_streamed_refusal_is_a_refusal(client):
    with client.chat.completions.stream(model="refusal", messages=HELLO) as stream:
        answer = stream.get_final_completion()
    assert answer.choices[0].message.refusal == "I would rather not."


@pytest.mark.parametrize(
    ("model", "reason"), [("cut-short", "length"), ("filtered", "content_filter")]
)
def test_a_truncated_response_says_so(client, model, reason):
    answer = client.chat.completions.create(model=model, messages=HELLO)
    assert answer.choices[0].finish_reason == reason
    stream = client.chat.completions.create(model=model, messages=HELLO, stream=True)
    assert [c.choices[0].finish_reason for c in stream][-1] == reason


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "kind"), ERRORS)
def test_an_error_before_the_response_is_typed(client, status, kind, stream):
    with pytest.raises(kind) as raised:
        client.chat.completions.create(model=f"error-{status}", messages=HELLO, stream=stream)
    error = raised.value
    assert error.status_code == status
    assert f"this is what {status} looks like" in error.message
    assert error.type
    assert error.response.headers.get("retry-after") == ("7" if status == 429 else None)


def test_an_unreadable_request_is_named(client):
    with pytest.raises(openai.BadRequestError, match=r"messages\[0\]\.role"):
        client.chat.completions.create(model="text", messages=[{"role": 7, "content": "x"}])


def test_an_error_in_the_middle_of_a_stream_raises(client):
    stream = client.chat.completions.create(model="breaks", messages=HELLO, stream=True)
    texts = []
    with pytest.raises(openai.APIError, match="the model fell over") as raised:
        for chunk in stream:
            texts.append(chunk.choices[0].delta.content or "")
    assert "".join(texts) == TEXT
    assert raised.value.code == "server_error"


def test_models_are_listed(client):
    models = client.models.list().data
    assert "text" in [model.id for model in models]
    assert {model.object for model in models} == {"model"}
