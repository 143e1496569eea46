"""The upstream's responses, chosen by the prompt, independent of the dialect.

| the user's text                     | the response                                |
|-------------------------------------|---------------------------------------------|
| `call NAME with {JSON}`             | that call, if the tool is offered; then `The tool said: …` |
| `fail with 418`                     | an error of that status                     |
| `break off`                         | half a response, and the connection closes  |
| anything else                       | `TEXT`, and a line about each image         |
"""

import base64
import json
import re
from dataclasses import dataclass, field

# Umlauts, an emoji beyond the basic plane and what JSON must escape.
TEXT = 'Grüße, 你好 🎩\n"quoted" \\ done.'
REFUSED = "the upstream was told to fail"
INPUT_TOKENS, OUTPUT_TOKENS = 120, 45
# Claude Code requests the second one on its own.
MODELS = ["scripted", "claude-opus-5-5"]


@dataclass
class ParsedRequest:
    """The relevant parts of a request."""

    user: str = ""  # all texts of the user
    tools: list[str] = field(default_factory=list)
    results: list[str] = field(default_factory=list)  # since the last assistant message
    images: list[tuple[str, int]] = field(default_factory=list)  # media type and bytes

    def image(self, media_type: str, data: str):
        """Adds an image given as base64."""
        self.images.append((media_type, len(base64.b64decode(data, validate=True))))

    def data_url(self, url: str):
        """Adds an image given as a data URL."""
        kind, data = re.fullmatch(r"data:([^;,]+);base64,(.*)", url, re.DOTALL).groups()
        self.image(kind, data)


@dataclass
class Call:
    name: str
    arguments: dict


@dataclass
class Answer:
    """A text or a call."""

    text: str = ""
    call: Call | None = None

    def pieces(self) -> list[str]:
        """The text in chunks of a few characters."""
        return [self.text[i : i + 7] for i in range(0, len(self.text), 7)]


@dataclass
class Break:
    """A truncated response."""

    answer: Answer


@dataclass
class Refusal:
    status: int
    text: str = REFUSED


def answer(parsed: ParsedRequest) -> Answer | Break | Refusal:
    if status := re.search(r"fail with (\d{3})", parsed.user):
        return Refusal(int(status[1]))
    seen = [f"I see {kind}, {size} bytes." for kind, size in parsed.images]
    if parsed.results:
        return Answer("\n".join([f"The tool said: {' '.join(parsed.results)}", *seen]))
    if call := wanted(parsed):
        return Answer(call=call)
    reply = Answer("\n".join([TEXT, *seen]))
    return Break(reply) if "break off" in parsed.user else reply


def wanted(parsed: ParsedRequest) -> Call | None:
    """The tool call that the user requests."""
    for match in re.finditer(r"call (\w+) with (?=\{)", parsed.user):
        if match[1] in parsed.tools:
            arguments, _ = json.JSONDecoder().raw_decode(parsed.user, match.end())
            return Call(match[1], arguments)
    return None


def events(values) -> list[bytes]:
    """Server-sent events, one for each value; a pair has a name first."""
    written = []
    for value in values:
        name, value = value if isinstance(value, tuple) else (None, value)
        data = value if isinstance(value, str) else json.dumps(value)
        head = f"event: {name}\n" if name else ""
        written.append(f"{head}data: {data}\n\n".encode())
    return written
