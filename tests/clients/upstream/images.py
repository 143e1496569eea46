"""Image generation in three ways: OpenAI's images API, Stable Diffusion's, Gemini's chat.

Every image is the same small PNG. OpenAI's responses say in `revised_prompt` what arrived.
"""

import base64
import email.parser
import email.policy
import json

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mP8z8BQDwAEhQGAhKmMIQAAAABJRU5ErkJggg=="
)
DATA = base64.b64encode(PNG).decode()


def form(content_type: str, body: bytes) -> dict:
    """The fields of a form; files are their sizes."""
    head = f"content-type: {content_type}\r\n\r\n".encode()
    message = email.parser.BytesParser(policy=email.policy.HTTP).parsebytes(head + body)
    fields = {}
    for part in message.iter_parts():
        name = part.get_param("name", header="content-disposition")
        content = part.get_payload(decode=True)
        value = len(content) if part.get_filename() else content.decode()
        fields.setdefault(name, []).append(value)
    return fields


def respond(path: str, content_type: str, raw: bytes):
    """What was asked and the response, or None if this is no request for images."""
    if path == "/chat/v1/images/generations":
        asked = json.loads(raw)
        said = f"{asked['model']} draws {asked['prompt']}"
        data = [{"b64_json": DATA, "revised_prompt": said} for _ in range(asked.get("n", 1))]
        usage = {"input_tokens": 12, "output_tokens": 34, "total_tokens": 46}
        return asked, {"created": 7, "data": data, "usage": usage}
    if path == "/chat/v1/images/edits":
        asked = form(content_type, raw)
        files = asked.get("image", []) + asked.get("image[]", [])
        said = f"{asked['model'][0]} edits {files} by {asked['prompt'][0]}"
        return asked, {"created": 7, "data": [{"b64_json": DATA, "revised_prompt": said}]}
    if path in ("/swap/sdapi/v1/txt2img", "/swap/sdapi/v1/img2img"):
        asked = json.loads(raw)
        return asked, {"images": [DATA] * asked.get("batch_size", 1), "info": "{}"}
    if path.endswith(":generateContent") and b'"responseModalities"' in raw:
        asked = json.loads(raw)
        part = {"inlineData": {"mimeType": "image/png", "data": DATA}}
        candidate = {"content": {"role": "model", "parts": [part]}, "finishReason": "STOP"}
        usage = {"promptTokenCount": 5, "candidatesTokenCount": 1290, "totalTokenCount": 1295}
        return asked, {"candidates": [candidate], "usageMetadata": usage}
    return None
