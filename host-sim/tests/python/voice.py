"""Talks to the voice service as Home Assistant does, with the client that it uses: voice.py HOST:PORT"""

import asyncio
import sys

from wyoming.asr import Transcript
from wyoming.client import AsyncTcpClient
from wyoming.handle import Handled, NotHandled
from wyoming.info import Describe, Info
from wyoming.ping import Ping, Pong


async def main(host: str, port: int) -> None:
    async with AsyncTcpClient(host, port) as client:
        await client.write_event(Describe().event())
        info = Info.from_event(await client.read_event())
        [program] = info.handle
        assert program.name == "Hearthwave" and program.installed, program
        assert program.supports_home_control, program
        assert {"en", "de"} <= set(program.models[0].languages), program
        await client.write_event(Ping("still there?").event())
        assert Pong.from_event(await client.read_event()).text == "still there?"

    context = {"conversation_id": "01K9ZQ5J6M3V8W2X4Y7Z0A1B2C", "satellite_id": "assist_satellite.kitchen"}
    for text, said in [
        ("turn on the kitchen light", "Kitchen Light is now on."),
        ("hey hearth wave, what is 6 times 7?", "6 times 7 is 42."),
    ]:
        async with AsyncTcpClient(host, port) as client:
            await client.write_event(Transcript(text, context=context, language="en").event())
            event = await client.read_event()
            assert Handled.is_type(event.type), event
            handled = Handled.from_event(event)
            assert (handled.text, handled.context) == (said, context), handled

    async with AsyncTcpClient(host, port) as client:
        await client.write_event(Transcript("", context=context).event())
        event = await client.read_event()
        assert NotHandled.is_type(event.type), event
        assert NotHandled.from_event(event).text == "Sorry, I did not hear anything.", event


host, port = sys.argv[1].rsplit(":", 1)
asyncio.run(main(host, int(port)))
