"""Messages, tested with the anthropic SDK."""

import base64
import json

import anthropic
import pytest
from conftest import KEY, OSLO, PARIS, TEXT, TIMEOUT, WEATHER_SCHEMA, City

HELLO = [{"role": "user", "content": "Hello"}]
ASK = {"max_tokens": 100, "messages": HELLO}
TOOLS = [
    {"name": "get_weather", "input_schema": WEATHER_SCHEMA},
    {"name": "read_clock", "input_schema": {"type": "object"}},
]


@pytest.fixture(scope="module")
def client(server):
    with anthropic.Anthropic(
        base_url=server,
        api_key=KEY,
        max_retries=0,
        timeout=TIMEOUT,
        _strict_response_validation=True,
    ) as client:
        yield client


def heard(client, **request) -> list[str]:
    answer = client.messages.create(model="heard", **{**ASK, **request})
    return answer.content[0].text.split("\n")


def image(png: bytes) -> dict:
    data = base64.b64encode(png).decode()
    return {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": data}}


def assert_usage(usage):
    assert (usage.input_tokens, usage.output_tokens) == (24, 45)
    assert (usage.cache_read_input_tokens, usage.cache_creation_input_tokens) == (80, 16)


def assert_calls(answer):
    text, *calls = answer.content
    assert text.text == "Let me look."
    assert [(call.type, call.id, call.name, call.input) for call in calls] == [
        ("tool_use", "call_paris", "get_weather", PARIS),
        ("tool_use", "call_oslo", "get_weather", OSLO),
        ("tool_use", "call_clock", "read_clock", {}),
    ]
    assert answer.stop_reason == "tool_use"


def test_a_text_arrives_with_its_usage_and_its_reason(client):
    answer = client.messages.create(model="text", **ASK)
    assert (answer.id, answer.model, answer.role) == ("answer_1", "text", "assistant")
    [block] = answer.content
    assert block.text == TEXT
    assert (answer.stop_reason, answer.stop_sequence) == ("end_turn", None)
    assert_usage(answer.usage)


def test_a_streamed_text_is_announced_sent_and_closed(client):
    events = list(client.messages.create(model="text", stream=True, **ASK))
    deltas = [e.delta.text for e in events if e.type == "content_block_delta"]
    assert len(deltas) > 3
    assert "".join(deltas) == TEXT
    assert [e.type for e in events if e.type != "content_block_delta"] == [
        "message_start",
        "content_block_start",
        "content_block_stop",
        "message_delta",
        "message_stop",
    ]
    assert events[0].message.id == "answer_1"
    assert events[-2].delta.stop_reason == "end_turn"


def test_the_streaming_helper_rebuilds_the_response(client):
    with client.messages.stream(model="text", **ASK) as stream:
        texts = list(stream.text_stream)
        answer = stream.get_final_message()
    assert "".join(texts) == TEXT
    assert answer.content[0].text == TEXT
    assert answer.stop_reason == "end_turn"
    assert_usage(answer.usage)


def test_parallel_tool_calls_arrive_whole(client):
    assert_calls(client.messages.create(model="tools", tools=TOOLS, **ASK))


def test_parallel_tool_calls_arrive_streamed(client):
    with client.messages.stream(model="tools", tools=TOOLS, **ASK) as stream:
        snapshots = [event.snapshot for event in stream if event.type == "input_json"]
        answer = stream.get_final_message()
    assert PARIS in snapshots
    assert_calls(answer)


def test_the_blocks_of_a_stream_do_not_overlap(client):
    opened = closed = 0
    for event in client.messages.create(model="tools", stream=True, tools=TOOLS, **ASK):
        if event.type == "content_block_start":
            assert event.index == opened == closed
            opened += 1
        elif event.type == "content_block_delta":
            assert event.index == opened - 1 == closed
        elif event.type == "content_block_stop":
            assert event.index == closed
            closed += 1
    assert opened == closed == 4


def test_tool_calls_and_their_results_are_received(client, png):
    answer = client.messages.create(model="tools", tools=TOOLS, **ASK)
    contents = {"call_paris": "sunny", "call_oslo": [image(png)], "call_clock": "no clock"}
    results = [
        {
            "type": "tool_result",
            "tool_use_id": call,
            "content": content,
            "is_error": call == "call_clock",
        }
        for call, content in contents.items()
    ]
    messages = [
        *HELLO,
        {"role": "assistant", "content": answer.content},
        {"role": "user", "content": results},
    ]
    lines = heard(client, messages=messages, tools=TOOLS, tool_choice={"type": "any"})
    assert lines[:2] == ["user text Hello", "assistant text Let me look."]
    called = [line.removeprefix("assistant call ").split(" ", 2) for line in lines[2:5]]
    assert [(id, name, json.loads(arguments)) for id, name, arguments in called] == [
        ("call_paris", "get_weather", PARIS),
        ("call_oslo", "get_weather", OSLO),
        ("call_clock", "read_clock", {}),
    ]
    assert [line.split(" ", 1)[1] for line in lines[5:8]] == [
        "result call_paris text sunny",
        f"result call_oslo image image/png {len(png)} bytes",
        "error call_clock text no clock",
    ]
    name, offered = lines[8].removeprefix("offers ").split(" ", 1)
    assert (name, json.loads(offered)) == ("get_weather", WEATHER_SCHEMA)
    assert lines[10] == "choice required"


def test_an_image_arrives(client, png):
    content = [{"type": "text", "text": "What is this?"}, image(png)]
    lines = heard(client, messages=[{"role": "user", "content": content}])
    assert lines[:2] == ["user text What is this?", f"user image image/png {len(png)} bytes"]


def test_instructions_and_settings_are_received(client):
    lines = heard(
        client,
        system="Be terse.",
        output_config={"effort": "low"},
        stop_sequences=["END"],
        tools=TOOLS[1:],
        tool_choice={"type": "tool", "name": "read_clock"},
    )
    assert lines == [
        "system text Be terse.",
        "user text Hello",
        'offers read_clock {"type":"object"}',
        "choice named read_clock",
        "at most 100 tokens",
        "effort Low",
        "stops at END",
    ]


def test_structured_output_is_parsed(client):
    answer = client.messages.parse(model="structured", output_format=City, **ASK)
    assert answer.parsed_output == City(city="Paris", population=2102650)


def test_streamed_structured_output_is_parsed(client):
    with client.messages.stream(model="structured", output_format=City, **ASK) as stream:
        answer = stream.get_final_message()
    assert answer.parsed_output == City(city="Paris", population=2102650)


def assert_reasoning(answer):
    thinking, text = answer.content
    assert (thinking.type, thinking.thinking) == ("thinking", "Six times seven.")
    assert thinking.signature == "state-1"
    assert text.text == "42"


def test_reasoning_arrives_and_its_state_is_returned(client):
    answer = client.messages.create(model="reasoning", **ASK)
    assert_reasoning(answer)
    said = {"role": "assistant", "content": answer.content}
    lines = heard(client, messages=[*HELLO, said, *HELLO])
    assert lines[1] == "assistant reasoning Six times seven."
    assert 'signature="state-1"' in lines[2]
    assert lines[3] == "assistant text 42"


def test_reasoning_arrives_streamed(client):
    with client.messages.stream(model="reasoning", **ASK) as stream:
        thoughts = [event.thinking for event in stream if event.type == "thinking"]
        answer = stream.get_final_message()
    assert "".join(thoughts) == "Six times seven."
    assert_reasoning(answer)


def both(client, model, **more):
    """The response, whole and reassembled from a stream."""
    answer = client.messages.create(model=model, **ASK, **more)
    with client.messages.stream(model=model, **ASK, **more) as stream:
        return [answer, stream.get_final_message()]


def test_reasoning_of_another_vendor_is_shown(client):
    for answer in both(client, "foreign-reasoning"):
        thinking, text = answer.content
        assert (thinking.thinking, text.text) == ("Six times seven.", "42")


def test_a_call_after_reasoning_arrives(client):
    for answer in both(client, "reasoning-tools", tools=TOOLS):
        thinking, call = answer.content
        assert thinking.signature == "state-1"
        assert (call.id, call.input) == ("call_paris", PARIS)
        assert answer.stop_reason == "tool_use"


def test_a_response_may_be_empty(client):
    for answer in both(client, "silence"):
        assert (answer.content, answer.stop_reason) == ([], "end_turn")


def test_the_stop_sequence_that_ended_a_response_is_reported(client):
    for answer in both(client, "stopped"):
        assert (answer.stop_reason, answer.stop_sequence) == ("stop_sequence", "END")


def test_a_request_that_is_too_long_is_told_in_the_words_that_agents_know(client):
    with pytest.raises(anthropic.BadRequestError, match="prompt is too long"):
        client.messages.create(model="too-long", **ASK)


def test_a_refusal_is_a_refusal(client):
    for refused in both(client, "refusal"):
        assert refused.stop_reason == "refusal"
        assert refused.stop_details.explanation == "I would rather not."


def test_a_truncated_response_says_so(client):
    for cut in both(client, "cut-short"):
        assert (cut.stop_reason, cut.content[0].text) == ("max_tokens", TEXT)


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        (400, anthropic.BadRequestError, "invalid_request_error"),
        (401, anthropic.AuthenticationError, "authentication_error"),
        (403, anthropic.PermissionDeniedError, "permission_error"),
        (404, anthropic.NotFoundError, "not_found_error"),
        (409, anthropic.ConflictError, "conflict_error"),
        (413, anthropic.APIStatusError, "request_too_large"),
        (422, anthropic.UnprocessableEntityError, "invalid_request_error"),
        (429, anthropic.RateLimitError, "rate_limit_error"),
        (500, anthropic.InternalServerError, "api_error"),
        (503, anthropic.InternalServerError, "overloaded_error"),
        (529, anthropic.InternalServerError, "overloaded_error"),
    ],
)
def test_an_error_before_the_response_is_typed(client, status, kind, word, stream):
    with pytest.raises(kind) as raised:
        client.messages.create(model=f"error-{status}", stream=stream, **ASK)
    error = raised.value
    assert error.status_code == status
    assert f"this is what {status} looks like" in error.message
    assert error.body["error"]["type"] == word
    assert error.response.headers.get("retry-after") == ("7" if status == 429 else None)


def test_an_unreadable_request_is_named(client):
    with pytest.raises(anthropic.BadRequestError, match=r"messages\[0\]\.role"):
        client.messages.create(model="text", max_tokens=1, messages=[{"role": 7, "content": "x"}])


def test_an_error_in_the_middle_of_a_stream_raises(client):
    texts = []
    with pytest.raises(anthropic.APIStatusError, match="the model fell over") as raised:
        for event in client.messages.create(model="breaks", stream=True, **ASK):
            if event.type == "content_block_delta":
                texts.append(event.delta.text)
    assert "".join(texts) == TEXT
    assert raised.value.body["error"]["type"] == "api_error"


def test_models_are_listed(client):
    models = list(client.models.list())
    assert "text" in [model.id for model in models]
    assert models[0].created_at.year == 2023


def test_tokens_are_counted(client):
    counted = client.messages.count_tokens(model="text", messages=HELLO)
    assert counted.input_tokens == 123
