"""The google-genai SDK."""

import httpx
from conftest import GATEWAY, KEY, TIMEOUT
from google import genai
from google.genai import errors, types
from sdk import SCHEMA, WEATHER, Said, Sdk, Used


class Gemini(Sdk):
    dialect = "gemini"
    error = errors.APIError
    broken = (errors.APIError, httpx.HTTPError)
    TOOL = types.Tool(
        function_declarations=[
            types.FunctionDeclaration(name=WEATHER, parameters_json_schema=SCHEMA)
        ]
    )

    def __init__(self):
        options = types.HttpOptions(base_url=GATEWAY, timeout=int(TIMEOUT * 1000))
        self.client = genai.Client(api_key=KEY, http_options=options)

    def status(self, error):
        return error.code

    def say(self, model, prompt, image, stream):
        contents = [types.Part.from_text(text=prompt)]
        if image:
            contents.append(types.Part.from_bytes(data=image, mime_type="image/png"))
        request = {"model": model, "contents": contents}
        if stream:
            chunks = list(self.client.models.generate_content_stream(**request))
        else:
            chunks = [self.client.models.generate_content(**request)]
        last = chunks[-1]
        assert last.candidates[0].finish_reason == types.FinishReason.STOP
        usage = last.usage_metadata
        pieces = [chunk.text for chunk in chunks if chunk.text]
        return Said(pieces, (usage.prompt_token_count, usage.candidates_token_count))

    def use(self, model, prompt, result, stream):
        config = types.GenerateContentConfig(tools=[self.TOOL])
        contents = [types.UserContent(prompt)]
        request = {"model": model, "contents": contents, "config": config}
        if stream:
            chunks = list(self.client.models.generate_content_stream(**request))
        else:
            chunks = [self.client.models.generate_content(**request)]
        parts = [part for chunk in chunks for part in chunk.candidates[0].content.parts or []]
        [call] = [part.function_call for part in parts if part.function_call]
        answered = types.FunctionResponse(id=call.id, name=call.name, response={"output": result})
        contents += [
            types.Content(role="model", parts=parts),
            types.Content(role="user", parts=[types.Part(function_response=answered)]),
        ]
        final = self.client.models.generate_content(**request)
        return Used(call.name, call.args, final.text)
