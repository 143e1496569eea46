"""What both APIs of the openai SDK share."""

import openai
from conftest import KEY, TIMEOUT

ERRORS = [
    (400, openai.BadRequestError),
    (401, openai.AuthenticationError),
    (403, openai.PermissionDeniedError),
    (404, openai.NotFoundError),
    (409, openai.ConflictError),
    (422, openai.UnprocessableEntityError),
    (429, openai.RateLimitError),
    (500, openai.InternalServerError),
    (503, openai.InternalServerError),
]


def connect(server: str) -> openai.OpenAI:
    """A client that validates responses strictly against its types."""
    return openai.OpenAI(
        base_url=f"{server}/v1",
        api_key=KEY,
        max_retries=0,
        timeout=TIMEOUT,
        _strict_response_validation=True,
    )
