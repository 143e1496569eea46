"""The tool runner of the anthropic SDK, which keeps the conversation in a `thread`."""

import anthropic
import pytest
from anthropic import beta_tool
from conftest import GATEWAY, KEY, TIMEOUT, UPSTREAMS, asked_upstream


@beta_tool
def get_weather(city: str) -> str:
    """Returns the weather of a city.

    Args:
        city: The city.
    """
    return f"sunny in {city}"


@pytest.mark.parametrize("stream", [False, True], ids=["whole", "streamed"])
@pytest.mark.parametrize("upstream", UPSTREAMS)
def test_it_finishes_on_every_dialect(upstream, stream, word):
    client = anthropic.Anthropic(base_url=GATEWAY, api_key=KEY, timeout=TIMEOUT)
    prompt = f'call get_weather with {{"city": "Paris"}} {word}'
    runner = client.beta.messages.tool_runner(
        model=f"via-{upstream}",
        max_tokens=1000,
        tools=[get_weather],
        messages=[{"role": "user", "content": prompt}],
        stream=stream,
    )
    [block] = runner.until_done().content
    assert block.text == "The tool said: sunny in Paris"
    # Only its own dialect has threads.
    for asked in asked_upstream(word):
        assert ("thread" in asked["body"]) == (upstream == "messages")
