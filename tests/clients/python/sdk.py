"""What the tests want of an SDK, whatever its vendor."""

from dataclasses import dataclass

WEATHER = "get_weather"
SCHEMA = {
    "type": "object",
    "properties": {"city": {"type": "string"}, "days": {"type": "integer"}},
    "required": ["city"],
}


@dataclass
class Said:
    """A text as it came: one piece, or several of a stream."""

    pieces: list[str]
    usage: tuple[int, int]  # input, output

    @property
    def text(self) -> str:
        return "".join(self.pieces)


@dataclass
class Used:
    """A call of the tool, and the text after its result."""

    name: str
    arguments: dict
    text: str


class Sdk:
    """One API of an SDK, pointed at the gateway with a base URL and a key."""

    dialect: str  # of `../upstream`
    error: type[Exception]  # what it raises for an error of the server
    broken: tuple[type[Exception], ...]  # what it raises for an answer that is cut

    def say(self, model: str, prompt: str, image: bytes | None, stream: bool) -> Said:
        """Asks, with an image if there is one."""
        raise NotImplementedError

    def use(self, model: str, prompt: str, result: str, stream: bool) -> Used:
        """Offers the tool, and answers its call with this result."""
        raise NotImplementedError

    def status(self, error) -> int:
        return error.status_code
