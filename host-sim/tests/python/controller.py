"""A controller by other hands: a small home behind the Python MCP SDK, on stdio.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    cargo sim --link 'exec:venv/bin/python controller.py'

With a number as its argument, it has as many more tools as make a list of so many kilobytes.

stdout carries JSON-RPC alone; the log goes to stderr.
"""

import logging
import sys
from typing import Annotated, Literal

from mcp.server.mcpserver import MCPServer
from mcp.server.mcpserver.exceptions import ToolError
from pydantic import Field

logging.basicConfig(stream=sys.stderr, level=logging.DEBUG, format="%(levelname)s %(name)s: %(message)s")
log = logging.getLogger("controller")

server = MCPServer("python-zwave", version="1.0.0")
switches = {"Switch One": False, "Kitchen Light": False, "Porch Light": True}


def word(on: bool) -> str:
    return "on" if on else "off"


@server.tool()
def list_devices() -> str:
    """Lists the devices of the home and how they stand."""
    return "\n".join(f"{name} is {word(on)}" for name, on in switches.items())


@server.tool()
def control_zwave_device(
    deviceName: Annotated[str, Field(description="Name of the device, in any case")],
    action: Annotated[Literal["on", "off", "toggle"], Field(description="What to do")],
) -> str:
    """Switches a device on or off."""
    log.debug("control_zwave_device: %s %s", deviceName, action)
    names = {name.lower(): name for name in switches}
    name = names.get(deviceName.strip().lower())
    if name is None:
        raise ToolError(f"Device '{deviceName}' not found; there are {', '.join(switches)}")
    switches[name] = not switches[name] if action == "toggle" else action == "on"
    return f"{name} is now {word(switches[name])}"


def add_tools(kilobytes: int) -> None:
    """Adds tools in the shape of those that public servers have, until the list is that long."""

    def browser_action(
        address: Annotated[str, Field(description="Where to go, as a whole address. " * 4)],
        selector: Annotated[str | None, Field(description="Which element, by its role and name. " * 5)] = None,
        timeout: Annotated[int, Field(description="Milliseconds to wait", ge=0, le=60000)] = 30000,
    ) -> str:
        return f"{address} was opened"

    # What the SDK writes around a description, for a tool like this one.
    envelope = 930
    number, length = 0, 0
    while length < kilobytes * 1000:
        description = f"Does action {number} in a browser. " * (1 + number % 12)
        server.add_tool(browser_action, name=f"browser_action_{number}", description=description)
        number, length = number + 1, length + len(description) + envelope


if __name__ == "__main__":
    log.info("starting")
    if len(sys.argv) > 1:
        add_tools(int(sys.argv[1]))
    server.run("stdio")
