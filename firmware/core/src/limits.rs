//! Every capacity, timeout and retry number of the hub, each with its reason.
//!
//! Sizes are bytes. Together they decide the hub's memory: a board has 236 KiB for everything static.

use embassy_time::Duration;

pub use hub_contract::CONVERSATION;
pub use hub_json::limits::{JSON_DEPTH, LINE, LINE_DEPTH, LINE_DESCRIPTION, QUOTE};
pub use hub_mqtt::limits::{
    CERTIFICATE, CHAT_TIMEOUT, CUT_TOPIC, DIAL_TIMEOUT, LLM_REPLY, MQTT_PACKET, MQTT_RECEIVE, MQTT_TIMEOUT,
    RECONNECT_FIRST, RECONNECT_SETTLED, RECONNECT_SLOWEST, RELAY_FINISH, REQUEST,
};

/// The hub's name at the broker, `hearthwave-<hub-id>`; minimq has room for 64.
pub const CLIENT_ID: usize = 64;

/// Longest name of a time zone: `America/Argentina/ComodRivadavia`.
pub const ZONE_NAME: usize = 32;

/// Longest hub id: with it, every topic of the hub stays well under the 128 bytes that a will may have.
pub const HUB_ID: usize = 32;

/// Longest expression to calculate. People say a line; a model that adds up a long receipt writes a few.
pub const MATH_EXPRESSION: usize = 1024;

/// Operators, open brackets and open calls on the evaluator's stack. A level of brackets takes one or two; each
/// costs twelve bytes of stack, and eight for the number before it.
pub const MATH_DEPTH: usize = 64;

/// Arguments of one call in an expression: the mean of two months of daily values.
pub const MATH_ARGUMENTS: usize = 64;

/// Largest payload of a reply: a result of the size of a request, and its envelope.
pub const REPLY: usize = REQUEST + 512;

/// Requests in work at the same time: [`APPROVALS`] that wait for a person, and beside them one turn of a conversation and two
/// calls. The slot of a reply that is being sent can be reused.
pub const JOBS: usize = 5;

/// The jobs whose slot takes a request of [`REQUEST`] bytes: a document, a rule, a call with a page of text, a long question. The
/// others take [`SHORT_REQUEST`] bytes. Turns of conversations use all but one of them: a turn may wait for approval.
pub const LARGE_JOBS: usize = 2;

/// The other jobs.
pub const SHORT_JOBS: usize = JOBS - LARGE_JOBS;

/// The payload of a request that any slot takes. Most have some 100 bytes; what a person says has a few hundred.
pub const SHORT_REQUEST: usize = 512;

/// The payload of a request that is queued while no slot is free for it. A command to a device has some 50 bytes.
pub const QUEUED_REQUEST: usize = 256;

/// Requests that are queued at the same time. Conversations leave a quarter to other requests, and the other way round: beside
/// the jobs in work, Home Assistant can switch 15 devices at once.
pub const QUEUED_REQUESTS: usize = 20;

/// The texts of all queued requests. Conversations leave a quarter to other requests, and the other way round.
pub const REQUEST_QUEUE: usize = 1280;

/// A turn of a conversation that was queued for longer is refused: its caller has given up.
pub const TURN_QUEUE_TIMEOUT: Duration = Duration::from_secs(30);

/// Any other request that was queued for longer is refused. A shutter that does not report takes 22 seconds: the last of 16 shutters
/// that start together, four at a time, waits for 66.
pub const QUEUE_TIMEOUT: Duration = Duration::from_secs(75);

/// Until people are told again that the hub refuses requests.
pub const BUSY_PAUSE: Duration = Duration::from_secs(60);

/// A caller's Response Topic. Clients use a prefix and a random id.
pub const RESPONSE_TOPIC: usize = 128;

/// A caller's Correlation Data. Usually a UUID or a counter.
pub const CORRELATION: usize = 64;

/// A request's `transaction`, as JSON text.
pub const TRANSACTION: usize = 128;

/// The name of an unknown request, as far as its refusal quotes it. Those of known ones have at most 14.
pub const UNKNOWN_REQUEST: usize = 32;

/// The text of a refusal.
pub const REFUSAL: usize = 192;

/// A tool's name; the providers of language models allow 64.
pub const TOOL_NAME: usize = 64;

/// Tools that can be called: the hub's own and the controller's.
pub const TOOLS: usize = 64;

/// The names, descriptions and schemas of the controller's tools: about twenty to forty tools. Long descriptions are
/// cut before a tool is dropped. A question to a model has room for less, so more would serve only those who call tools
/// themselves.
pub const TOOL_TEXTS: usize = 18 * 1024;

/// Tools that rules allow by name. They are kept before other tools of the controller. Further names get no preference.
pub const PREFERRED_TOOLS: usize = 32;

/// Left-out tools of the controller that the log names only once. Further ones are named after each connection.
pub const LEFT_OUT_TOLD: usize = 48;

/// Arguments of a call to a tool of the controller. Real tools take fewer than ten.
pub const ARGUMENTS: usize = 64;

/// The prefix before the names of the hub's own tools.
pub const TOOL_PREFIX: usize = 16;

/// For a tool to answer; after that it is cancelled. People do not wait longer.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// For a tool that waits for people and for the controller, whose limits are shorter together.
pub const TOOL_LONGEST: Duration = Duration::from_secs(600);

/// A tool that takes longer is logged as slow.
pub const TOOL_SLOW: Duration = Duration::from_millis(1000);

/// From the reply to a restart request to the restart: time to send the reply.
pub const RESTART_DELAY: Duration = Duration::from_secs(1);

/// For a time server to answer, its name resolved. Most take a twentieth of a second.
pub const SNTP_TIMEOUT: Duration = Duration::from_secs(5);

/// From one synchronisation to the next: a crystal is wrong by a tenth of a second then. The public pool asks for no more
/// than one question in 15 minutes or so.
pub const SNTP_INTERVAL: Duration = Duration::from_secs(3600);

/// After the first question that no time server answered. Each wait is twice as long as the last.
pub const SNTP_RETRY_FIRST: Duration = Duration::from_secs(15);

/// The longest wait for the next question to time servers that do not answer.
pub const SNTP_RETRY_SLOWEST: Duration = Duration::from_secs(1800);

/// A server that is asked too often is left alone for this long.
pub const SNTP_TOO_OFTEN: Duration = Duration::from_secs(4 * 3600);

/// A server that refuses to answer is left alone for this long.
pub const SNTP_DENIED: Duration = Duration::from_secs(7 * 24 * 3600);

/// For this long after an answer of a time server, the broker's time does not count: a crystal is wrong by two seconds then.
pub const SNTP_TRUSTED: Duration = Duration::from_secs(24 * 3600);

/// From a change of the volume to its write into the flash. A slider that never stops then erases each page of the
/// flash some seven times a day, of 100,000 that it endures.
pub const VOLUME_DELAY: Duration = Duration::from_secs(5);

/// Events that wait to be published. A new event waits for room for up to [`EVENT_WAIT`]; then the oldest one is
/// evicted.
pub const EVENTS: usize = 8;

/// How long to wait for room for an event. A working broker takes many events in this time.
pub const EVENT_WAIT: Duration = Duration::from_secs(1);

/// One text of an outcome: an error, or a sentence for a person.
pub const OUTCOME_TEXT: usize = 192;

/// The description of invalid arguments: a path, [`hub_schema::limits::OPTIONS`] and the required parameters. An error and a message
/// of this length both fit into the [`RESULT`] that a model reads.
pub const INVALID: usize = 1024;

/// The answer of a search service: some ten results of one line each.
pub const SEARCH: usize = 2048;

/// A question to a search service, as JSON.
pub const QUESTION: usize = 640;

/// Questions to others that wait for their answers at the same time: one for each job.
pub const QUESTIONS: usize = JOBS;

/// How long questions are still accepted after the connection is lost. They wait for the next connection. A broker
/// restarts in less time.
pub const BROKER_RESTART: Duration = Duration::from_secs(15);

/// How long no relay may be online before questions to models are refused. It covers two cases: one of several relays
/// leaves and the others announce themselves, or the only relay restarts together with the hub.
pub const RELAY_GRACE: Duration = Duration::from_secs(3);

/// When to repeat a question after the broker has lost the session, unless a relay announces itself earlier.
pub const QUESTION_AGAIN: Duration = Duration::from_secs(5);

/// A little longer than the 15 seconds for which the broker keeps the session of a killed relay and may route questions
/// to it.
pub const RELAY_EXPIRY: Duration = Duration::from_secs(16);

/// How long a question waits for other packets to be acknowledged, so that the definitions of all tools fit. That takes
/// some round trips, unless the radio is out of reach for a while; most of [`LLM_TIMEOUT`] is left for the model.
pub const QUESTION_DELAY: Duration = Duration::from_secs(15);

/// How soon to try again to repeat a question for which there was no room: some round trips later.
pub const QUESTION_RETRY: Duration = Duration::from_millis(500);

/// For a search service to answer; less than [`TOOL_TIMEOUT`], so that the error names the service.
pub const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);

/// Packets that wait for the broker's acknowledgement, and space to reconnect with them: one question to a model with the
/// definitions of some twenty tools, or two of the largest replies, or many small ones.
pub const MQTT_SEND: usize = 16 * 1024;

/// To tell the broker that the hub leaves, before it reconnects.
pub const FAREWELL: Duration = Duration::from_secs(1);

/// Seconds between pings. The broker notices a dead connection after one and a half times this, the hub five
/// seconds after its ping.
pub const MQTT_KEEPALIVE: u16 = 30;

/// Seconds that the broker keeps the session of a disconnected hub: long enough for a reconnect, short enough
/// that no lights react to requests of minutes ago.
pub const MQTT_SESSION_EXPIRY: u32 = 60;

/// How long replies to earlier requests wait after a reconnect, so that callers who lost the broker as well can come
/// back.
pub const CALLERS_RETURN: Duration = Duration::from_secs(3);

/// How many messages the broker may have sent without an acknowledgement: minimq's Receive Maximum.
pub const REDELIVERIES: usize = 8;

/// Bytes that are read from the controller at once: some 20 ms at 115200 baud.
pub const LINE_READ: usize = 256;

/// The parameters of a call to the controller: the arguments in a request, and the tool's name.
pub const LINE_OUT: usize = REQUEST + 256;

/// To send one line to the controller. At 115200 baud the longest takes half a second.
pub const LINE_TIMEOUT: Duration = Duration::from_secs(5);

/// For the controller to answer a ping or a page of its list, whose every tool extends it, or one of the later greetings.
pub const LINK_TIMEOUT: Duration = Duration::from_secs(5);

/// When the attempts to reach the controller begin, counted from the first. Answered or not, each ends when the next begins.
/// The pauses between them are also those after a controller was lost that did not hold.
pub const LINK_ATTEMPTS: [Duration; 3] =
    [Duration::from_secs(0), Duration::from_secs(2), Duration::from_secs(6)];

/// When the last of these attempts is given up and the link is degraded, counted from the first. A person who has just
/// plugged it in still watches.
pub const LINK_MISSING: Duration = Duration::from_secs(8);

/// Wait between attempts once the link is degraded, or once a controller was lost again and again.
pub const LINK_SLOW_RETRY: Duration = Duration::from_secs(30);

/// How long a turn that may need tools waits while the controller is connecting: until the controller is known to be
/// missing, or its list has arrived. At 115200 baud, the list takes a few seconds.
pub const LINK_SETTLES: Duration = Duration::from_secs(15);

/// A controller that is lost sooner after it became ready did not hold: the next connection waits longer. Two pings, so
/// that one that answers nothing but the handshake is among them.
pub const LINK_HOLD: Duration = Duration::from_secs(30);

/// Changed lists of tools that are requested at once; further ones are requested after a pause.
pub const LINK_RELISTS: u8 = 2;

/// Longest time after which noise on the line makes the hub check whether the controller restarted.
pub const LINK_DOUBT_LONGEST: Duration = Duration::from_secs(300);

/// How often a silent controller is pinged: a serial line does not report that its far end is gone.
pub const LINK_PING: Duration = Duration::from_secs(15);

/// Requests that wait for the controller at the same time: one for each job, and one to follow its devices.
pub const CALLS: usize = JOBS + 1;

/// Lines from the controller that are not JSON-RPC, kept to be quoted when it is not reached.
pub const RECENT_LINES: usize = 4;

/// Warnings about such lines during one connection, so that a noisy controller does not fill the log.
pub const NOISE_WARNINGS: u32 = 8;

/// The hub's own messages to the controller, without calls.
pub const LINE_OWN: usize = 1024;

/// The hub's answers to requests of the controller's that wait to be sent, some dozen. A controller that asks for more
/// without reading them goes without.
pub const LINE_REPLIES: usize = 512;

/// The controller's name and version, as announced in `info`.
pub const CONTROLLER_NAME: usize = 48;

/// The cursor for the next page of a controller's list of tools.
pub const LINK_CURSOR: usize = 128;

/// Pages of a controller's list of tools. Further pages are ignored.
pub const LINK_PAGES: u8 = 16;

/// Devices that the hub knows: those of a large home. What the controller offers beyond is counted.
pub const DEVICES: usize = 64;

/// The names, rooms and states of all devices, and what can be done with locks, garage doors and sirens. A light takes 60, a
/// metering plug 110, a guarded device 240: a large real home takes some 7 KiB, and 8.5 KiB with two-byte letters or 14 guarded devices.
pub const HOME_TEXTS: usize = 8 * 1024 + 512;

/// Devices without room that are looked at after one list: a list of 80 devices takes 0.7 seconds at 115200 baud.
pub const INSPECTED: usize = 6;

/// The names of devices without room in one notice: ten to twenty names. The rest is counted.
pub const UNKEPT_NAMES: usize = 256;

/// The id of a device, which is part of a topic. Those of Z-Wave have up to eight characters.
pub const DEVICE_ID: usize = 32;

/// What people call a device; a longer name is cut.
pub const DEVICE_NAME: usize = 64;

/// Where a device is; a longer name is cut.
pub const DEVICE_ROOM: usize = 32;

/// The state of a device, as JSON: some ten readings. A longer one is not kept.
pub const DEVICE_STATE: usize = 256;

/// The units of a device's readings that are not the usual ones, as JSON: some four of them. Longer ones are not kept, and the
/// usual ones are assumed.
pub const DEVICE_UNITS: usize = 96;

/// What the topics of Home Assistant's discovery begin with. It is `homeassistant`, unless somebody has changed it.
pub const DISCOVERY_PREFIX: usize = 32;

/// How often `health` is published for Home Assistant, at most. Its graphs need no more.
pub const HEALTH_INTERVAL: Duration = Duration::from_secs(60);

/// What can be done with a lock, a garage door or a siren, as JSON. Two actions take some 180. What is longer is not kept:
/// whatever may be about the device is then taken for the most dangerous that can be done with it.
pub const DEVICE_ACTIONS: usize = 640;

/// One device as the controller describes it. A climate device with all its actions takes 900.
pub const DEVICE: usize = 1536;

/// Tools that control devices, with the argument of each that names the device. The Z-Wave service has four.
pub const DEVICE_TOOLS: usize = 12;

/// The name of the argument that names a device. One with a longer name is not understood.
pub const ARGUMENT_NAME: usize = 24;

/// Names of devices that are offered to somebody whose name for one is unclear.
pub const NEAREST: usize = 6;

/// The names of devices or actions among which somebody has to choose.
pub const CANDIDATES: usize = 128;

/// Pages of a controller's list of devices. Those on further pages are not counted.
pub const HOME_PAGES: u8 = 64;

/// After a question about devices that failed. Each wait is twice as long as the last.
pub const HOME_RETRY: Duration = Duration::from_secs(2);

/// The longest of these waits: people who have mended something do not wait longer.
pub const HOME_RETRY_SLOWEST: Duration = Duration::from_secs(60);

/// From a list that lacks a device to the one that confirms it. Z-Wave JS takes up to half a minute to start.
pub const HOME_CONFIRM: Duration = Duration::from_secs(60);

/// How often the devices of a controller are read that does not notify of changes.
pub const HOME_POLL: Duration = Duration::from_secs(30);

/// For a model's call to wait until the devices are known, by which it is judged. 64 of them take six seconds at 115200
/// baud.
pub const HOME_SETTLES: Duration = Duration::from_secs(15);

/// After a person's approval: for a list of tools that has changed, which may be requested after a pause of [`LINK_PING`].
pub const TOOLS_SETTLE: Duration = Duration::from_secs(20);

/// How often it is looked whether they are.
pub const HOME_POLL_SETTLED: Duration = Duration::from_millis(100);

/// After a call whose outcome is unknown: for the controller to come back and tell how the device is now.
pub const READ_BACK: Duration = Duration::from_secs(8);

/// Changes that can be undone, the last one first.
pub const CHANGES: usize = 4;

/// For how long after a call a device may take to report what the call did. Slow ramps of lights take 12 seconds.
pub const CHANGE_SETTLES: Duration = Duration::from_secs(15);

/// By how much the level of a light or the position of a cover may be off without having been changed: shutters stop up to 3
/// off their target, dimmers report 98 for 99.
pub const LEVEL_TOLERANCE: f64 = 3.0;

/// The same for the setpoint of a thermostat. Some round to whole degrees.
pub const SETPOINT_TOLERANCE: f64 = 0.5;

/// Approvals that are pending at the same time, one of them for a direct call. Each keeps a job slot.
pub const APPROVALS: usize = 2;

/// For this long after an approval is decided or over, the topic `approval` shows no other: whoever has their finger on a button
/// must not decide about what has just taken its place.
pub const APPROVAL_PAUSE: Duration = Duration::from_secs(3);

/// What waits for approval, in words: the longest names of a device and a tool, and some of the arguments.
pub const APPROVAL: usize = 240;

/// The satellite that is told so, as JSON; a longer one is told as others are, by the conversation.
pub const APPROVAL_SATELLITE: usize = 96;

/// Wrong PINs in a row after which PINs are refused for a while.
pub const PIN_TRIES: u8 = 3;

/// For how long at first. Each further wrong PIN doubles it.
pub const PIN_LOCK_OUT: Duration = Duration::from_secs(60);

/// And at most: with one guess an hour, half of all PINs of four digits take seven months.
pub const PIN_LOCK_OUT_MOST: Duration = Duration::from_secs(3600);

/// For how long after an approval has ended digits that are said in its conversation are taken for a PIN that came too late,
/// and kept from the model.
pub const PIN_GRACE: Duration = Duration::from_secs(60);

/// The longest PIN.
pub const PIN: usize = 12;

/// One notice on the topic `log`.
pub const NOTICE: usize = 512;

/// Notices that wait to be published after the next one.
pub const NOTICES: usize = 3;

/// Notices that may come one right after the other. More than that is a storm.
pub const NOTICE_BURST: u8 = 10;

/// In a storm, between two notices.
pub const NOTICE_PAUSE: Duration = Duration::from_secs(6);

/// Until people are told again that the broker denies something to the hub.
pub const DENIAL_PAUSE: Duration = Duration::from_secs(600);

/// The largest erase page of the flash. The store works in a buffer of this size.
pub const FLASH_PAGE: usize = 4096;

/// For all open calls to the controller to end, before a page is erased nevertheless: each is open for at most
/// [`TOOL_TIMEOUT`], and its line takes [`LINE_TIMEOUT`].
pub const ERASE_WAIT: Duration =
    Duration::from_secs(TOOL_TIMEOUT.as_secs() + LINE_TIMEOUT.as_secs() + LINK_TIMEOUT.as_secs());

/// Attempts to write a value that cannot be read back, each at another place.
pub const FLASH_ATTEMPTS: usize = 3;

/// Entries in the store: settings, flags and documents together. In 60 KiB of flash that is one for every
/// 480 bytes; the address of each takes 8 bytes of RAM.
pub const STORE_ENTRIES: usize = 128;

/// The names of all entries, which are kept in RAM: 29 bytes each when there are [`STORE_ENTRIES`], three of them
/// the store's own.
pub const STORE_NAMES: usize = 3776;

/// The name of a setting, a flag or a document.
pub const NAME: usize = 64;

/// The name of a project, or a category of documents.
pub const GROUP: usize = 32;

/// The value of a flag, as JSON text. A list of flags has to fit into a reply.
pub const FLAG: usize = 512;

/// A stored setting or a document. One that is longer than half a [`FLASH_PAGE`] shares a page only with small entries,
/// so a lower limit saves nothing; with its name it fits into a page, and into a request.
pub const DOCUMENT: usize = 3072;

/// An expression that selects documents. It bounds the work of matching.
pub const EXPRESSION: usize = 256;

/// What is said in one conversation, with the calls and their results. Some ten turns of a few sentences each, or one
/// with a page of results; a model reads it all again with every question.
pub const HISTORY: usize = 5 * 1024;

/// The most that one result of a tool, or one answer, takes of a [`HISTORY`]; the rest is cut. Half, so that a second one
/// still fits. Longer arguments are refused.
pub const RESULT: usize = HISTORY / 2;

/// Reserved in a [`HISTORY`] for the result of every pending call: whether it succeeded, and one sentence.
pub const RESULT_LEAST: usize = 72;

/// What is kept of a result if space runs out: the sentence that a person heard, or its beginning.
pub const RESULT_SUMMARY: usize = 160;

/// The results of the current round are cut to this length before earlier turns are evicted.
pub const RESULT_SHORT: usize = 512;

/// The result of a call that was not run, as JSON, with the longest tool name.
pub const FAILURE_RESULT: usize = 256;

/// The ending of a cut JSON text: the mark, and a bracket for each level.
pub const CUT_ENDING: usize = 48 + JSON_DEPTH;

/// Reserved in a [`HISTORY`] for the final answer of the current turn.
pub const ANSWER_LEAST: usize = 128;

/// Calls in one reply of a model. Further ones are left out; the model sees that, and can ask again.
pub const CALLS_AT_ONCE: usize = 8;

/// The id of a call. Those of providers have 24 to 40 characters; a longer one is replaced.
pub const CALL_ID: usize = 64;

/// How much is quoted of arguments that are not a JSON object, for the model to see its mistake.
pub const QUOTED_ARGUMENTS: usize = 256;

/// The most rounds of calls in one turn that a rule or a setting may allow.
pub const ITERATIONS_MOST: u8 = 16;

/// Default of a rule's `max_tokens`: some 400 words, more than anybody listens to, or a handful of calls with arguments.
pub const TOKENS: u32 = 600;

/// The largest `max_tokens` of a rule. An answer has to fit into a reply.
pub const TOKENS_MOST: u32 = 8192;

/// Ollama's context window in tokens: its default is smaller than a question with tools, and it silently drops the
/// beginning.
pub const OLLAMA_CONTEXT: u32 = 8192;

/// The name of a model, with its vendor and version.
pub const MODEL: usize = 96;

/// The name of a variable in a template. A longer text between braces is plain text.
pub const TEMPLATE_NAME: usize = 64;

/// Space in a chat reply for one call in its shortest form, without the names in it.
pub const CALL_LEAST: usize = 160;

/// A request's `satellite` as JSON: a name, or an object with the room and the like. It is returned with the reply.
pub const SATELLITE: usize = 256;

/// Conversations that are kept: one for each of the rooms in which people talk most.
pub const CONVERSATIONS: usize = 3;

/// Turns at the same time, those included that wait for approval. The other [`JOBS`] stay free for direct calls.
pub const TURNS: usize = APPROVALS + 1;

/// Turns at the same time of which none waits for approval.
pub const RUNNING_TURNS: usize = 2;

// However many approvals are pending, one turn and two calls have their slots. Turns that run may begin to wait, and a direct call
// as well.
const _: () = assert!(JOBS >= APPROVALS + 1 + 2 && JOBS >= RUNNING_TURNS + 1 + 2);
// Turns that wait for approval do not keep large calls out.
const _: () = assert!(LARGE_JOBS > 1 && LARGE_JOBS < JOBS);

/// A rule, as JSON.
pub const RULE: usize = 1536;

/// Tools that a rule allows by name. Each one takes four bytes during a turn. Further ones are left out with a warning.
pub const ALLOWED_TOOLS: usize = TOOLS;

/// The rendered system prompt with its documents; longer ones are cut.
pub const PROMPT: usize = 1536;

/// For a model to answer one question. A slow one on a small machine takes most of it.
pub const LLM_TIMEOUT: Duration = Duration::from_secs(60);

/// Room in a list of settings for the keys of rules that do not fit: seven of the longest, or some thirty.
pub const LEFT_OUT: usize = 640;

/// The value of a setting that is not a rule. Lists of wake phrases are the longest.
pub const SETTING: usize = 192;

/// The last notices, as text for the console. Together with the ends of their lines they fit on a [`CONSOLE_SCREEN`].
pub const RECENT_NOTICES: usize = 896;

/// One of the last notices; a longer one is cut.
pub const RECENT_NOTICE: usize = 240;

/// A line on the serial port of people: a certificate of 2 KiB, as text, or a rule.
pub const CONSOLE_LINE: usize = 2880;

/// What the console writes at once: the longest answer that is not written in parts, or some twenty networks.
pub const CONSOLE_SCREEN: usize = 1536;

/// Bytes that the console reads at once. The echo of each takes up to three.
pub const CONSOLE_READ: usize = 64;

/// Settings for whose changes the console looks; there are fewer.
pub const SETTINGS: usize = 36;

/// Until the console looks again at a port that is closed.
pub const CONSOLE_PAUSE: Duration = Duration::from_secs(1);

/// Within an Improv frame. At 115200 baud a whole one takes 23 ms.
pub const IMPROV_GAP: Duration = Duration::from_millis(500);

/// For the network that Improv gave to be joined. Browsers wait for 30 seconds.
pub const IMPROV_JOIN: Duration = Duration::from_secs(25);

/// For how long such a network may fail, in a row. Radios often fail at first.
pub const IMPROV_FAILING: Duration = Duration::from_secs(8);

/// How often it is looked whether a network is joined.
pub const IMPROV_POLL: Duration = Duration::from_millis(250);

/// For how long the button is held to reset the settings.
pub const BUTTON_HOLD: Duration = Duration::from_secs(5);

/// How often the button is looked at, and the lamp set.
pub const PANEL_POLL: Duration = Duration::from_millis(500);

/// What is kept of a panic's message over a restart: a place in a source file and a sentence.
pub const BOOT_MESSAGE: usize = 160;

/// Failed starts in a row after which the hub starts in safe mode. Fewer may be a bad supply while things are plugged in.
pub const FAILED_STARTS: u32 = 4;

/// The name of a Wi-Fi network: what the standard allows.
pub const SSID: usize = 32;

/// A Wi-Fi password: 63 characters, or a key of 64 hexadecimal digits.
pub const WIFI_PASSWORD: usize = 64;

/// The broker's name. Names in a home are short, and those of cloud brokers have some 60 characters.
pub const HOST: usize = 96;

/// What people call the hub. Wi-Fi set-up tools show it on one line.
pub const HUB_NAME: usize = 48;

/// How long a hub has to run for its start to count as a good one.
pub const START_SETTLED: Duration = Duration::from_secs(60);

/// After this time in safe mode the hub tries a normal start: what was wrong may be gone, and nobody may be there.
pub const SAFE_MODE: Duration = Duration::from_secs(30 * 60);
