"""Refusals by limits: SDKs repeat those of a rate, and not those of a budget."""

import anthropic
import httpx
import httpx2
import ollama
import openai
import pytest
from conftest import GATEWAY, KEY
from google import genai
from google.genai import errors, types

MODEL = {"openai": "via-chat", "anthropic": "via-messages"}
HTTP = {"openai": httpx, "anthropic": httpx2}
ASKED = [{"role": "user", "content": "hello"}]
# More than the burst of the slow key: the last ones are refused at first.
BURST = 12


class Counted:
    """An HTTP client that counts what an SDK sends."""

    def __init__(self, vendor: str):
        self.statuses: list[int] = []
        note = lambda response: self.statuses.append(response.status_code)
        package = HTTP[vendor]
        self.http = package.Client(event_hooks={"response": [note]}, trust_env=False)


def ask(vendor: str, key: str, counted: Counted):
    if vendor == "openai":
        client = openai.OpenAI(
            base_url=GATEWAY + "/v1", api_key=key, http_client=counted.http, max_retries=3
        )
        return client.chat.completions.create(model=MODEL[vendor], messages=ASKED)
    client = anthropic.Anthropic(
        base_url=GATEWAY, api_key=key, http_client=counted.http, max_retries=3
    )
    return client.messages.create(model=MODEL[vendor], max_tokens=64, messages=ASKED)


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_a_budget_refusal_is_not_repeated(vendor):
    counted = Counted(vendor)
    with pytest.raises((openai.APIStatusError, anthropic.APIStatusError)) as raised:
        ask(vendor, KEY + "-broke", counted)
    status = {"openai": 429, "anthropic": 402}[vendor]
    assert counted.statuses == [status]
    assert raised.value.status_code == status
    assert "budget of the key `broke`" in str(raised.value)
    if vendor == "openai":
        assert raised.value.code == "insufficient_quota"
    else:
        assert raised.value.body["error"]["type"] == "billing_error"


@pytest.mark.parametrize("vendor", ["openai", "anthropic"])
def test_a_rate_refusal_is_repeated_and_then_served(vendor):
    counted = Counted(vendor)
    for _ in range(BURST):
        ask(vendor, KEY + "-slow", counted)
    assert 429 in counted.statuses, "the burst was not exceeded"
    assert counted.statuses.count(200) == BURST


def test_gemini_gets_a_clear_quota_error():
    options = types.HttpOptions(base_url=GATEWAY)
    client = genai.Client(api_key=KEY + "-broke", http_options=options)
    with pytest.raises(errors.ClientError) as raised:
        client.models.generate_content(model="via-gemini", contents="hello")
    assert (raised.value.code, raised.value.status) == (429, "RESOURCE_EXHAUSTED")
    assert "budget of the key `broke`" in raised.value.message


def test_ollama_gets_a_clear_quota_error():
    headers = {"authorization": f"Bearer {KEY}-broke"}
    client = ollama.Client(host=GATEWAY, headers=headers)
    with pytest.raises(ollama.ResponseError) as raised:
        client.chat(model="via-chat", messages=ASKED)
    assert raised.value.status_code == 429
    assert "budget of the key `broke`" in raised.value.error
