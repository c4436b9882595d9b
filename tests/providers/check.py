#!/usr/bin/env python3
"""Checks request bodies against the types of the providers' own SDKs.

Reads lines of `{"provider": "anthropic" | "openai" | "ollama", "body": {...}}`, and says which do not fit; other lines
are passed over. Nothing is sent anywhere. From the root of the repository:

    python3 -m venv venv && venv/bin/pip install --requirement tests/providers/requirements.txt
    cargo test --quiet --package hub-core --lib print_bodies -- --ignored --nocapture \
        | venv/bin/python tests/providers/check.py
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import get_type_hints

from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from ollama._types import ChatRequest, Message, Options, Tool
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from pydantic import BaseModel, TypeAdapter, ValidationError


# Anthropic's API takes these from models that know them; its SDK has no names for them any more.
UNTYPED = {"temperature"}


def typed(params: type):
    """A check of a body against a `TypedDict`: names that it does not have are errors too."""
    hints = get_type_hints(params)
    whole = TypeAdapter(params)
    # As lists: iterables are looked at only when somebody takes something out of them.
    parts = {name: TypeAdapter(list[hints[name].__args__]) for name in ("messages", "tools")}

    def check(body: dict) -> None:
        if unknown := body.keys() - hints.keys() - UNTYPED:
            raise ValueError(f"unknown members {sorted(unknown)}")
        whole.validate_python(body)
        for name, part in parts.items():
            if name in body:
                exhaust(part.validate_python(body[name]))

    return check


def exhaust(value: object) -> None:
    """Looks at everything, which makes lazy checks happen."""
    if isinstance(value, dict):
        value = value.values()
    elif isinstance(value, (str, bytes)) or not isinstance(value, Iterable):
        return
    for inner in value:
        exhaust(inner)


def ollama(body: dict) -> None:
    """A check against Ollama's models, which must give back everything that was put in."""
    # Its request takes any object as a message or as options, so those are looked at by themselves.
    same(ChatRequest, {name: value for name, value in body.items() if name != "tools"})
    for message in body["messages"]:
        same(Message, message)
    same(Options, body["options"])
    for tool in body.get("tools", []):
        Tool.model_validate(tool)


def same(model: type[BaseModel], given: dict) -> None:
    """A check that a model understands every member, and as what it was given."""
    understood = model.model_validate(given, strict=True).model_dump(exclude_none=True)
    for name, value in given.items():
        if understood.get(name) != value:
            raise ValueError(f"{name!r}: {value!r} is understood as {understood.get(name)!r}")


CHECKS = {
    "anthropic": typed(MessageCreateParamsNonStreaming),
    "openai": typed(CompletionCreateParamsNonStreaming),
    "ollama": ollama,
}


def main() -> int:
    fits, wrong = Counter(), Counter()
    for line in sys.stdin:
        # The first test of a run is on a line with its own name.
        if (start := line.find('{"')) < 0 or '"provider"' not in line:
            continue
        asked = json.loads(line[start:])
        provider, body = asked["provider"], asked["body"]
        try:
            CHECKS[provider](body)
            fits[provider] += 1
        except (ValidationError, ValueError) as error:
            wrong[provider] += 1
            print(f"{provider}: {error}\n  {json.dumps(body)[:2000]}", file=sys.stderr)
    for provider in CHECKS:
        print(f"{provider}: {fits[provider]} bodies fit, {wrong[provider]} do not")
    # No body at all is a mistake too.
    return 1 if wrong or set(fits) != set(CHECKS) else 0


if __name__ == "__main__":
    sys.exit(main())
