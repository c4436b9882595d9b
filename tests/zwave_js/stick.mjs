// A Z-Wave stick with a house behind it, on a TCP port of this machine.
//
//   node stick.mjs PORT
//
// Lines on stdin let something happen in the house: `press 2 on`, `dead 2`, `alive 2`, `wake 9`, `motion 1`, `leak 1`,
// `temperature 23.5`, `jam 1`, `stubborn 1`, `door 254`, `blocked 1`, `button 2 3`. Each is answered with `ok` or `failed` on stdout.

import net from "node:net";
import readline from "node:readline";

import {
    BinarySwitchCCReport, MultilevelSensorCCReport, NotificationCCReport, WakeUpCCWakeUpNotification,
} from "@zwave-js/cc";
import { Faucet, SerialAPIParser, ZWaveSerialFrameType } from "@zwave-js/serial";
import { createAndOpenMockedZWaveSerialPort } from "@zwave-js/serial/mock";
import { MockController, MockNode, createMockZWaveRequestFrame } from "@zwave-js/testing";
import { createDefaultMockControllerBehaviors, createDefaultMockNodeBehaviors } from "zwave-js/Testing";

import { barrierReport, climate, nodes, pressed } from "./house.mjs";

// The mock throws if the driver is gone before it has acknowledged a frame. A stick does not mind.
process.on("unhandledRejection", (error) => console.error(`stick: ${error.message}`));

const { serial, port: mockPort } = await createAndOpenMockedZWaveSerialPort();
const controller = await MockController.create({ homeId: 0x7e570001, ownNodeId: 1, mockPort, serial });
controller.defineBehavior(...createDefaultMockControllerBehaviors());
const house = new Map();
for (const { behaviors = [], ...options } of nodes) {
    const node = await MockNode.create({ ...options, controller });
    controller.addNode(node);
    node.defineBehavior(...createDefaultMockNodeBehaviors());
    // Of two calls, the later takes precedence.
    node.defineBehavior(...behaviors);
    house.set(options.id, node);
}

const bytes = (frame) => (typeof frame.data === "number" ? Uint8Array.of(frame.data) : frame.data);
const isApi = (frame) => frame.type === ZWaveSerialFrameType.SerialAPI;
const output = new Faucet(serial.readable);

// TCP cuts the stream anywhere; the mock wants whole frames.
const server = net.createServer((socket) => {
    // A driver that is gone in the middle of a command leaves the mock waiting for it, and it would refuse all later commands.
    // A stick starts anew with its driver.
    controller.state.set("communicationState", 0);
    output.connect(new WritableStream({ write: (frame) => void (isApi(frame) && socket.write(bytes(frame))) }));
    const frames = new SerialAPIParser();
    const input = frames.writable.getWriter();
    const sink = new WritableStream({ write: async (frame) => void (isApi(frame) && (await serial.writeAsync(bytes(frame)))) });
    frames.readable.pipeTo(sink).catch(() => {});
    socket.on("data", (data) => void input.write(data).catch(() => {}));
    socket.on("error", () => {});
    socket.on("close", () => {
        output.disconnect();
        input.abort().catch(() => {});
    });
});
server.maxConnections = 1;
server.listen(Number(process.argv[2]), "127.0.0.1", () => console.log(`stick on ${server.address().port}`));

const nodeId = controller.ownNodeId;
const report = (id, cc) => house.get(id).sendToController(createMockZWaveRequestFrame(cc, { ackRequested: false }));
const notify = (id, notificationType, event, isOn) => report(id, new NotificationCCReport({
    nodeId,
    notificationType,
    notificationEvent: isOn ? event : 0,
    ...(isOn ? {} : { eventParameters: Uint8Array.of(event) }),
}));

const happenings = {
    press: async (id, value) => {
        house.get(+id).state.set("BinarySwitch_currentValue", value === "on");
        await report(+id, new BinarySwitchCCReport({ nodeId, currentValue: value === "on" }));
    },
    // Without an acknowledgement alone, it would still do what it is told, and tell so.
    dead: (id) => { house.get(+id).onControllerFrame = async () => {}; },
    alive: (id) => { delete house.get(+id).onControllerFrame; },
    wake: (id) => report(+id, new WakeUpCCWakeUpNotification({ nodeId })),
    motion: (isOn) => notify(8, 7, 8, isOn === "1"),
    leak: (isOn) => notify(13, 5, 2, isOn === "1"),
    temperature: async (degrees) => {
        climate.temperature = +degrees;
        await report(7, new MultilevelSensorCCReport({ nodeId, type: 1, scale: 0, value: +degrees }));
    },
    jam: async (isOn) => {
        house.get(5).state.set("jammed", isOn === "1");
        await notify(5, 6, isOn === "1" ? 11 : 1, true);
    },
    door: async (state) => {
        house.get(16).state.set("barrier", +state);
        await report(16, barrierReport(nodeId, +state));
    },
    blocked: (isOn) => { house.get(16).state.set("blocked", isOn === "1"); },
    button: (number, attribute) => report(17, pressed(nodeId, +number, +attribute)),
    stubborn: (isOn) => { house.get(6).state.set("stubborn", isOn === "1"); },
};

readline.createInterface({ input: process.stdin }).on("line", async (line) => {
    const [what, ...details] = line.trim().split(/\s+/);
    try {
        await happenings[what](...details);
        console.log(`ok ${line}`);
    } catch (error) {
        console.log(`failed ${line}: ${error.message}`);
    }
}).on("close", () => process.exit());
