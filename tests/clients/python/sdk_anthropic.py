"""The anthropic SDK."""

import base64

import anthropic
import httpx
from conftest import GATEWAY, KEY, TIMEOUT
from sdk import SCHEMA, WEATHER, Said, Sdk, Used


class Messages(Sdk):
    dialect = "messages"
    error = anthropic.APIStatusError
    broken = (anthropic.APIError, httpx.HTTPError)
    TOOL = {"name": WEATHER, "input_schema": SCHEMA}

    def __init__(self):
        self.client = anthropic.Anthropic(base_url=GATEWAY, api_key=KEY, timeout=TIMEOUT)

    def ask(self, stream, **request):
        if not stream:
            return self.client.messages.create(max_tokens=1000, **request), None
        with self.client.messages.stream(max_tokens=1000, **request) as events:
            pieces = list(events.text_stream)
            return events.get_final_message(), pieces

    def say(self, model, prompt, image, stream):
        content = [{"type": "text", "text": prompt}]
        if image:
            data = base64.b64encode(image).decode()
            source = {"type": "base64", "media_type": "image/png", "data": data}
            content.append({"type": "image", "source": source})
        messages = [{"role": "user", "content": content}]
        answer, pieces = self.ask(stream, model=model, messages=messages)
        [block] = answer.content
        assert answer.stop_reason == "end_turn"
        usage = (answer.usage.input_tokens, answer.usage.output_tokens)
        return Said(pieces or [block.text], usage)

    def use(self, model, prompt, result, stream):
        messages = [{"role": "user", "content": prompt}]
        request = {"model": model, "messages": messages, "tools": [self.TOOL]}
        answer, _ = self.ask(stream, **request)
        [call] = [block for block in answer.content if block.type == "tool_use"]
        assert answer.stop_reason == "tool_use"
        block = {"type": "tool_result", "tool_use_id": call.id, "content": result}
        messages += [
            {"role": "assistant", "content": answer.content},
            {"role": "user", "content": [block]},
        ]
        final, _ = self.ask(False, **request)
        return Used(call.name, call.input, final.content[0].text)
