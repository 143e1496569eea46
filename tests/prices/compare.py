"""Compares our costs with those of genai_prices, to the nanodollar."""

import csv
import json
import os
import subprocess
import sys
import warnings
from datetime import UTC, datetime
from decimal import ROUND_HALF_UP, Decimal

from genai_prices import Usage
from genai_prices.data import providers

warnings.simplefilter("ignore")
PROGRAM = sys.argv[1]
RECORDINGS = os.environ["MAJORDOMO_RECORDINGS"]
TABLE = os.path.join(os.path.dirname(__file__), "../../crates/ledger/data/prices.txt")
AT = datetime(2026, 11, 17, 14, tzinfo=UTC)
BY_ID = {provider.id: provider for provider in providers}

# Recorded provider → vendor in the table.
VENDORS = {
    "anthropic": "anthropic", "openai": "openai", "google": "google", "gemini": "google",
    "vertex": "google", "openrouter": "openrouter", "mistral": "mistral", "deepseek": "deepseek",
    "azure": "azure", "xai": "x-ai", "groq": "groq", "cerebras": "cerebras",
    "perplexity": "perplexity", "codex": "openai", "moonshot": "moonshotai",
}  # fmt: skip
FLAVORS = {
    "openai-chat": ["chat", "default"],
    "openai-responses": ["responses", "default"],
    "anthropic-messages": ["default"],
    "gemini": ["default"],
}


def nano(price):
    return int((price * 10**9).quantize(Decimal(1), rounding=ROUND_HALF_UP))


def ours(lines):
    text = "".join(json.dumps(line) + "\n" for line in lines)
    done = subprocess.run([PROGRAM], input=text, capture_output=True, text=True, check=True)
    return done.stdout.splitlines()


def unpriced_by_us(used):
    """Amounts that genai_prices charges for and canonical usage does not have."""
    names = ("audio", "web_search", "storage", "video", "image", "citation", "text_messages")
    values = {key: value for key, value in used.__dict__.items() if value}
    return [key for key in values if any(name in key for name in names)]


def reason(body, rates):
    """Why the two may differ on a body: what they read from it, not how they price it."""
    if not rates:
        return "lists the model without a rate and says 0; ours is unknown"
    usage = body.get("usage") or {}
    details = usage.get("prompt_tokens_details") or {}
    if "prompt_cache_hit_tokens" in usage and "cached_tokens" not in details:
        return "does not read DeepSeek's prompt_cache_hit_tokens"
    counted = usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
    if usage.get("total_tokens", 0) > counted > 0:
        return "ignores tokens that only total_tokens has; ours are output"
    return None


def recorded():
    for row in csv.DictReader(open(f"{RECORDINGS}/INDEX.tsv"), delimiter="\t"):
        vendor = VENDORS.get(row["provider"])
        flavors = FLAVORS.get(row["protocol"])
        if vendor is None or flavors is None or row["status"] not in ("200", ""):
            continue
        if "stream" in row["features"].split(",") or not row["path"].endswith(".json"):
            continue
        try:
            whole = json.load(open(f"{RECORDINGS}/{row['path']}"))
        except ValueError:
            continue
        response = whole.get("response", {}) if "request" in whole else {"body_json": whole}
        body = response.get("body_json")
        text = response.get("body_text")
        try:
            body = json.loads(text) if text is not None else body
        except ValueError:
            continue
        if isinstance(body, dict):
            yield row["path"], row["protocol"], vendor, flavors, body, text or json.dumps(body)


def compare_bodies():
    cases, skipped = [], {}
    for path, protocol, vendor, flavors, body, text in recorded():
        provider = BY_ID[vendor]
        for flavor in flavors:
            try:
                model, used = provider.extract_usage(body, api_flavor=flavor)
                break
            except (AttributeError, LookupError, TypeError, ValueError) as error:
                why = str(error).split(":")[0][:60]
        else:
            skipped[why] = skipped.get(why, 0) + 1
            continue
        info = model and provider.find_model(model, all_providers=providers)
        if not info:
            skipped["genai_prices has no such model"] = (
                skipped.get("genai_prices has no such model", 0) + 1
            )
            continue
        try:
            price = info.calc_price(used, provider, genai_request_timestamp=AT)
        except ValueError:
            why = "it refuses the recorded usage: a portion is larger than its total"
            skipped[why] = skipped.get(why, 0) + 1
            continue
        line = {"vendor": vendor, "model": model, "at_millis": int(AT.timestamp() * 1000),
                "protocol": protocol, "body": text}  # fmt: skip
        cases.append((path, used, nano(price.total_price), line, reason(body, price.model_price.__dict__)))
    same, listed, wrong = 0, {}, []
    found = ours([case[3] for case in cases])
    for (path, used, expected, line, why), found in zip(cases, found, strict=True):
        if found == str(expected):
            same += 1
        elif extra := unpriced_by_us(used):
            listed.setdefault(f"charges for {', '.join(sorted(extra))}", []).append(path)
        elif why:
            listed.setdefault(why, []).append(path)
        else:
            wrong.append((path, line["model"], used, expected, found))
    print(f"recorded bodies: {len(cases)} priced by both, {same} equal")
    for why, paths in listed.items():
        print(f"  genai_prices {why}: {len(paths)}, such as {paths[0]}")
    for why, count in sorted(skipped.items()):
        print(f"  not priced by genai_prices: {count}, {why}")
    for case in wrong:
        print("  DIFFERENT", *case)
    return len(wrong) == 0 and same >= 300


AMOUNTS = [
    {"input": 1_000, "output": 100},
    {"input": 1_000, "cache_read": 200, "cache_write_5m": 700, "output": 1},
    {"input": 150_000, "output": 7},
    {"input": 300_001, "cache_read": 100_000, "cache_write_1h": 50_001, "output": 99_999},
]
DATES = [AT, datetime(2026, 11, 17, 2, tzinfo=UTC), datetime(2025, 3, 1, 8, tzinfo=UTC)]


def rounded(model):
    """Rates with more than six decimal places, which the table rounds to picodollars."""
    prices = model.prices if isinstance(model.prices, list) else [model]
    prices = [one.prices for one in prices]
    for value in (value for one in prices for value in one.__dict__.values()):
        values = [value] if isinstance(value, Decimal) else [value.base, *(t.price for t in value.tiers)]
        if any((one * 10**6) % 1 for one in values):
            return True
    return False


def compare_table():
    included = [line.split("\t")[1].strip() for line in open(TABLE) if line.startswith("provider\t")]
    cases, lines = [], []
    for vendor in included:
        provider = BY_ID[vendor]
        for model in provider.models:
            tiers = {v.when["service_tier"] for v in model.price_variants or [] if "service_tier" in v.when}
            first = provider.find_model(model.id, all_providers=providers)
            if first is not model:
                continue
            keys = model.get_prices(AT).__dict__
            if not {"input_mtok", "output_mtok"} & set(keys):
                continue
            for tier in [None, *sorted(tiers)]:
                for at in DATES:
                    for used in AMOUNTS:
                        writes = used.get("cache_write_5m", 0) + used.get("cache_write_1h", 0)
                        usage = Usage(
                            input_tokens=used["input"], output_tokens=used["output"],
                            cache_read_tokens=used.get("cache_read", 0), cache_write_tokens=writes,
                            cache_write_1h_tokens=used.get("cache_write_1h", 0),
                        )  # fmt: skip
                        context = {"service_tier": tier} if tier else None
                        price = model.calc_price(
                            usage, provider, genai_request_timestamp=at, price_context=context
                        )
                        cases.append((vendor, model, tier, at, used, nano(price.total_price)))
                        lines.append({"vendor": vendor, "model": model.id, "tier": tier, "used": used,
                                      "at_millis": int(at.timestamp() * 1000)})  # fmt: skip
    same, thirds, free_output, wrong = 0, set(), set(), []
    for case, found in zip(cases, ours(lines), strict=True):
        vendor, model, tier, at, used, expected = case
        prices = model.get_prices(at).__dict__
        if found == str(expected):
            same += 1
        elif rounded(model):
            thirds.add(model.id)
        elif found == "unknown" and not {"input_mtok", "output_mtok"} <= set(prices):
            free_output.add(f"{vendor}/{model.id}")
        else:
            wrong.append((vendor, model.id, tier, at, used, expected, found))
    print(f"models of the table: {len(cases)} cases, {same} equal")
    print(f"  rates rounded to picodollars: {len(thirds)} models")
    print(f"  no output price (embeddings and the like): ours is unknown, theirs 0: {len(free_output)} models")
    for case in wrong[:40]:
        print("  DIFFERENT", *case)
    print(f"  different: {len(wrong)}")
    return not wrong and same > 5_000


bodies, table = compare_bodies(), compare_table()
sys.exit(0 if bodies and table else 1)
