"""The ollama SDK."""

import httpx
import ollama
from conftest import GATEWAY, KEY, TIMEOUT
from sdk import SCHEMA, WEATHER, Said, Sdk, Used


class Ollama(Sdk):
    dialect = "ollama"
    error = ollama.ResponseError
    broken = (ollama.ResponseError, httpx.HTTPError)
    TOOL = {"type": "function", "function": {"name": WEATHER, "parameters": SCHEMA}}

    def __init__(self):
        headers = {"authorization": f"Bearer {KEY}"}
        self.client = ollama.Client(host=GATEWAY, headers=headers, timeout=TIMEOUT)

    def ask(self, stream, **request):
        answer = self.client.chat(stream=stream, **request)
        return list(answer) if stream else [answer]

    def say(self, model, prompt, image, stream):
        message = {"role": "user", "content": prompt, "images": [image] if image else None}
        parts = self.ask(stream, model=model, messages=[message])
        last = parts[-1]
        assert (last.done, last.done_reason) == (True, "stop")
        pieces = [part.message.content for part in parts if part.message.content]
        return Said(pieces, (last.prompt_eval_count, last.eval_count))

    def use(self, model, prompt, result, stream):
        messages = [{"role": "user", "content": prompt}]
        request = {"model": model, "messages": messages, "tools": [self.TOOL]}
        parts = self.ask(stream, **request)
        assert parts[-1].done
        [message] = [part.message for part in parts if part.message.tool_calls]
        [call] = message.tool_calls
        name = call.function.name
        messages += [message, {"role": "tool", "tool_name": name, "content": result}]
        [final] = self.ask(False, **request)
        return Used(name, dict(call.function.arguments), final.message.content)
