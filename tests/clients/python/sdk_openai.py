"""The openai SDK: both of its APIs."""

import base64
import json

import openai
from conftest import GATEWAY, KEY, TIMEOUT
from sdk import SCHEMA, WEATHER, Said, Sdk, Used


def data_url(image: bytes) -> str:
    return "data:image/png;base64," + base64.b64encode(image).decode()


class OpenAi(Sdk):
    error = openai.APIStatusError
    broken = (openai.APIError,)

    def __init__(self):
        self.client = openai.OpenAI(base_url=f"{GATEWAY}/v1", api_key=KEY, timeout=TIMEOUT)


class Chat(OpenAi):
    dialect = "chat"
    TOOL = {"type": "function", "function": {"name": WEATHER, "parameters": SCHEMA}}

    def say(self, model, prompt, image, stream):
        content = [{"type": "text", "text": prompt}]
        if image:
            content.append({"type": "image_url", "image_url": {"url": data_url(image)}})
        request = {"model": model, "messages": [{"role": "user", "content": content}]}
        create = self.client.chat.completions.create
        if not stream:
            answer = create(**request)
            [choice] = answer.choices
            assert choice.finish_reason == "stop"
            pieces, usage = [choice.message.content], answer.usage
        else:
            options = {"include_usage": True}
            chunks = list(create(**request, stream=True, stream_options=options))
            choices = [chunk.choices[0] for chunk in chunks if chunk.choices]
            assert choices[-1].finish_reason == "stop"
            pieces = [choice.delta.content for choice in choices if choice.delta.content]
            usage = chunks[-1].usage
        return Said(pieces, (usage.prompt_tokens, usage.completion_tokens))

    def use(self, model, prompt, result, stream):
        messages = [{"role": "user", "content": prompt}]
        request = {"model": model, "messages": messages, "tools": [self.TOOL]}
        completions = self.client.chat.completions
        if stream:
            with completions.stream(**request) as events:
                answer = events.get_final_completion()
        else:
            answer = completions.create(**request)
        [choice] = answer.choices
        assert choice.finish_reason == "tool_calls"
        [call] = choice.message.tool_calls
        messages += [choice.message, {"role": "tool", "tool_call_id": call.id, "content": result}]
        final = completions.create(**request).choices[0].message.content
        return Used(call.function.name, json.loads(call.function.arguments), final)


class Responses(OpenAi):
    dialect = "responses"
    TOOL = {"type": "function", "name": WEATHER, "parameters": SCHEMA, "strict": None}

    def say(self, model, prompt, image, stream):
        content = [{"type": "input_text", "text": prompt}]
        if image:
            part = {"type": "input_image", "image_url": data_url(image), "detail": "auto"}
            content.append(part)
        request = {"model": model, "input": [{"role": "user", "content": content}]}
        if not stream:
            answer = self.client.responses.create(**request)
            pieces = [answer.output_text]
        else:
            events = list(self.client.responses.create(**request, stream=True))
            kind = "response.output_text.delta"
            pieces = [event.delta for event in events if event.type == kind]
            assert events[-1].type == "response.completed"
            answer = events[-1].response
        assert answer.status == "completed"
        return Said(pieces, (answer.usage.input_tokens, answer.usage.output_tokens))

    def use(self, model, prompt, result, stream):
        said = [{"role": "user", "content": prompt}]
        request = {"model": model, "input": said, "tools": [self.TOOL]}
        if stream:
            with self.client.responses.stream(**request) as events:
                answer = events.get_final_response()
        else:
            answer = self.client.responses.create(**request)
        [call] = [item for item in answer.output if item.type == "function_call"]
        output = {"type": "function_call_output", "call_id": call.call_id, "output": result}
        said += [*answer.output, output]
        final = self.client.responses.create(**request)
        return Used(call.name, json.loads(call.arguments), final.output_text)
