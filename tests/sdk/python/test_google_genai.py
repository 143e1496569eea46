"""Gemini's generateContent, tested with the google-genai SDK."""

import json

import pytest
from conftest import KEY, OSLO, PARIS, TEXT, TIMEOUT, WEATHER_SCHEMA, City
from google import genai
from google.genai import errors, types

TOOLS = [
    types.Tool(
        function_declarations=[
            types.FunctionDeclaration(name="get_weather", parameters_json_schema=WEATHER_SCHEMA),
            types.FunctionDeclaration(name="read_clock"),
        ]
    )
]
CALLS = [
    ("call_paris", "get_weather", PARIS),
    ("call_oslo", "get_weather", OSLO),
    ("call_clock", "read_clock", {}),
]


def connect(server, version=None):
    options = types.HttpOptions(
        base_url=server,
        api_version=version,
        timeout=int(TIMEOUT * 1000),
        retry_options=types.HttpRetryOptions(attempts=1),
    )
    return genai.Client(api_key=KEY, http_options=options)


@pytest.fixture(scope="module")
def client(server):
    with connect(server) as client:
        yield client


def ask(client, model, contents="Hello", **config):
    config = types.GenerateContentConfig(**config)
    return client.models.generate_content(model=model, contents=contents, config=config)


def stream(client, model, **config):
    config = types.GenerateContentConfig(**config)
    return client.models.generate_content_stream(model=model, contents="Hello", config=config)


def heard(client, contents="Hello", **config) -> list[str]:
    return ask(client, "heard", contents, **config).text.split("\n")


def parts_of(chunks) -> list[types.Part]:
    return [part for chunk in chunks for part in chunk.candidates[0].content.parts]


def assert_usage(usage):
    assert (usage.prompt_token_count, usage.cached_content_token_count) == (120, 80)
    assert (usage.candidates_token_count, usage.thoughts_token_count) == (33, 12)
    assert usage.total_token_count == 165


def test_a_text_arrives_with_its_usage_and_its_reason(client):
    answer = ask(client, "text")
    assert answer.text == TEXT
    assert (answer.response_id, answer.model_version) == ("answer_1", "text")
    [candidate] = answer.candidates
    assert candidate.content.role == "model"
    assert candidate.finish_reason == types.FinishReason.STOP
    assert_usage(answer.usage_metadata)


def test_the_older_paths_are_served(server):
    with connect(server, "v1beta") as client:
        assert ask(client, "text").text == TEXT
        assert "models/text" in [model.name for model in client.models.list()]


def test_a_streamed_text_arrives_in_pieces(client):
    chunks = list(stream(client, "text"))
    texts = [chunk.text for chunk in chunks if chunk.text]
    assert len(texts) > 3
    assert "".join(texts) == TEXT
    reasons = [chunk.candidates[0].finish_reason for chunk in chunks]
    assert [reason for reason in reasons if reason] == [types.FinishReason.STOP]
    assert_usage(chunks[-1].usage_metadata)


def test_parallel_tool_calls_arrive_whole(client):
    answer = ask(client, "tools", tools=TOOLS)
    assert answer.candidates[0].content.parts[0].text == "Let me look."
    assert [(call.id, call.name, call.args) for call in answer.function_calls] == CALLS
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP


def test_parallel_tool_calls_arrive_streamed(client):
    parts = parts_of(stream(client, "tools", tools=TOOLS))
    assert "".join(part.text or "" for part in parts) == "Let me look."
    calls = [part.function_call for part in parts if part.function_call]
    assert [(call.id, call.name, call.args) for call in calls] == CALLS


def test_tool_calls_and_their_results_are_received(client, png):
    answer = ask(client, "tools", tools=TOOLS)
    image = types.FunctionResponsePart.from_bytes(data=png, mime_type="image/png")
    replies = [
        ("call_paris", "get_weather", {"output": "sunny"}, None),
        ("call_oslo", "get_weather", {"output": "see"}, [image]),
        ("call_clock", "read_clock", {"error": "no clock"}, None),
    ]
    results = [
        types.Part(
            function_response=types.FunctionResponse(
                id=id, name=name, response=response, parts=parts
            )
        )
        for id, name, response, parts in replies
    ]
    question = types.UserContent("Hello")
    contents = [question, answer.candidates[0].content, types.Content(role="user", parts=results)]
    config = types.ToolConfig(function_calling_config=types.FunctionCallingConfig(mode="ANY"))
    lines = heard(client, contents, tools=TOOLS, tool_config=config)
    lines = [line for line in lines if not line.startswith("assistant state ")]
    assert lines[:2] == ["user text Hello", "assistant text Let me look."]
    called = [line.removeprefix("assistant call ").split(" ", 2) for line in lines[2:5]]
    assert [(id, name, json.loads(arguments)) for id, name, arguments in called] == CALLS
    assert [line.split(" ", 1)[1] for line in lines[5:9]] == [
        "result call_paris text sunny",
        "result call_oslo text see",
        f"result call_oslo image image/png {len(png)} bytes",
        "error call_clock text no clock",
    ]
    name, offered = lines[9].removeprefix("offers ").split(" ", 1)
    assert (name, json.loads(offered)) == ("get_weather", WEATHER_SCHEMA)
    assert lines[10:] == ["offers read_clock none", "choice required"]


def test_an_image_arrives(client, png):
    image = types.Part.from_bytes(data=png, mime_type="image/png")
    lines = heard(client, ["What is this?", image])
    assert lines == ["user text What is this?", f"user image image/png {len(png)} bytes"]


def test_instructions_and_settings_are_received(client):
    lines = heard(
        client,
        system_instruction="Be terse.",
        max_output_tokens=200,
        temperature=0.5,
        stop_sequences=["END"],
        thinking_config=types.ThinkingConfig(thinking_level="LOW"),
    )
    assert lines == [
        "system text Be terse.",
        "user text Hello",
        "at most 200 tokens",
        "temperature 0.5",
        "effort Low",
        "stops at END",
    ]


@pytest.mark.parametrize("schema", ["response_schema", "response_json_schema"])
def test_structured_output_is_parsed(client, schema):
    wanted = City if schema == "response_schema" else City.model_json_schema()
    answer = ask(
        client, "structured", response_mime_type="application/json", **{schema: wanted}
    )
    assert City.model_validate(answer.parsed) == City(city="Paris", population=2102650)


def test_reasoning_arrives_and_its_state_is_returned(client):
    answer = ask(client, "reasoning")
    thought, text = answer.candidates[0].content.parts
    assert (thought.thought, thought.text) == (True, "Six times seven.")
    assert thought.thought_signature == b"state-1"
    assert (answer.text, text.text) == ("42", "42")
    question = types.UserContent("Hello")
    lines = heard(client, [question, answer.candidates[0].content, question])
    assert lines[1] == "assistant reasoning Six times seven."
    assert 'thoughtSignature="c3RhdGUtMQ=="' in lines[2]
    assert lines[3] == "assistant text 42"


def test_reasoning_arrives_streamed(client):
    parts = parts_of(stream(client, "reasoning"))
    thoughts = [part for part in parts if part.thought]
    assert "".join(part.text for part in thoughts) == "Six times seven."
    signatures = [part.thought_signature for part in thoughts if part.thought_signature]
    assert signatures == [b"state-1"]
    assert "".join(part.text for part in parts if not part.thought) == "42"


def test_reasoning_of_another_vendor_is_shown(client):
    thought, text = ask(client, "foreign-reasoning").candidates[0].content.parts
    assert (thought.thought, thought.text, text.text) == (True, "Six times seven.", "42")


def test_a_signed_call_after_reasoning_comes_back_signed(client):
    answer = ask(client, "reasoning-tools", tools=TOOLS)
    streamed = parts_of(stream(client, "reasoning-tools", tools=TOOLS))
    for parts in (answer.candidates[0].content.parts, streamed):
        [signed] = [part for part in parts if part.function_call]
        assert (signed.function_call.id, signed.function_call.args) == ("call_paris", PARIS)
        assert signed.thought_signature == b"state-1"
    question = types.UserContent("Hello")
    lines = heard(client, [question, answer.candidates[0].content, question])
    called = [line.startswith("assistant call call_paris ") for line in lines].index(True)
    assert 'thoughtSignature="c3RhdGUtMQ=="' in lines[called + 1]


def test_a_response_may_be_empty(client):
    answer = ask(client, "silence")
    assert not answer.text
    assert answer.candidates[0].finish_reason == types.FinishReason.STOP
    assert not "".join(part.text or "" for part in parts_of(stream(client, "silence")))


def test_a_request_that_is_too_long_is_a_bad_request(client):
    with pytest.raises(errors.ClientError) as raised:
        ask(client, "too-long")
    assert (raised.value.code, raised.value.status) == (400, "INVALID_ARGUMENT")


@pytest.mark.parametrize(
    ("model", "reason"),
    [("cut-short", types.FinishReason.MAX_TOKENS), ("filtered", types.FinishReason.SAFETY)],
)
def test_a_truncated_response_says_so(client, model, reason):
    assert ask(client, model).candidates[0].finish_reason == reason
    *_, last = stream(client, model)
    assert last.candidates[0].finish_reason == reason


@pytest.mark.parametrize("streamed", [False, True])
@pytest.mark.parametrize(
    ("status", "kind", "word"),
    [
        (400, errors.ClientError, "INVALID_ARGUMENT"),
        (401, errors.ClientError, "UNAUTHENTICATED"),
        (403, errors.ClientError, "PERMISSION_DENIED"),
        (404, errors.ClientError, "NOT_FOUND"),
        (409, errors.ClientError, "ABORTED"),
        (422, errors.ClientError, "INVALID_ARGUMENT"),
        (429, errors.ClientError, "RESOURCE_EXHAUSTED"),
        (500, errors.ServerError, "INTERNAL"),
        (503, errors.ServerError, "UNAVAILABLE"),
        (504, errors.ServerError, "DEADLINE_EXCEEDED"),
    ],
)
def test_an_error_before_the_response_is_typed(client, status, kind, word, streamed):
    with pytest.raises(kind) as raised:
        if streamed:
            list(stream(client, f"error-{status}"))
        else:
            ask(client, f"error-{status}")
    error = raised.value
    assert (error.code, error.status) == (status, word)
    assert f"this is what {status} looks like" in error.message


def test_a_rate_limit_tells_how_long_to_wait(client):
    with pytest.raises(errors.ClientError) as raised:
        ask(client, "error-429")
    [info] = [d for d in raised.value.details["error"]["details"] if "retryDelay" in d]
    assert info["retryDelay"] == "7s"


def test_an_error_in_the_middle_of_a_stream_raises(client):
    texts = []
    with pytest.raises(errors.ServerError, match="the model fell over") as raised:
        for chunk in stream(client, "breaks"):
            texts.append(chunk.text or "")
    assert "".join(texts) == TEXT
    assert (raised.value.code, raised.value.status) == (500, "INTERNAL")


def test_models_are_listed(client):
    names = [model.name for model in client.models.list()]
    assert "models/text" in names


def test_tokens_are_counted(client):
    counted = client.models.count_tokens(model="text", contents="Hello")
    assert counted.total_tokens == 123
