#!/usr/bin/env python3
"""Checks requests to the providers, and their replies, against the types of their own SDKs.

Reads lines of `{"provider": "anthropic" | "openai" | "ollama", "body": {...}}`, or with `reply` or `error` in the place
of `body`, and reports those that do not fit; other lines are skipped. Nothing is sent anywhere. `./tests/run host` does it.
By hand, from the root of the repository:

    python3 -m venv venv && venv/bin/pip install --requirement tests/providers/requirements.txt
    cargo test --quiet --package hub-core --lib print_bodies -- --ignored --nocapture \
        | venv/bin/python tests/providers/check.py
"""

import json
import sys
from collections import Counter
from collections.abc import Iterable
from typing import get_type_hints

from anthropic.types import ErrorResponse
from anthropic.types import Message as AnthropicMessage
from anthropic.types.message_create_params import MessageCreateParamsNonStreaming
from ollama._types import ChatRequest, ChatResponse, Message, Options, Tool
from openai.types.chat import ChatCompletion
from openai.types.chat.completion_create_params import CompletionCreateParamsNonStreaming
from openai.types.shared import ErrorObject
from pydantic import BaseModel, TypeAdapter, ValidationError


# Anthropic's API accepts these for some models; its SDK no longer declares them.
UNTYPED = {"temperature"}


def typed(params: type):
    """A check of a body against a `TypedDict`: names that it does not have are errors too."""
    hints = get_type_hints(params)
    whole = TypeAdapter(params)
    # As lists: iterables are validated lazily.
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
    # Its request accepts any object as a message or as options, so those are checked separately.
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


def model(known: type[BaseModel], *path: str):
    """A check of a reply, or of what is at the path in it, against a model, at every level of it."""

    def check(reply: dict) -> None:
        for name in path:
            reply = reply[name]
        understood = known.model_validate(reply)
        no_more(understood, "")
        if (dump := understood.model_dump(exclude_unset=True)) != reply:
            raise ValueError(f"it is understood as {dump}")

    return check


def no_more(value: object, where: str) -> None:
    """A check that nothing was put in that the models have no names for; those of some SDKs take anything."""
    if isinstance(value, BaseModel):
        if value.model_extra:
            raise ValueError(f"unknown members {sorted(value.model_extra)} in {where or 'the reply'}")
        for name in type(value).model_fields:
            no_more(getattr(value, name), f"{where}/{name}")
    elif isinstance(value, list):
        for place, item in enumerate(value):
            no_more(item, f"{where}/{place}")


def ollama_error(error: dict) -> None:
    """Its SDK reads nothing but this, and has no type for it."""
    if error.keys() != {"error"} or not isinstance(error["error"], str):
        raise ValueError("an error is a text")


CHECKS = {
    ("anthropic", "body"): typed(MessageCreateParamsNonStreaming),
    ("anthropic", "reply"): model(AnthropicMessage),
    ("anthropic", "error"): model(ErrorResponse),
    ("openai", "body"): typed(CompletionCreateParamsNonStreaming),
    ("openai", "reply"): model(ChatCompletion),
    ("openai", "error"): model(ErrorObject, "error"),
    ("ollama", "body"): ollama,
    ("ollama", "reply"): model(ChatResponse),
    ("ollama", "error"): ollama_error,
}


def main() -> int:
    fits, wrong = Counter(), Counter()
    for line in sys.stdin:
        # The first test of a run is on a line with its own name.
        if (start := line.find('{"')) < 0 or '"provider"' not in line:
            continue
        said = json.loads(line[start:])
        what = next((said["provider"], kind) for kind in ("body", "reply", "error") if kind in said)
        try:
            CHECKS[what](said[what[1]])
            fits[what] += 1
        except (ValidationError, ValueError, KeyError) as error:
            wrong[what] += 1
            about = said.get("about", "")
            print(f"{' '.join(what)} {about}: {error!r}\n  {json.dumps(said[what[1]])[:2000]}", file=sys.stderr)
    for what in fits | wrong:
        print(f"{' '.join(what)}: {fits[what]} fit, {wrong[what]} do not")
    # No request at all is an error too.
    providers = {provider for provider, _ in CHECKS}
    return 1 if wrong or {provider for provider, kind in fits if kind == "body"} != providers else 0


if __name__ == "__main__":
    sys.exit(main())
