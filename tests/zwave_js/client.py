"""An MCP client by other hands: the Python SDK, with the controller's program at the other end of a pipe.

    python client.py PROGRAM ARGUMENT…

Prints what it understood, one line of JSON for each step. It asks the person at the switch to press it by the line
`{"watching": …}`, and ends when it was told of that.
"""

import asyncio
import json
import sys

import mcp_types as types
from mcp import ClientSession, StdioServerParameters
from mcp.client.stdio import stdio_client

LIGHT = "home://devices/2-0"


def say(**what):
    print(json.dumps(what), flush=True)


async def main():
    updated = asyncio.Event()

    async def hear(message):
        if isinstance(message, types.ResourceUpdatedNotification) and str(message.params.uri) == LIGHT:
            updated.set()

    program = StdioServerParameters(command=sys.argv[1], args=sys.argv[2:])
    async with stdio_client(program) as (rx, tx), ClientSession(rx, tx, message_handler=hear) as session:
        greeting = await session.initialize()
        offered = greeting.capabilities.resources
        say(server=greeting.server_info.name, subscribe=offered.subscribe, list_changed=offered.list_changed)
        tools = await session.list_tools()
        dangerous = [tool.name for tool in tools.tools if tool.annotations.destructive_hint]
        say(tools=len(tools.tools), dangerous=dangerous)
        # A call does not wait for the network.
        while (await session.call_tool("list_devices", {})).is_error:
            await asyncio.sleep(0.2)
        resources, cursor = [], None
        while True:
            page = await session.list_resources(params=types.PaginatedRequestParams(cursor=cursor) if cursor else None)
            resources += page.resources
            cursor = page.next_cursor
            if cursor is None:
                break
        say(resources=[resource.name for resource in resources])
        await session.subscribe_resource(LIGHT)
        say(watching=LIGHT)
        await asyncio.wait_for(updated.wait(), 60)
        read = await session.read_resource(LIGHT)
        say(read=json.loads(read.contents[0].text))
        action = json.loads(read.contents[0].text)["actions"]["off"]
        done = await session.call_tool(action["tool"], action["arguments"])
        say(off=done.content[0].text, failed=bool(done.is_error))


asyncio.run(main())
