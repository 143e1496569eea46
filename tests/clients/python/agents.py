"""The command-line agents, each as a user runs it: default model, default settings.

Each knows how to ask one prompt, in a new conversation or in the last one, at a base URL:
the gateway, or the scripted upstream for a comparison. What is set beside the address and
the key only keeps the program off the network and its prompts unanswered.
"""

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Callable

from command_line import PACKAGES, Desk, Ran

# What tests/clients/agents/install has installed, beside the programs of PACKAGES.
HOME = Path(os.environ["MAJORDOMO_AGENTS"])
PYTHON_PROGRAMS = HOME / "python" / "bin"
MODULES = HOME / "node_modules"
# Some need a newer Node.js than the machine's.
NODE = next((str(it) for it in MODULES.glob("node-*/bin/node")), "node")


@dataclass(frozen=True)
class Agent:
    """A program, the dialect that it speaks, and the command of one prompt."""

    name: str
    dialect: str
    ask: Callable[..., Ran]
    # The call by which it reads `note.txt`; none if it has no tools.
    tool: Callable[[Desk], str] | None = None
    # The prompt and the arguments that show `picture.png`; none if it cannot.
    image: Callable[[Desk], tuple[str, list[str]]] | None = None


def call(name: str, arguments: dict) -> str:
    return f"call {name} with {json.dumps(arguments)}"


def node(desk: Desk, program: str, *arguments: str, **variables: str) -> Ran:
    home = PACKAGES if (PACKAGES / program).exists() else MODULES
    return desk.launch([NODE, str(home / program), *arguments], **variables)


def claude(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    return node(
        desk,
        "@anthropic-ai/claude-code/cli-wrapper.cjs",
        "--print",
        "--allowedTools=Read",
        *(["--continue"] if again else []),
        *more,
        prompt,
        ANTHROPIC_BASE_URL=base,
        ANTHROPIC_API_KEY=key,
        CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC="1",
    )


CODEX = """
model_provider = "majordomo"
check_for_update_on_startup = false
[model_providers.majordomo]
name = "majordomo"
base_url = "{base}/v1"
env_key = "MAJORDOMO_KEY"
wire_api = "responses"
[analytics]
enabled = false
"""


def codex(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    desk.setting(".codex/config.toml", CODEX.format(base=base))
    return node(
        desk,
        "@openai/codex/bin/codex.js",
        "exec",
        "--skip-git-repo-check",
        "--sandbox=danger-full-access",
        *(["resume", "--last"] if again else []),
        *more,
        "--",
        prompt,
        MAJORDOMO_KEY=key,
    )


GEMINI = {
    "security": {"auth": {"selectedType": "gemini-api-key"}},
    "privacy": {"usageStatisticsEnabled": False},
    "general": {"enableAutoUpdate": False},
}


def gemini(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    desk.setting(".gemini/settings.json", json.dumps(GEMINI))
    return node(
        desk,
        "@google/gemini-cli/bundle/gemini.js",
        "--skip-trust",
        *(["--resume=latest"] if again else []),
        *more,
        f"--prompt={prompt}",
        GOOGLE_GEMINI_BASE_URL=base,
        GEMINI_API_KEY=key,
    )


def opencode(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    # The built-in provider, with its own default model.
    config = {
        "$schema": "https://opencode.ai/config.json",
        "autoupdate": False,
        "share": "disabled",
        "enabled_providers": ["anthropic"],
        "provider": {"anthropic": {"options": {"baseURL": f"{base}/v1", "apiKey": key}}},
    }
    desk.setting(".config/opencode/opencode.json", json.dumps(config))
    return desk.launch(
        [
            str(native("opencode")),
            "run",
            prompt,
            *(["--continue"] if again else []),
            *more,
        ],
        OPENCODE_DISABLE_MODELS_FETCH="1",
        OPENCODE_DISABLE_AUTOUPDATE="1",
    )


def native(package: str) -> Path:
    """The binary of a package that is published per platform."""
    return next(iter(sorted(MODULES.glob(f"{package}-*-*/bin/{package}"), key=lambda it: len(str(it)))))


def qwen(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    settings = {
        "security": {"auth": {"selectedType": "openai"}},
        "privacy": {"usageStatisticsEnabled": False},
        "general": {"enableAutoUpdate": False},
    }
    desk.setting(".qwen/settings.json", json.dumps(settings))
    return node(
        desk,
        "@qwen-code/qwen-code/cli-entry.js",
        *(["--continue"] if again else []),
        *more,
        f"--prompt={prompt}",
        OPENAI_BASE_URL=f"{base}/v1",
        OPENAI_API_KEY=key,
    )


def pi(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    models = {"providers": {"anthropic": {"baseUrl": base}}}
    desk.setting(".pi/agent/models.json", json.dumps(models))
    return node(
        desk,
        "@earendil-works/pi-coding-agent/dist/bundle/cli.js",
        "--print",
        *(["--continue"] if again else []),
        *more,
        prompt,
        ANTHROPIC_API_KEY=key,
        PI_OFFLINE="1",
        PI_SKIP_VERSION_CHECK="1",
    )


def aider(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    return desk.launch(
        [
            str(PYTHON_PROGRAMS / "aider"),
            "--yes-always",
            "--no-git",
            "--no-check-update",
            "--no-show-release-notes",
            "--analytics-disable",
            "--no-show-model-warnings",
            "--no-detect-urls",
            "--no-pretty",
            *(["--restore-chat-history"] if again else []),
            *more,
            f"--message={prompt}",
        ],
        ANTHROPIC_API_KEY=key,
        ANTHROPIC_API_BASE=base,
        ANTHROPIC_BASE_URL=base,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
    )


def llm(desk: Desk, base: str, key: str, prompt: str, again=False, more=()) -> Ran:
    return desk.launch(
        [
            str(PYTHON_PROGRAMS / "llm"),
            "--tool=llm_version",
            *(["--continue"] if again else []),
            *more,
            prompt,
        ],
        OPENAI_API_KEY=key,
        OPENAI_BASE_URL=f"{base}/v1",
    )


def read_note(name: str, field: str, absolute: bool = True) -> Callable[[Desk], str]:
    return lambda desk: call(name, {field: str(desk.note) if absolute else desk.note.name})


def codex_exec(_: Desk) -> str:
    """Its default model has one tool, a program in JavaScript that calls the others."""
    program = "const r = await tools.exec_command({cmd: 'cat note.txt'}); text(r.output);"
    named = (call(name, {"input": program}) for name in ("functions__exec", "exec"))
    return " or ".join(named)


def read_picture(name: str, field: str) -> Callable[[Desk], tuple[str, list[str]]]:
    return lambda desk: (call(name, {field: str(desk.picture)}), [])


def mention_picture(_: Desk) -> tuple[str, list[str]]:
    return "look at @picture.png", []


AGENTS = [
    Agent("claude", "messages", claude, read_note("Read", "file_path"), read_picture("Read", "file_path")),
    Agent("codex", "responses", codex, codex_exec, lambda desk: ("look", [f"--image={desk.picture}"])),
    Agent("gemini", "gemini", gemini, read_note("read_file", "file_path", absolute=False), mention_picture),
    Agent("opencode", "messages", opencode, read_note("read", "filePath"), read_picture("read", "filePath")),
    Agent("qwen", "chat", qwen, read_note("read_file", "file_path")),
    Agent("pi", "messages", pi, read_note("read", "path"), read_picture("read", "path")),
    Agent("aider", "messages", aider),
    Agent("llm", "chat", llm, lambda _: call("llm_version", {}), lambda desk: ("look", ["-a", str(desk.picture)])),
]
