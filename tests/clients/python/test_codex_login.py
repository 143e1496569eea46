"""Codex with a ChatGPT login of its own, beside a key of the gateway."""

import base64
import json
import os
import time
import urllib.request
from pathlib import Path

from command_line import Desk, Ran
from conftest import GATEWAY, KEY, asked_upstream
from script import TEXT
from test_codex import codex

OPERATOR = os.environ["MAJORDOMO_OPERATOR"]
ACCOUNT = "canary-account-7f3a"
# Codex asks nobody whether a login is valid, only when it expires.
CONFIG = f"""
model_provider = "majordomo"
check_for_update_on_startup = false
cli_auth_credentials_store = "file"

[model_providers.majordomo]
name = "majordomo"
base_url = "{GATEWAY}/v1"
wire_api = "responses"
requires_openai_auth = true
http_headers = {{ "x-majordomo-key" = "{KEY}" }}

[analytics]
enabled = false
"""


def token(word: str, **claims) -> str:
    """An unsigned token as a login has it."""
    account = {"chatgpt_plan_type": "pro", "chatgpt_account_id": ACCOUNT, "chatgpt_user_id": "user-1"}
    claims |= {"exp": int(time.time()) + 864_000, "https://api.openai.com/auth": account}
    parts = [{"alg": "none", "typ": "JWT"}, claims]
    encoded = [base64.urlsafe_b64encode(json.dumps(it).encode()).decode().rstrip("=") for it in parts]
    return ".".join([*encoded, f"canary{word}"])


def log_in(desk: Desk, word: str) -> str:
    """Writes what `codex login` would, and returns the token that Codex sends."""
    access = token(word)
    login = {
        "auth_mode": "chatgpt",
        "OPENAI_API_KEY": None,
        "tokens": {
            "id_token": token(word, email="ada@example.com"),
            "access_token": access,
            "refresh_token": f"canary-refresh-{word}",
            "account_id": ACCOUNT,
        },
        "last_refresh": time.strftime("%Y-%m-%dT%H:%M:%S.000000Z", time.gmtime()),
    }
    desk.setting(".codex/auth.json", json.dumps(login))
    return access


def logged_in(desk: Desk, prompt: str) -> Ran:
    return codex(desk, CONFIG, "via-chatgpt", prompt)


def operator(path: str) -> str:
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    with opener.open(OPERATOR + path, timeout=30) as answer:
        return answer.read().decode()


def last_row() -> str:
    """The page of the last request with the login, once the ledger has it."""
    for _ in range(100):
        rows = json.loads(operator("/api/requests"))["requests"]
        ids = [row["id"] for row in rows if row["model"] == "via-chatgpt"]
        if ids:
            return operator(f"/requests/{ids[0]}")
        time.sleep(0.1)
    raise AssertionError("no row")


def stored() -> list[str]:
    """The contents of all files of the gateway. SQLite removes its journals at any time."""
    contents = []
    for file in Path(os.environ["XDG_STATE_HOME"]).rglob("*"):
        try:
            contents.append(file.read_bytes().decode("latin-1"))
        except (FileNotFoundError, IsADirectoryError):
            pass
    return contents


def test_its_login_reaches_its_vendor_only_and_the_client_pays(desk, word):
    access = log_in(desk, word)
    ran = logged_in(desk, f"hello {word}")
    assert (ran.code, ran.out.strip()) == (0, TEXT), ran.all
    asked = asked_upstream(word)
    assert {it["path"].split("?")[0] for it in asked} == {"/responses/backend-api/codex/responses"}
    headers = asked[-1]["headers"]
    assert headers["authorization"] == f"Bearer {access}"
    assert headers["chatgpt-account-id"] == ACCOUNT
    assert "x-majordomo-key" not in headers and KEY not in json.dumps(asked)
    assert "<td>client_paid</td>" in last_row()


def test_its_login_is_withheld_from_the_next_vendor(desk, word):
    access = log_in(desk, word)
    ran = logged_in(desk, f"stumble 3 times with 500 as {word}")
    assert (ran.code, ran.out.strip()) == (0, TEXT), ran.all
    others = [it for it in asked_upstream(word) if "/backend-api/" not in it["path"]]
    assert others, "no failover happened"
    for request in others:
        seen = json.dumps(request["headers"])
        assert access not in seen and ACCOUNT not in seen and KEY not in seen
        assert request["headers"]["authorization"] == "Bearer sk-canary-upstream"


def test_its_login_is_kept_nowhere(desk, word):
    access = log_in(desk, word)
    assert logged_in(desk, f"hello {word}").code == 0
    kept = [operator(path) for path in ("/", "/metrics", "/api/health", "/api/requests", "/targets")]
    kept += [last_row(), Path(os.environ["MAJORDOMO_LOG"]).read_text(encoding="utf-8")]
    ledger = stored()
    assert any("via-chatgpt" in it for it in ledger), "the ledger has its requests"
    kept += ledger
    for text in kept:
        for secret in (access, f"canary{word}", ACCOUNT, KEY):
            assert secret not in text
