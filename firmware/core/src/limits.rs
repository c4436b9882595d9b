//! Every capacity, timeout and retry number of the hub, each with its reason.
//!
//! Sizes are bytes. Together they decide the hub's memory: a board has 200 KiB for everything static.

use embassy_time::Duration;

/// The hub's name at the broker, `hearthwave-<hub-id>`; minimq has room for 64.
pub const CLIENT_ID: usize = 64;

/// Longest hub id: with it, every topic of the hub stays well under the 128 bytes that a will may have.
pub const HUB_ID: usize = 32;

/// Nesting of arrays and objects. Schemas of real tools go to about ten; the check costs one bit a level.
pub const JSON_DEPTH: usize = 32;

/// Schemas inside schemas, and values inside those that are compared. Real tools go to about five; each level
/// takes some 300 bytes of stack on a board, 6 KiB in all.
pub const SCHEMA_DEPTH: u8 = 16;

/// Steps of one check of a value against a schema: a byte looked at, some 15 instructions. A request full of
/// honest arguments takes less; what takes all of it keeps a board busy for up to a fifth of a second.
pub const SCHEMA_STEPS: u32 = 1280 * 1024;

/// The path to what is wrong in a value, as shown. Longer ones are cut.
pub const SCHEMA_PATH: usize = 64;

/// Characters of the values that an error offers to choose from: about twenty names.
pub const SCHEMA_OPTIONS: usize = 160;

/// Different keywords of one schema that are named as not checked. JSON Schema has about as many.
pub const SCHEMA_UNKNOWN: usize = 16;

/// Longest expression to calculate. People say a line; a model that adds up a long receipt writes a few.
pub const MATH_EXPRESSION: usize = 1024;

/// Operators, brackets and calls of an expression that wait for what comes after them, at any one place. A
/// level of brackets takes one or two; each costs twelve bytes of stack, and eight for the number before it.
pub const MATH_DEPTH: usize = 64;

/// Arguments of one call in an expression: the mean of two months of daily values.
pub const MATH_ARGUMENTS: usize = 64;

/// Largest payload of a request. A tool call with a page of text in its arguments fits.
pub const REQUEST: usize = 4096;

/// Largest payload of a reply: a result of the size of a request, and its envelope.
pub const REPLY: usize = REQUEST + 512;

/// Requests in work at the same time. Each takes a slot of [`REQUEST`] + [`REPLY`] bytes; one more is
/// answered "busy". A reply that is on its way to the broker gives its slot up if need be.
pub const JOBS: usize = 4;

/// A caller's Response Topic. Clients use a prefix and a random id.
pub const RESPONSE_TOPIC: usize = 128;

/// A caller's Correlation Data. Usually a UUID or a counter.
pub const CORRELATION: usize = 64;

/// A request's `transaction`, as JSON text.
pub const TRANSACTION: usize = 128;

/// A refusal in words.
pub const REFUSAL: usize = 192;

/// A tool's name; the providers of language models allow 64.
pub const TOOL_NAME: usize = 64;

/// Tools that can be called: the hub's own and the controller's.
pub const TOOLS: usize = 64;

/// The descriptions and schemas of the controller's tools: some twenty to forty tools. A controller lists them in a line
/// or two of [`LINE`] bytes.
pub const TOOL_TEXTS: usize = 16 * 1024;

/// Arguments of a call to a tool of the controller's. Real tools take less than ten.
pub const ARGUMENTS: usize = 64;

/// The prefix before the names of the hub's own tools.
pub const TOOL_PREFIX: usize = 16;

/// For a tool to answer; after that it is cancelled. People stop waiting before that.
pub const TOOL_TIMEOUT: Duration = Duration::from_secs(30);

/// A tool that takes longer than this is worth a warning.
pub const TOOL_SLOW: Duration = Duration::from_millis(1000);

/// From the answer that the hub will restart to the restart: time for the answer to leave.
pub const RESTART_DELAY: Duration = Duration::from_secs(1);

/// Events about executed tools that wait to be published. Older ones give way.
pub const EVENTS: usize = 8;

/// One text of an outcome: an error, or a sentence for a person.
pub const OUTCOME_TEXT: usize = 192;

/// The answer of a search service: some ten results with a line each.
pub const SEARCH: usize = 2048;

/// A question to a search service, as JSON.
pub const QUESTION: usize = 640;

/// Questions to others that wait for their answers at the same time: one for each job.
pub const QUESTIONS: usize = JOBS;

/// How long a question waits for other packets to leave, so that it has room for the definitions of all tools. They leave
/// within some round trips, unless the radio is out of reach for a while; a model still has most of [`LLM_TIMEOUT`] then.
pub const QUESTION_DELAY: Duration = Duration::from_secs(15);

/// The largest reply of a language model, as its provider writes it: some 800 words with the wrapping, or a handful of
/// calls.
pub const LLM_REPLY: usize = 8 * 1024;

/// For a search service to answer; less than [`TOOL_TIMEOUT`], so that the caller learns what was missing.
pub const SEARCH_TIMEOUT: Duration = Duration::from_secs(20);

/// The largest MQTT packet the hub takes in whole: a request, or a model's reply, with its topic and properties. Larger
/// ones are cut on the way in and refused by name.
pub const MQTT_RECEIVE: usize = LLM_REPLY + 1024;

/// Longest topic that is kept of a packet that is cut; all that the hub listens to are shorter.
pub const CUT_TOPIC: usize = 256;

/// The largest packet the broker may send at all. The hub answers anything up to this, if only with "too
/// large"; what is larger, the broker drops.
pub const MQTT_PACKET: u32 = 1280 * 1024;

/// Packets that wait for the broker's acknowledgement, and room to reconnect with them: one question to a model with the
/// definitions of some twenty tools, or two of the largest replies, or many small ones.
pub const MQTT_SEND: usize = 16 * 1024;

/// For the broker's machine to answer a dial, on a slow network.
pub const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// From CONNECT to CONNACK, and for any one packet to be taken by the transport.
pub const MQTT_TIMEOUT: Duration = Duration::from_secs(10);

/// Seconds between two signs of life. A dead connection is noticed by the broker after one and a half, by the
/// hub five seconds after its ping.
pub const MQTT_KEEPALIVE: u16 = 30;

/// Seconds that the broker keeps the session of a hub that is away: long enough for a reconnect, short enough
/// that nobody's lights react to what was said minutes ago.
pub const MQTT_SESSION_EXPIRY: u32 = 60;

/// First wait before dialling the broker again; it doubles up to [`RECONNECT_SLOWEST`].
pub const RECONNECT_FIRST: Duration = Duration::from_secs(1);

/// Longest wait before dialling the broker again.
pub const RECONNECT_SLOWEST: Duration = Duration::from_secs(60);

/// A connection that held this long was good: the next wait is short again.
pub const RECONNECT_SETTLED: Duration = Duration::from_secs(30);

/// How many messages the broker may have sent without an acknowledgement: minimq's Receive Maximum.
pub const REDELIVERIES: usize = 8;

/// Longest line from the controller. Real ones list all their tools in one line.
pub const LINE: usize = 16 * 1024;

/// The parameters of a call to the controller: the arguments in a request, and the tool's name.
pub const LINE_OUT: usize = REQUEST + 256;

/// For the controller to take one line. At 115200 baud the longest takes half a second.
pub const LINE_TIMEOUT: Duration = Duration::from_secs(5);

/// For the controller to answer one step of the handshake, or a ping.
pub const LINK_TIMEOUT: Duration = Duration::from_secs(5);

/// Waits before the attempts to reach the controller; after the last the link is degraded. An attempt that is not
/// answered at all takes [`LINK_TIMEOUT`] on top.
pub const LINK_ATTEMPTS: [Duration; 3] =
    [Duration::from_secs(0), Duration::from_secs(2), Duration::from_secs(4)];

/// Wait between attempts once the link is degraded.
pub const LINK_SLOW_RETRY: Duration = Duration::from_secs(30);

/// Lists of tools that are asked for at once when they change; after that the controller gets a pause first.
pub const LINK_RELISTS: u8 = 2;

/// Longest time after which noise on the line is a reason to make sure that the controller has not restarted.
pub const LINK_DOUBT_LONGEST: Duration = Duration::from_secs(300);

/// How often a silent controller is asked for a sign of life: a serial line does not say that its far end is
/// gone.
pub const LINK_PING: Duration = Duration::from_secs(15);

/// Calls that wait for the controller at the same time: one for each job.
pub const CALLS: usize = JOBS;

/// Lines of the controller's that are not JSON-RPC, kept to be quoted when it is not reached.
pub const RECENT_LINES: usize = 4;

/// Such lines that are worth a warning each, from one connection to the next. A controller that chats without end is
/// not to fill the log.
pub const NOISE_WARNINGS: u32 = 8;

/// The hub's own messages to the controller, calls left out.
pub const LINE_OWN: usize = 1024;

/// The controller's name and version, as announced in `info`.
pub const CONTROLLER_NAME: usize = 48;

/// The mark that a controller puts where its list of tools goes on.
pub const LINK_CURSOR: usize = 128;

/// How much of a line that makes no sense is quoted in the log.
pub const QUOTE: usize = 80;

/// Pages of a controller's list of tools. One that never ends is cut here.
pub const LINK_PAGES: u8 = 16;

/// One notice on the topic `log`.
pub const NOTICE: usize = 512;

/// Notices that wait to be published.
pub const NOTICES: usize = 4;

/// The largest page that the flash erases at once. The store works in a buffer of this size.
pub const FLASH_PAGE: usize = 4096;

/// How often a value is written that cannot be read back, each time to another place.
pub const FLASH_ATTEMPTS: usize = 3;

/// Entries in the store: settings, flags and documents together. In 60 KiB of flash that is one for every
/// 480 bytes; each costs 8 bytes of RAM to know where it is.
pub const STORE_ENTRIES: usize = 128;

/// The names of all entries, which are kept in RAM: 32 bytes each when there are [`STORE_ENTRIES`], three of them
/// the store's own.
pub const STORE_NAMES: usize = 4096;

/// The name of a setting, a flag or a document.
pub const NAME: usize = 64;

/// The name of a project, or a category of documents.
pub const GROUP: usize = 32;

/// The value of a flag, as JSON text. A list of them has to fit into a reply.
pub const FLAG: usize = 512;

/// A setting or a document. One that is longer than half a [`FLASH_PAGE`] has the page to itself with
/// small entries, so there is no point in less; with its name it fits into one, and into a request.
pub const DOCUMENT: usize = 3072;

/// An expression that selects documents, and with it the work of matching.
pub const EXPRESSION: usize = 256;

/// What is said in one conversation, with the calls and their results. Some ten turns of a few sentences each, or one
/// with a page of results; a model reads it all again with every question.
pub const HISTORY: usize = 5 * 1024;

/// The most that one result of a tool, or one answer, takes of a [`HISTORY`]; the rest is cut. Half, so that a second one
/// still fits. Arguments that are longer are not taken at all.
pub const RESULT: usize = HISTORY / 2;

/// What is kept free in a [`HISTORY`] for every call without a result, so that it can have one: the beginning of the
/// result, and the mark that it was cut.
pub const RESULT_LEAST: usize = 96;

/// What is kept free in a [`HISTORY`] for the last words of a turn, so that it can end.
pub const ANSWER_LEAST: usize = 128;

/// Calls that a model may make at once. Those after that are left out; it sees that, and can make them again.
pub const CALLS_AT_ONCE: usize = 8;

/// The id of a call. Providers make some of 24 to 40 characters; a longer one is replaced.
pub const CALL_ID: usize = 64;

/// How much is kept of arguments that are no JSON object, for the model to see what it did.
pub const WRONG_ARGUMENTS: usize = 256;

/// The most rounds of calls in one turn that a rule or a setting may allow.
pub const ITERATIONS_MOST: u8 = 16;

/// Length of an answer in tokens, if the rule does not say: some 400 words, more than anybody listens to, or a handful
/// of calls with arguments.
pub const TOKENS: u32 = 600;

/// The most that a rule may allow. An answer has to fit into a reply in the end.
pub const TOKENS_MOST: u32 = 8192;

/// The tokens that Ollama is to keep in view: its own default is less than a question with tools, and it drops the
/// beginning without a word.
pub const OLLAMA_CONTEXT: u32 = 8192;

/// The name of a model, with its vendor and version.
pub const MODEL: usize = 96;

/// A name between the braces of a template. A longer text between braces is none.
pub const TEMPLATE_NAME: usize = 64;

/// Room in a chat reply for one call in its shortest form, beside the names in it.
pub const CALL_LEAST: usize = 160;

/// What a request says about the satellite it comes from, as JSON: its name, or an object with its room and the like. It
/// goes back with the reply.
pub const SATELLITE: usize = 256;

/// The name of a conversation.
pub const CONVERSATION: usize = 48;

/// Conversations that are remembered: a room each, in a home of some rooms that are talked in.
pub const CONVERSATIONS: usize = 3;

/// Conversations in which somebody waits for an answer at the same time. The other [`JOBS`] stay free for direct calls.
pub const TURNS: usize = 2;

/// A rule, as JSON.
pub const RULE: usize = 1536;

/// The names of the tools that a rule allows.
pub const ALLOWED_TOOLS: usize = 1500;

/// The system prompt with the documents in it; what is longer is cut.
pub const PROMPT: usize = 1536;

/// For a model to answer one question. Slow ones on a small machine take most of it.
pub const LLM_TIMEOUT: Duration = Duration::from_secs(60);

/// For a whole turn. Nobody waits for longer.
pub const CHAT_TIMEOUT: Duration = Duration::from_secs(120);

/// The value of a setting that is not a rule. Some wake phrases are the longest.
pub const SETTING: usize = 192;
