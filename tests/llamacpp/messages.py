"""Anthropic's protocol through the gateway, served by a real llama.cpp.

usage: messages.py GATEWAY MODEL

The cases follow the documentation of Anthropic's Messages API. Prints each one and fails if
one of them does.
"""

import json
import sys
import urllib.error
import urllib.request

GATEWAY, MODEL = sys.argv[1:]
OPENER = urllib.request.build_opener(urllib.request.ProxyHandler({}))
WEATHER = {
    "name": "get_weather",
    "description": "The weather of a city.",
    "input_schema": {
        "type": "object",
        "properties": {"city": {"type": "string"}},
        "required": ["city"],
    },
}


def post(path: str, body: dict) -> tuple[int, bytes]:
    headers = {"content-type": "application/json", "anthropic-version": "2023-06-01", "x-api-key": "unused"}
    request = urllib.request.Request(GATEWAY + path, json.dumps(body).encode(), headers)
    try:
        with OPENER.open(request, timeout=120) as response:
            return response.status, response.read()
    except urllib.error.HTTPError as error:
        return error.code, error.read()


def ask(text: str = "Say hello.", **more) -> dict:
    body = {"model": MODEL, "max_tokens": 16, "messages": [{"role": "user", "content": text}]}
    status, data = post("/v1/messages", body | more)
    assert status == 200, data
    return json.loads(data)


def a_message_is_complete():
    message = ask()
    assert message["type"] == "message" and message["role"] == "assistant", message
    assert message["id"].startswith("msg_") and message["model"], message
    assert message["content"][0]["type"] == "text" and message["content"][0]["text"], message
    assert message["stop_reason"] in ("end_turn", "max_tokens"), message
    assert message["usage"]["input_tokens"] > 0 < message["usage"]["output_tokens"], message


def system_and_content_may_be_blocks():
    block = [{"type": "text", "text": "Be brief."}]
    for system in ("Be brief.", block):
        ask(system=system)
    ask(messages=[{"role": "user", "content": [{"type": "text", "text": "Say hello."}]}])


def a_conversation_has_several_turns():
    turns = [("user", "My name is Ada."), ("assistant", "Hello Ada."), ("user", "What is my name?")]
    message = ask(messages=[{"role": role, "content": text} for role, text in turns])
    assert message["usage"]["input_tokens"] > ask("Hi")["usage"]["input_tokens"], message


def the_limit_ends_a_message():
    message = ask("Tell a long story.", max_tokens=4)
    assert message["stop_reason"] == "max_tokens", message
    assert message["usage"]["output_tokens"] <= 4, message


def a_stop_sequence_ends_a_message():
    message = ask("Count: one, two, three.", max_tokens=64, stop_sequences=["e"])
    assert "e" not in message["content"][0]["text"] if message["content"] else True, message


def events_have_their_order():
    body = {"model": MODEL, "max_tokens": 8, "stream": True}
    status, data = post("/v1/messages", body | {"messages": [{"role": "user", "content": "Say hello."}]})
    assert status == 200, data
    lines = [line for line in data.decode().splitlines() if line.startswith("data: ")]
    events = [event for line in lines if (event := json.loads(line[6:]))["type"] != "ping"]
    kinds = [event["type"] for event in events]
    assert kinds[:2] == ["message_start", "content_block_start"], kinds
    assert kinds[-3:] == ["content_block_stop", "message_delta", "message_stop"], kinds
    assert set(kinds[2:-3]) == {"content_block_delta"}, kinds
    assert events[-2]["delta"]["stop_reason"], events[-2]
    assert events[-2]["usage"]["output_tokens"] > 0, events[-2]


def tokens_are_counted():
    body = {"model": MODEL, "messages": [{"role": "user", "content": "Say hello."}]}
    status, data = post("/v1/messages/count_tokens", body)
    assert status == 200 and json.loads(data)["input_tokens"] > 0, data


def tools_are_accepted():
    # The template of this small model ignores them, and so does its server.
    for kind in ("auto", "any", "none"):
        message = ask("Weather in Paris?", tools=[WEATHER], tool_choice={"type": kind})
        assert message["content"], message


def a_tool_result_is_read():
    call = {"type": "tool_use", "id": "toolu_1", "name": "get_weather", "input": {"city": "Paris"}}
    result = {"type": "tool_result", "tool_use_id": "toolu_1", "content": "Sunny, 21 degrees."}
    messages = [
        {"role": "user", "content": "Weather in Paris?"},
        {"role": "assistant", "content": [call]},
        {"role": "user", "content": [result]},
    ]
    assert ask(messages=messages, tools=[WEATHER])["type"] == "message"


def a_request_without_messages_is_an_error():
    status, data = post("/v1/messages", {"model": MODEL, "max_tokens": 4, "messages": []})
    error = json.loads(data)
    assert status == 400 and error["type"] == "error", data
    assert error["error"]["type"] == "invalid_request_error", data


CASES = [
    a_message_is_complete,
    system_and_content_may_be_blocks,
    a_conversation_has_several_turns,
    the_limit_ends_a_message,
    a_stop_sequence_ends_a_message,
    events_have_their_order,
    tokens_are_counted,
    tools_are_accepted,
    a_tool_result_is_read,
    a_request_without_messages_is_an_error,
]

failed = 0
for case in CASES:
    try:
        case()
    except Exception as error:
        failed += 1
        print(f"{case.__name__}: {error!r}")
print(f"{len(CASES) - failed} of {len(CASES)} cases of Anthropic's protocol passed")
sys.exit(1 if failed else 0)
