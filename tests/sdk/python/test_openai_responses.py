"""Responses, tested with the openai SDK."""

import base64
import json

import openai
import pytest
from conftest import OSLO, PARIS, TEXT, WEATHER_SCHEMA, City
from openai_sdk import ERRORS, connect

TOOLS = [
    {"type": "function", "name": "get_weather", "parameters": WEATHER_SCHEMA, "strict": None},
    {"type": "function", "name": "read_clock", "parameters": None, "strict": None},
]


@pytest.fixture(scope="module")
def client(server):
    with connect(server) as client:
        yield client


def heard(client, **request) -> list[str]:
    return client.responses.create(model="heard", **request).output_text.split("\n")


def assert_usage(usage):
    assert (usage.input_tokens, usage.output_tokens, usage.total_tokens) == (120, 45, 165)
    assert usage.input_tokens_details.cached_tokens == 80
    assert usage.output_tokens_details.reasoning_tokens == 12


def assert_calls(answer):
    message, *calls = answer.output
    assert (message.type, message.content[0].text) == ("message", "Let me look.")
    assert [(call.type, call.call_id, call.name) for call in calls] == [
        ("function_call", "call_paris", "get_weather"),
        ("function_call", "call_oslo", "get_weather"),
        ("function_call", "call_clock", "read_clock"),
    ]
    assert [json.loads(call.arguments) for call in calls] == [PARIS, OSLO, {}]
    ids = [item.id for item in answer.output]
    assert len(set(ids)) == 4, "every item has an id of its own"


def test_a_text_arrives_with_its_usage_and_its_status(client):
    answer = client.responses.create(model="text", input="Hello")
    assert answer.id == "answer_1"
    assert answer.model == "text"
    assert answer.created_at == 1_700_000_000
    assert answer.status == "completed"
    assert answer.output_text == TEXT
    [message] = answer.output
    assert (message.role, message.status) == ("assistant", "completed")
    assert_usage(answer.usage)


def test_a_streamed_text_is_announced_sent_and_closed(client):
    events = list(client.responses.create(model="text", input="Hello", stream=True))
    kinds = [event.type for event in events]
    deltas = [event.delta for event in events if event.type == "response.output_text.delta"]
    assert len(deltas) > 3
    assert "".join(deltas) == TEXT
    assert [kind for kind in kinds if kind != "response.output_text.delta"] == [
        "response.created",
        "response.in_progress",
        "response.output_item.added",
        "response.content_part.added",
        "response.output_text.done",
        "response.content_part.done",
        "response.output_item.done",
        "response.completed",
    ]
    assert [event.sequence_number for event in events] == list(range(len(events)))
    done = events[-1].response
    assert (done.id, done.status, done.output_text) == ("answer_1", "completed", TEXT)
    assert_usage(done.usage)


def test_the_streaming_helper_rebuilds_the_response(client):
    with client.responses.stream(model="text", input="Hello") as stream:
        deltas = [e.delta for e in stream if e.type == "response.output_text.delta"]
        answer = stream.get_final_response()
    assert "".join(deltas) == TEXT
    assert answer.output_text == TEXT


def test_parallel_tool_calls_arrive_whole(client):
    answer = client.responses.create(model="tools", input="Hello", tools=TOOLS)
    assert_calls(answer)


def test_parallel_tool_calls_arrive_streamed(client):
    with client.responses.stream(model="tools", input="Hello", tools=TOOLS) as stream:
        events = list(stream)
        answer = stream.get_final_response()
    assert_calls(answer)
    items = {e.item.id: e.item for e in events if e.type == "response.output_item.done"}
    assert {id: items[id].arguments for id in items if id.startswith("fc")} == {
        call.id: call.arguments for call in answer.output[1:]
    }
    pieces: dict[str, str] = {}
    for event in events:
        if event.type == "response.function_call_arguments.delta":
            pieces[event.item_id] = pieces.get(event.item_id, "") + event.delta
    assert pieces == {call.id: call.arguments for call in answer.output[1:]}


def test_tool_calls_and_their_results_are_received(client, png):
    answer = client.responses.create(model="tools", input="Hello", tools=TOOLS)
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    image = [{"type": "input_image", "image_url": url, "detail": "auto"}]
    outputs = {"call_paris": "sunny", "call_oslo": image, "call_clock": "noon"}
    results = [
        {"type": "function_call_output", "call_id": call_id, "output": output}
        for call_id, output in outputs.items()
    ]
    conversation = [{"role": "user", "content": "Hello"}, *answer.output, *results]
    lines = heard(client, input=conversation, tools=TOOLS, tool_choice="required")
    lines = [line for line in lines if not line.startswith("assistant state ")]
    assert lines[:8] == [
        "user text Hello",
        "assistant text Let me look.",
        'assistant call call_paris get_weather {"city":"Paris","days":3}',
        'assistant call call_oslo get_weather {"city":"Zoë\'s \\"Oslo\\"","days":1}',
        "assistant call call_clock read_clock {}",
        "tool result call_paris text sunny",
        f"tool result call_oslo image image/png {len(png)} bytes",
        "tool result call_clock text noon",
    ]
    name, offered = lines[8].removeprefix("offers ").split(" ", 1)
    assert (name, json.loads(offered)) == ("get_weather", WEATHER_SCHEMA)
    assert lines[9:] == ["offers read_clock none", "choice required"]


def test_an_image_arrives(client, png):
    url = "data:image/png;base64," + base64.b64encode(png).decode()
    content = [
        {"type": "input_text", "text": "What is this?"},
        {"type": "input_image", "image_url": url, "detail": "auto"},
    ]
    lines = heard(client, input=[{"role": "user", "content": content}])
    assert lines == ["user text What is this?", f"user image image/png {len(png)} bytes"]


def test_instructions_and_settings_are_received(client):
    lines = heard(
        client,
        instructions="Be terse.",
        input="Hello",
        max_output_tokens=200,
        temperature=0.5,
        reasoning={"effort": "low"},
        tools=TOOLS[1:],
        tool_choice={"type": "function", "name": "read_clock"},
    )
    assert lines == [
        "system text Be terse.",
        "user text Hello",
        "offers read_clock none",
        "choice named read_clock",
        "at most 200 tokens",
        "temperature 0.5",
        "effort Low",
    ]


def test_structured_output_is_parsed(client):
    answer = client.responses.parse(model="structured", input="Hello", text_format=City)
    assert answer.output_parsed == City(city="Paris", population=2102650)


def test_streamed_structured_output_is_parsed(client):
    with client.responses.stream(model="structured", input="Hello", text_format=City) as stream:
        answer = stream.get_final_response()
    assert answer.output_parsed == City(city="Paris", population=2102650)


def assert_reasoning(answer):
    reasoning, message = answer.output
    assert reasoning.type == "reasoning"
    assert [part.text for part in reasoning.summary] == ["Six times seven."]
    assert reasoning.encrypted_content == "state-1"
    assert message.content[0].text == "42"


def test_reasoning_arrives_and_its_state_is_returned(client):
    answer = client.responses.create(model="reasoning", input="Hello")
    assert_reasoning(answer)
    question = {"role": "user", "content": "Hello"}
    lines = heard(client, input=[question, *answer.output, question])
    assert lines[1] == "assistant reasoning Six times seven."
    assert 'encrypted_content="state-1"' in lines[2]
    assert lines[3] == "assistant text 42"


def test_reasoning_arrives_streamed(client):
    with client.responses.stream(model="reasoning", input="Hello") as stream:
        kind = "response.reasoning_summary_text.delta"
        deltas = [event.delta for event in stream if event.type == kind]
        answer = stream.get_final_response()
    assert "".join(deltas) == "Six times seven."
    assert_reasoning(answer)


def test_reasoning_of_another_vendor_is_shown(client):
    answer = client.responses.create(model="foreign-reasoning", input="Hello")
    with client.responses.stream(model="foreign-reasoning", input="Hello") as stream:
        streamed = stream.get_final_response()
    for shown in (answer, streamed):
        assert shown.output[0].summary[0].text == "Six times seven."
        assert shown.output_text == "42"


def test_a_call_after_reasoning_arrives(client):
    request = {"model": "reasoning-tools", "input": "Hello", "tools": TOOLS}
    answer = client.responses.create(**request)
    with client.responses.stream(**request) as stream:
        streamed = stream.get_final_response()
    for called in (answer, streamed):
        reasoning, call = called.output
        assert reasoning.encrypted_content == "state-1"
        assert (call.call_id, json.loads(call.arguments)) == ("call_paris", PARIS)


def test_a_response_may_be_empty(client):
    answer = client.responses.create(model="silence", input="Hello")
    with client.responses.stream(model="silence", input="Hello") as stream:
        streamed = stream.get_final_response()
    for silent in (answer, streamed):
        assert (silent.status, silent.output_text) == ("completed", "")


def test_an_overlong_request_is_identified_by_its_code(client):
    with pytest.raises(openai.BadRequestError) as raised:
        client.responses.create(model="too-long", input="Hello")
    assert raised.value.code == "context_length_exceeded"


def test_a_refusal_is_a_refusal(client):
    answer = client.responses.create(model="refusal", input="Hello")
    assert answer.output[0].content[0].refusal == "I would rather not."
    with client.responses.stream(model="refusal", input="Hello") as stream:
        deltas = [event.delta for event in stream if event.type == "response.refusal.delta"]
        streamed = stream.get_final_response()
    assert "".join(deltas) == "I would rather not."
    assert streamed.output[0].content[0].refusal == "I would rather not."


@pytest.mark.parametrize(
    ("model", "reason"), [("cut-short", "max_output_tokens"), ("filtered", "content_filter")]
)
def test_a_truncated_response_says_so(client, model, reason):
    answer = client.responses.create(model=model, input="Hello")
    *_, last = client.responses.create(model=model, input="Hello", stream=True)
    assert last.type == "response.incomplete"
    for cut in (answer, last.response):
        assert (cut.status, cut.incomplete_details.reason) == ("incomplete", reason)
        assert cut.output_text == TEXT


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize(("status", "kind"), ERRORS)
def test_an_error_before_the_response_is_typed(client, status, kind, stream):
    with pytest.raises(kind) as raised:
        client.responses.create(model=f"error-{status}", input="Hello", stream=stream)
    error = raised.value
    assert error.status_code == status
    assert f"this is what {status} looks like" in error.message
    assert error.type
    assert error.response.headers.get("retry-after") == ("7" if status == 429 else None)


def test_an_unreadable_request_is_named(client):
    with pytest.raises(openai.BadRequestError, match=r"input\[0\]"):
        client.responses.create(model="text", input=[{"role": 7, "content": "x"}])


def test_an_error_in_the_middle_of_a_stream_raises(client):
    stream = client.responses.create(model="breaks", input="Hello", stream=True)
    texts = []
    with pytest.raises(openai.APIError, match="the model fell over"):
        for event in stream:
            if event.type == "response.output_text.delta":
                texts.append(event.delta)
    assert "".join(texts) == TEXT


def test_tokens_are_counted(client):
    counted = client.responses.input_tokens.count(model="text", input="Hello")
    assert counted.input_tokens == 123
