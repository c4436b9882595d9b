"""Prints what an installed Home Assistant needs to run the integrations that are named, with the versions that it pins.

Of what it names itself, the programs that no test uses are left out."""

import ast
import importlib.metadata
import importlib.util
import json
import pathlib
import re
import sys

# For cameras and Bluetooth; an installer for use at run time; and the pages that browsers show.
UNUSED = {"home-assistant-bluetooth", "home-assistant-frontend", "pyturbojpeg", "uv"}

root = pathlib.Path(importlib.util.find_spec("homeassistant").submodule_search_locations[0])


def set_up_always():
    """The integrations that are set up whatever the configuration is. Nothing can be imported yet."""
    for statement in ast.parse((root / "bootstrap.py").read_text()).body:
        names = [target.id for target in getattr(statement, "targets", []) if isinstance(target, ast.Name)]
        if {"CORE_INTEGRATIONS", "DEFAULT_INTEGRATIONS"} & set(names):
            yield from ast.literal_eval(statement.value)


needed = list(importlib.metadata.requires("homeassistant"))
todo, known = {*sys.argv[1:], *set_up_always()}, set()
while todo:
    domain = todo.pop()
    known.add(domain)
    manifest = json.loads((root / "components" / domain / "manifest.json").read_text())
    needed += manifest.get("requirements", [])
    todo |= set(manifest.get("dependencies", [])) - known
for requirement in sorted(set(needed)):
    if re.split("[^A-Za-z0-9_.-]", requirement)[0].lower() not in UNUSED:
        print(requirement)
