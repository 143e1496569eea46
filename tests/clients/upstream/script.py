"""The upstream's responses, chosen by the prompt, independent of the dialect.

| the user's text                     | the response                                |
|-------------------------------------|---------------------------------------------|
| `call NAME with {JSON}`             | that call, if the tool is offered; then `The tool said: …` |
| `fail with 418`                     | an error of that status                     |
| `stumble 3 times with 529 as WORD`  | that error this often, then a response; `reset` instead of a status resets the connection; `after 2` adds a `retry-after`, and requests that come earlier are refused as well |
| `outgrow once as WORD`              | a context-length error, once                |
| `recall WORD`                       | what the model said earlier, if the client sent it |
| `break off`                         | half a response, and the connection closes  |
| anything, with a schema             | a value of the schema                       |
| anything else                       | `TEXT`, and a line about each image         |

The model `obliging` does what a capable model would: see obliging.py.
"""

import base64
import json
import re
import threading
import time
from collections import Counter
from dataclasses import dataclass, field

# Umlauts, an emoji beyond the basic plane and what JSON must escape.
TEXT = 'Grüße, 你好 🎩\n"quoted" \\ done.'
REFUSED = "the upstream was told to fail"
INPUT_TOKENS, OUTPUT_TOKENS = 120, 45
# Claude Code requests the second one on its own.
MODELS = ["scripted", "obliging", "claude-opus-5-5"]
WINDOW = 200_000


@dataclass
class ParsedRequest:
    """The relevant parts of a request."""

    user: str = ""  # all texts of the user
    said: str = ""  # all texts of the model
    tools: list[str] = field(default_factory=list)
    # Custom tools of Responses, and the namespace of each; their input is a text.
    custom: dict[str, str | None] = field(default_factory=dict)
    # The parameters of each tool, and the one that must be called, `*` for any.
    parameters: dict[str, dict] = field(default_factory=dict)
    demanded: str | None = None
    results: list[str] = field(default_factory=list)  # since the last assistant message
    schema: dict | None = None  # of the response
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
    custom: bool = False  # the input is `arguments["input"]`
    namespace: str | None = None


@dataclass
class Answer:
    """A text or a call."""

    text: str = ""
    call: Call | None = None
    asked: dict = field(default_factory=dict)  # the request's body, for what responses repeat

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
    retry_after: str | None = None
    too_long: bool = False


class Reset:
    """A connection that is reset before any response."""


# How often each scripted failure has happened, by its word, and until when it holds.
failures: Counter = Counter()
holds: dict[str, float] = {}
lock = threading.Lock()


def happens(word: str, times: int, pause: float = 0.0) -> bool:
    """Whether this failure has yet to happen; counts it, once for each pause."""
    with lock:
        now = time.monotonic()
        if now < holds.get(word, now):
            return True
        failures[word] += 1
        if failures[word] > times:
            return False
        # Clients and clocks are not exact.
        holds[word] = now + pause * 0.9
        return True


def answer(parsed: ParsedRequest) -> Answer | Break | Refusal | Reset:
    stumble = r"stumble (\d+) times with (\d{3}|reset)(?: after (\d+))? as (\w+)"
    found = re.search(stumble, parsed.user)
    if found and happens(found[4], int(found[1]), float(found[3] or 0)):
        return Reset() if found[2] == "reset" else Refusal(int(found[2]), retry_after=found[3])
    if (found := re.search(r"outgrow once as (\w+)", parsed.user)) and happens(found[1], 1):
        return Refusal(400, too_long=True)
    if status := re.search(r"fail with (\d{3})", parsed.user):
        return Refusal(int(status[1]))
    if parsed.schema:
        return Answer(json.dumps(sample(parsed.schema)))
    seen = [f"I see {kind}, {size} bytes." for kind, size in parsed.images]
    if parsed.results:
        return Answer("\n".join([f"The tool said: {' '.join(parsed.results)}", *seen]))
    if re.search(r"recall \w+", parsed.user):
        return Answer(f"I said: {parsed.said.strip() or 'nothing'}")
    if call := wanted(parsed):
        return Answer(call=call)
    reply = Answer("\n".join([TEXT, *seen]))
    return Break(reply) if "break off" in parsed.user else reply


def sample(schema: dict):
    """A value of a schema."""
    if "enum" in schema:
        return schema["enum"][0]
    match str(schema.get("type", "string")).lower():
        case "object":
            return {name: sample(inner) for name, inner in schema.get("properties", {}).items()}
        case "array":
            return []
        case "number" | "integer":
            return schema.get("minimum", 1)
        case "boolean":
            return False
    return "sample"


def wanted(parsed: ParsedRequest) -> Call | None:
    """The tool call that the user requests; opencode quotes the prompt."""
    for text in (parsed.user, parsed.user.replace('\\"', '"')):
        for match in re.finditer(r"call (\w+) with (?=\{)", text):
            if match[1] not in parsed.tools and match[1] not in parsed.custom:
                continue
            try:
                arguments, _ = json.JSONDecoder().raw_decode(text, match.end())
            except ValueError:
                continue
            namespace = parsed.custom.get(match[1])
            return Call(match[1], arguments, match[1] in parsed.custom, namespace)
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
