// The nodes of the house behind the mock stick: one of each kind that people have at home, and what makes each of them
// difficult. Behaviours that zwave-js's own mock lacks are added here.

import {
    BarrierOperatorCCGet, BarrierOperatorCCReport, BarrierOperatorCCSet, BarrierOperatorCCSignalingCapabilitiesGet,
    BarrierOperatorCCSignalingCapabilitiesReport, BatteryCCGet, BatteryCCReport, CentralSceneCCConfigurationGet,
    CentralSceneCCConfigurationReport, CentralSceneCCNotification, CentralSceneCCSupportedGet, CentralSceneCCSupportedReport,
    DoorLockCCOperationSet, SwitchType, ThermostatMode, ThermostatSetpointCCSet, ThermostatSetpointType, WakeUpCCIntervalCapabilitiesGet, WakeUpCCIntervalCapabilitiesReport, WakeUpCCIntervalGet,
    WakeUpCCIntervalReport,
} from "@zwave-js/cc";
import { CommandClasses } from "@zwave-js/core";
import { Bytes } from "@zwave-js/shared";

const everywhere = [
    CommandClasses.Version,
    CommandClasses["Manufacturer Specific"],
    { ccId: CommandClasses["Z-Wave Plus Info"], version: 2 },
];

/** What every node has, its name, and what else it can do. */
const commandClasses = (name, location, ...others) => [
    ...everywhere,
    ...(name ? [{ ccId: CommandClasses["Node Naming and Location"], version: 1, name, location }] : []),
    ...others,
];

const binarySwitch = { ccId: CommandClasses["Binary Switch"], version: 2, defaultValue: false };
const dimmer = { ccId: CommandClasses["Multilevel Switch"], version: 4, defaultValue: 0, primarySwitchType: SwitchType["Off/On"] };
const battery = { ccId: CommandClasses.Battery, version: 1 };
const wakeUp = { ccId: CommandClasses["Wake Up"], version: 2 };

const answer = (cc) => ({ action: "sendCC", cc });

const hasBattery = (level) => ({
    handleCC(controller, node, cc) {
        if (cc instanceof BatteryCCGet) {
            return answer(new BatteryCCReport({ nodeId: controller.ownNodeId, level, isLow: level < 15 }));
        }
    },
});

const wakesUp = {
    handleCC(controller, node, cc) {
        const nodeId = controller.ownNodeId;
        if (cc instanceof WakeUpCCIntervalGet) {
            return answer(new WakeUpCCIntervalReport({ nodeId, wakeUpInterval: 3600, controllerNodeId: nodeId }));
        }
        if (cc instanceof WakeUpCCIntervalCapabilitiesGet) {
            return answer(new WakeUpCCIntervalCapabilitiesReport({
                nodeId, defaultWakeUpInterval: 3600, minWakeUpInterval: 300, maxWakeUpInterval: 86400, wakeUpIntervalSteps: 60,
            }));
        }
    },
};

/**
 * The mock of zwave-js refuses every setpoint above the least. This one takes what it is told, unless it is stubborn: then
 * it acknowledges the command and stays as it was, as a valve does whose owner has locked it.
 */
const takesSetpoints = {
    handleCC(controller, node, cc) {
        if (!(cc instanceof ThermostatSetpointCCSet)) return;
        if (!node.state.get("stubborn")) {
            node.state.set(`ThermostatSetpoint_setpoint_${cc.setpointType}`, cc.value);
            node.state.set(`ThermostatSetpoint_scale_${cc.setpointType}`, cc.scale);
        }
        return { action: "ok" };
    },
};

/** A bolt that does not move. */
const jams = {
    handleCC(controller, node, cc) {
        if (cc instanceof DoorLockCCOperationSet && node.state.get("jammed")) return { action: "fail" };
    },
};

/** zwave-js drives barriers and never is one: what a door reads and writes is missing. */
BarrierOperatorCCSet.from = (raw, context) =>
    new BarrierOperatorCCSet({ nodeId: context.sourceNodeId, targetState: raw.payload[0] });
const withPayload = (cc, ...bytes) => Object.assign(cc, { payload: Bytes.from(bytes) });
export const barrierReport = (nodeId, state) => withPayload(new BarrierOperatorCCReport({ nodeId }), state);

/** A garage door that takes its time, and stops on its way if something is in it. */
const isGarageDoor = {
    handleCC(controller, node, cc) {
        const nodeId = controller.ownNodeId;
        if (cc instanceof BarrierOperatorCCGet) return answer(barrierReport(nodeId, node.state.get("barrier") ?? 0));
        if (cc instanceof BarrierOperatorCCSignalingCapabilitiesGet) {
            return answer(withPayload(new BarrierOperatorCCSignalingCapabilitiesReport({ nodeId }), 0));
        }
        if (cc instanceof BarrierOperatorCCSet) {
            node.state.set("barrier", cc.targetState === 0 ? 252 : 254);
            setTimeout(() => node.state.set("barrier", node.state.get("blocked") ? 40 : cc.targetState), 2500);
            return { action: "ok" };
        }
    },
};

/** A remote that tells which of its four buttons was pressed, and how: by bits, all seven ways. */
const isRemote = {
    handleCC(controller, node, cc) {
        const nodeId = controller.ownNodeId;
        if (cc instanceof CentralSceneCCSupportedGet) {
            const report = new CentralSceneCCSupportedReport({ nodeId, sceneCount: 4, supportedKeyAttributes: {} });
            return answer(withPayload(report, 4, 0b1000_0011, 0b0111_1111));
        }
        if (cc instanceof CentralSceneCCConfigurationGet) {
            return answer(withPayload(new CentralSceneCCConfigurationReport({ nodeId, slowRefresh: true }), 0b1000_0000));
        }
    },
};

/** Each has a number, by which a repeated one is known. */
let sequenceNumber = 0;
export const pressed = (nodeId, sceneNumber, keyAttribute) => {
    sequenceNumber = (sequenceNumber + 1) % 256;
    const notification = new CentralSceneCCNotification({ nodeId, sequenceNumber, keyAttribute, sceneNumber });
    return withPayload(notification, sequenceNumber, 0b1000_0000 | keyAttribute, sceneNumber);
};

export const climate = { temperature: 21.5, humidity: 44, light: 120 };
const measured = (type) => ({ 1: climate.temperature, 3: climate.light, 5: climate.humidity })[type] ?? 0;
const multilevelSensor = (...types) => ({
    ccId: CommandClasses["Multilevel Sensor"],
    version: 11,
    sensors: Object.fromEntries(types.map((type) => [type, { supportedScales: [type === 3 ? 1 : 0] }])),
    getValue: measured,
});

const heating = { minValue: 5, maxValue: 30, defaultValue: 20, scale: "°C" };

/** Generic and specific device class. */
const powerSwitch = { genericDeviceClass: 0x10, specificDeviceClass: 0x01 };
const siren = { genericDeviceClass: 0x10, specificDeviceClass: 0x05 };
const multilevelSwitch = { genericDeviceClass: 0x11, specificDeviceClass: 0x01 };
const motor = { genericDeviceClass: 0x11, specificDeviceClass: 0x06 };
const lock = { genericDeviceClass: 0x40, specificDeviceClass: 0x03, isListening: false, isFrequentListening: "1000ms" };
const barrier = { genericDeviceClass: 0x40, specificDeviceClass: 0x07 };
const thermostat = { genericDeviceClass: 0x08, specificDeviceClass: 0x06 };
const sensor = { genericDeviceClass: 0x21, specificDeviceClass: 0x01 };
const alarm = { genericDeviceClass: 0x07, specificDeviceClass: 0x01 };

export const nodes = [
    {
        // Sent commands are acknowledged by the radio alone.
        id: 2,
        capabilities: { ...powerSwitch, commandClasses: commandClasses("Hall Light", "Hall", binarySwitch) },
    },
    {
        // Tells that it has begun, and later that it is done.
        id: 3,
        capabilities: {
            ...multilevelSwitch,
            commandClasses: commandClasses("Lamp", "Kitchen", CommandClasses.Supervision, { ...dimmer, travelTime: 1500 }),
        },
    },
    {
        // Tells that it is done.
        id: 4,
        capabilities: { ...powerSwitch, commandClasses: commandClasses("Lamp", "Hall", CommandClasses.Supervision, binarySwitch) },
    },
    {
        id: 5,
        capabilities: {
            ...lock,
            commandClasses: commandClasses("Front Door", "Hall", CommandClasses.Supervision, battery, {
                ccId: CommandClasses["Door Lock"], version: 4, travelTime: 600,
            }, {
                ccId: CommandClasses.Notification, version: 8, supportsV1Alarm: false, notificationTypesAndEvents: { 6: [1, 2, 11] },
            }),
        },
        behaviors: [hasBattery(82), jams],
    },
    {
        id: 6,
        capabilities: {
            ...thermostat,
            commandClasses: commandClasses("Thermostat", "Living Room", multilevelSensor(1), {
                ccId: CommandClasses["Thermostat Mode"],
                version: 3,
                supportedModes: [ThermostatMode.Off, ThermostatMode.Heat, ThermostatMode.Cool],
            }, {
                ccId: CommandClasses["Thermostat Setpoint"],
                version: 3,
                setpoints: {
                    [ThermostatSetpointType.Heating]: heating,
                    [ThermostatSetpointType.Cooling]: { ...heating, minValue: 16, maxValue: 35, defaultValue: 25 },
                },
            }),
        },
        behaviors: [takesSetpoints],
    },
    {
        // Nobody has given it a name.
        id: 7,
        capabilities: { ...sensor, commandClasses: commandClasses(null, null, multilevelSensor(1, 5, 3), battery) },
        behaviors: [hasBattery(9)],
    },
    {
        id: 8,
        capabilities: {
            ...alarm,
            isListening: false,
            commandClasses: commandClasses("Stairs Motion", "Hall", wakeUp, battery, {
                ccId: CommandClasses.Notification, version: 8, supportsV1Alarm: false, notificationTypesAndEvents: { 7: [8] },
            }),
        },
        behaviors: [hasBattery(55), wakesUp],
    },
    {
        // A valve that sleeps for an hour, and gets what it is sent when it wakes.
        id: 9,
        capabilities: {
            ...thermostat,
            isListening: false,
            commandClasses: commandClasses("Radiator", "Bedroom", wakeUp, {
                ccId: CommandClasses["Thermostat Setpoint"], version: 3, setpoints: { [ThermostatSetpointType.Heating]: heating },
            }),
        },
        behaviors: [takesSetpoints, wakesUp],
    },
    {
        // Two sockets in one case.
        id: 10,
        capabilities: {
            ...powerSwitch,
            commandClasses: commandClasses("Power Strip", "Study", { ccId: CommandClasses["Multi Channel"], version: 4 }, binarySwitch),
            endpoints: [{ commandClasses: [binarySwitch] }, { commandClasses: [binarySwitch] }],
        },
    },
    {
        id: 11,
        capabilities: {
            ...motor,
            commandClasses: commandClasses("Blind", "Study", CommandClasses.Supervision, { ...dimmer, primarySwitchType: SwitchType["Close/Open"], travelTime: 2500 }),
        },
    },
    {
        id: 12,
        capabilities: { ...siren, commandClasses: commandClasses("Siren", "Attic", CommandClasses.Supervision, binarySwitch) },
    },
    {
        id: 13,
        capabilities: {
            ...alarm,
            commandClasses: commandClasses("Washer Leak", "Cellar", {
                ccId: CommandClasses.Notification, version: 8, supportsV1Alarm: false, notificationTypesAndEvents: { 5: [2] },
            }),
        },
    },
    {
        id: 14,
        capabilities: {
            ...multilevelSwitch,
            commandClasses: commandClasses("Mood Light", "Living Room", CommandClasses.Supervision, dimmer, {
                ccId: CommandClasses["Color Switch"], version: 3, colorComponents: { 2: 0, 3: 0, 4: 0 },
            }),
        },
    },
    {
        // A thing that this program has never heard of.
        id: 15,
        capabilities: { genericDeviceClass: 0x18, specificDeviceClass: 0x01, commandClasses: commandClasses("Wall Controller", "Hall") },
    },
    {
        id: 16,
        capabilities: { ...barrier, commandClasses: commandClasses("Garage Door", "Garage", CommandClasses["Barrier Operator"]) },
        behaviors: [isGarageDoor],
    },
    {
        id: 17,
        capabilities: {
            genericDeviceClass: 0x18,
            specificDeviceClass: 0x01,
            commandClasses: commandClasses("Remote", "Bedroom", battery, { ccId: CommandClasses["Central Scene"], version: 3 }),
        },
        behaviors: [hasBattery(91), isRemote],
    },
];
