"""LangChain's own integration tests, for the classes of four vendors over every dialect.

Run by `tests/clients/run langchain`. Inputs that the tests fetch from the network are left
out.
"""

import os

from langchain_anthropic import ChatAnthropic
from langchain_core.language_models import BaseChatModel
from langchain_google_genai import ChatGoogleGenerativeAI
from langchain_ollama import ChatOllama
from langchain_openai import ChatOpenAI
from langchain_tests.integration_tests import ChatModelIntegrationTests

KEY = os.environ["MAJORDOMO_KEY"]
MODEL = "obliging"
UPSTREAMS = ["chat", "responses", "messages", "gemini", "ollama"]


def url(upstream: str) -> str:
    return os.environ["MAJORDOMO_URL_" + upstream.upper()]


def openai(upstream: str) -> dict:
    return {"model": MODEL, "base_url": f"{url(upstream)}/v1", "api_key": KEY, "stream_usage": True}


def responses(upstream: str) -> dict:
    return openai(upstream) | {"use_responses_api": True, "store": False}


def anthropic(upstream: str) -> dict:
    return {"model": MODEL, "base_url": url(upstream), "api_key": KEY, "max_tokens": 1000}


def google(upstream: str) -> dict:
    return {"model": MODEL, "base_url": url(upstream), "api_key": KEY}


def ollama(upstream: str) -> dict:
    headers = {"authorization": f"Bearer {KEY}"}
    return {"model": MODEL, "base_url": url(upstream), "client_kwargs": {"headers": headers}}


def suite(model_class: type[BaseChatModel], params: dict, forces_tools: bool, json_mode: bool) -> type:
    """The standard tests of a class with these parameters."""

    class Suite(ChatModelIntegrationTests):
        chat_model_class = property(lambda self: model_class)
        chat_model_params = property(lambda self: params)
        has_tool_choice = property(lambda self: forces_tools)
        supports_json_mode = property(lambda self: json_mode)
        supports_anthropic_inputs = property(lambda self: model_class is ChatAnthropic)
        # Google's class takes no other model per call.
        overrides = None if model_class is ChatGoogleGenerativeAI else MODEL
        model_override_value = property(lambda self: self.overrides)

    return Suite


CLASSES = {
    "OpenAI": (ChatOpenAI, openai, True, True),
    "OpenAIResponses": (ChatOpenAI, responses, True, True),
    "Anthropic": (ChatAnthropic, anthropic, True, False),
    "Google": (ChatGoogleGenerativeAI, google, True, False),
    # Ollama's protocol cannot force a tool.
    "Ollama": (ChatOllama, ollama, False, True),
}

for _name, (_class, _params, _forces, _json) in CLASSES.items():
    for _upstream in UPSTREAMS:
        _suite = suite(_class, _params(_upstream), _forces, _json)
        _title = f"Test{_name}Over{_upstream.capitalize()}"
        _suite.__name__ = _suite.__qualname__ = _title
        globals()[_title] = _suite
