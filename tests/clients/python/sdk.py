"""The interface that the tests need from any vendor's SDK."""

from dataclasses import dataclass

WEATHER = "get_weather"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


@dataclass
class Said:
    """A text as it arrived: whole, or as a stream's chunks."""

    pieces: list[str]
    usage: tuple[int, int]  # input, output

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass
class Used:
    """A tool call, and the text after its result."""

    name: str
    arguments: dict
    text: str


class Sdk:
    """One API of an SDK, pointed at the gateway with a base URL and a key."""

    dialect: str  # of `../upstream`
    error: type[Exception]  # raised for a server error
    broken: tuple[type[Exception], ...]  # raised for a truncated response

    def say(self, model: str, prompt: str, image: bytes | None, stream: bool) -> Said:
        """Sends a prompt, with an optional image."""
        raise NotImplementedError

    def use(self, model: str, prompt: str, result: str, stream: bool) -> Used:
        """Offers the tool, and returns this result for its call."""
        raise NotImplementedError

    def status(self, error) -> int:
        return error.status_code
