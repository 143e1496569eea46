#!/usr/bin/env python3
"""Generates prices.txt from the package genai-prices (PyPI, MIT).

    python3 -m venv /tmp/prices && /tmp/prices/bin/pip install genai-prices==VERSION
    /tmp/prices/bin/python crates/ledger/data/generate.py 2026-11-17 >crates/ledger/data/prices.txt

The argument is the snapshot's date. Only facts are taken: names, rates, dates. A line is

    id <tab> patterns <tab> price [<tab> price …]

where a pattern has `*` for any text and `#` for a digit, `&` joins patterns that must all
match and `!` negates. A price is `@` conditions (a first day, hours in UTC, `tier=` a
service tier) and rates in USD per million: i input, o output, r cache read, w cache write,
h one-hour cache write, m image input, x reasoning, q requests; `>N` starts the rates of
requests with more than N input tokens. The last price whose conditions hold applies.
"""

import re
import sys
from datetime import datetime, time
from decimal import Decimal
from importlib.metadata import version

from genai_prices.data import providers

INCLUDED = """
anthropic arcee aws azure baseten cerebras cloudflare cohere databricks deepseek fireworks
github-copilot google groq meta minimax mistral moonshotai novita openai openrouter ovhcloud
perplexity together voyageai x-ai zai zhipuai
""".split()

LETTERS = {
    "input_mtok": "i",
    "output_mtok": "o",
    "cache_read_mtok": "r",
    "cache_write_mtok": "w",
    "cache_write_5m_mtok": "w",
    "cache_write_1h_mtok": "h",
    "input_image_mtok": "m",
    "output_reasoning_mtok": "x",
    "requests_kcount": "q",
}


def glob_of_regex(regex):
    """Patterns for the few shapes of expressions that the data has."""
    if regex == "^(?!.*-[tT][tT][sS](?:$|-))":
        return ["!*-tts&!*-tts-*"]
    if not regex.startswith("^"):
        raise ValueError(f"unknown expression {regex!r}")
    body, anchored = (regex[1:-1], True) if regex.endswith("$") else (regex[1:], False)
    body = body.replace("\\d{8}", "#" * 8).replace("\\d{4}", "#" * 4).replace("\\d{2}", "##")
    body = body.replace("\\d", "#").replace("\\.", ".").replace("\\[", "[").replace("\\]", "]")
    choices = re.search(r"\[([^\]=]+)\]", body)
    bodies = [body]
    if choices:
        before, after = body[: choices.start()], body[choices.end() :]
        bodies = [before + choice + after for choice in choices.group(1)]
    if any(re.search(r"[\\(){}?+|$^*]", one) for one in bodies):
        raise ValueError(f"unknown expression {regex!r}")
    return [one if anchored else one + "*" for one in bodies]


def patterns(clause):
    kind = type(clause).__name__
    if kind == "ClauseEquals":
        found = [clause.equals]
    elif kind == "ClauseStartsWith":
        found = [clause.starts_with + "*"]
    elif kind == "ClauseEndsWith":
        found = ["*" + clause.ends_with]
    elif kind == "ClauseContains":
        found = ["*" + clause.contains + "*"]
    elif kind == "ClauseRegex":
        return glob_of_regex(clause.regex)
    elif kind == "ClauseOr":
        return [pattern for one in clause.or_ for pattern in patterns(one)]
    elif kind == "ClauseAnd":
        joined = [""]
        for one in clause.and_:
            joined = [f"{left}&{right}".lstrip("&") for left in joined for right in patterns(one)]
        return joined
    else:
        raise ValueError(f"unknown clause {kind}")
    for pattern in found:
        if re.search(r"[#&! ]", pattern) or pattern.count("*") > 2:
            raise ValueError(f"a name with a special character: {pattern}")
    return [pattern.lower() for pattern in found]


def rate(key, value):
    if key == "requests_kcount":
        value *= 1000
    # Picodollars per token are exact enough; a handful of rates are thirds.
    text = format(value.quantize(Decimal("0.000001")), "f")
    return text.rstrip("0").rstrip(".") if "." in text else text


def rates(prices):
    base, tiers = {}, {}
    for key, value in prices.items():
        letter = LETTERS.get(key)
        if letter is None or value is None:
            continue
        if isinstance(value, Decimal):
            base[letter] = rate(key, value)
        else:
            base[letter] = rate(key, value.base)
            for tier in value.tiers:
                tiers.setdefault(tier.start, {})[letter] = rate(key, tier.price)
    words = [letter + base[letter] for letter in LETTERS.values() if letter in base]
    words = list(dict.fromkeys(words))
    for start in sorted(tiers):
        words.append(f">{start}")
        words += [letter + price for letter, price in sorted(tiers[start].items())]
    return " ".join(words)


def condition(constraint):
    if constraint is None:
        return []
    if type(constraint).__name__ == "StartDateConstraint":
        return [f"@{constraint.start_date}"]
    start, end = constraint.start_time, constraint.end_time
    return [f"@{start:%H:%M}-{end:%H:%M}"]


def day_of(constraint):
    return getattr(constraint, "start_date", None)


def service_tiers(model, standard):
    """Whole prices of each service tier, from each day on which one of its rates changes."""
    variants = [v for v in model.price_variants or [] if set(v.when) == {"service_tier"}]
    tiers = dict.fromkeys(variant.when["service_tier"] for variant in variants)
    constraints = [getattr(one, "constraint", None) for one in [*standard, *variants]]
    if tiers and any(c is not None and day_of(c) is None for c in constraints):
        raise ValueError(f"{model.id} has service tiers and hours")
    days = [None, *sorted({day_of(c) for c in constraints} - {None})]
    for tier in tiers:
        before = None
        for day in days:
            at = datetime(1970, 1, 1) if day is None else datetime.combine(day, time())
            text = rates(model.get_prices(at, {"service_tier": tier}).__dict__)
            if text != before:
                yield " ".join([f"@tier={tier}", *([] if day is None else [f"@{day}"]), text])
            before = text


def lines(model):
    standard = model.prices if isinstance(model.prices, list) else [model]
    listed = []
    for one in standard:
        prices = {key: value for key, value in one.prices.__dict__.items() if value is not None}
        if model.id.endswith(":free") and not prices:
            prices = {"input_mtok": Decimal(0), "output_mtok": Decimal(0)}
        listed.append((condition(getattr(one, "constraint", None)), prices))
    if not any({"input_mtok", "output_mtok"} & set(prices) for _, prices in listed):
        return None
    words = [" ".join([*when, rates(prices)]).strip() for when, prices in listed]
    return words + list(service_tiers(model, standard))


def main():
    date = sys.argv[1]
    print(f"# Public prices on {date}, from genai-prices {version('genai-prices')}: facts only.")
    print("# Copyright (c) Pydantic Services Inc. 2025 to present, MIT: LICENSE-genai-prices.")
    print("# Generated by generate.py, which describes the format. Do not edit.")
    print(f"date\t{date}")
    for provider in providers:
        if provider.id not in INCLUDED:
            continue
        fallback = " ".join(provider.fallback_model_providers or [])
        print(f"provider\t{provider.id}\t{fallback}".rstrip())
        for model in provider.models:
            words = lines(model)
            # A model without token prices still hides the models that follow it.
            names = " ".join(dict.fromkeys(patterns(model.match)))
            print("\t".join([model.id, names, *(words or [])]))


main()
