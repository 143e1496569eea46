"""A model that does what it is asked, as conformance suites of client libraries expect.

It calls the tool that it must call or that the text names, fills schemas with numbers and
quoted words of the text, and writes JSON where the text asks for it.
"""

import json
import re

from script import TEXT, Answer, Call, ParsedRequest


def oblige(parsed: ParsedRequest) -> Answer:
    text = parsed.user
    if parsed.schema:
        return Answer(json.dumps(fill(parsed.schema, text), ensure_ascii=False))
    if not parsed.results and (name := chosen(parsed, text)):
        return Answer(call=Call(name, fill(parsed.parameters[name] | {"type": "object"}, text)))
    if "Return nothing other than JSON" in text:
        return Answer(json.dumps({key: "sample" for key in re.findall(r"'(\w+)'", text)}))
    return Answer(TEXT)


def chosen(parsed: ParsedRequest, text: str) -> str | None:
    """The tool to call: the demanded one, or the one that the text names."""
    if parsed.demanded:
        return next(iter(parsed.parameters)) if parsed.demanded == "*" else parsed.demanded
    named = (it for it in parsed.parameters if it + "(" in text)
    words = {word for word in re.findall(r"[a-z]{5,}", text.lower())}
    meant = (it for it in parsed.parameters if words & set(it.split("_")))
    return next(named, None) or next(meant, None)


def fill(schema: dict, text: str, root: dict | None = None):
    """A value of a schema, from the text where that has one."""
    root = root or schema
    if reference := schema.get("$ref"):
        for name in reference.removeprefix("#/").split("/"):
            root_part = schema = (root if name in ("$defs", "definitions") else root_part)[name]
        return fill(schema, text, root)
    if "enum" in schema:
        return schema["enum"][0]
    if "const" in schema:
        return schema["const"]
    for key in ("anyOf", "oneOf", "allOf"):
        if key in schema:
            return fill(schema[key][0], text, root)
    kind = schema.get("type", "object" if "properties" in schema else "string")
    kind = kind[0] if isinstance(kind, list) else kind
    match kind.lower():
        case "object":
            fields = schema.get("properties", {})
            return {name: fill(inner, text, root) for name, inner in fields.items()}
        case "array":
            return [fill(schema.get("items", {}), text, root)]
        case "number" | "integer":
            numbers = re.findall(r"\d+", text)
            return int(numbers[-1]) if numbers else 1
        case "boolean":
            return False
        case "null":
            return None
    quoted = re.findall(r"'([^']+)'", text)
    return quoted[-1] if quoted else "sample"
