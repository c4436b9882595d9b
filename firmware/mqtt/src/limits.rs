//! Capacities and timeouts of a session, and those that the hub and the services beside it have agreed on, each with its reason.

use embassy_time::Duration;

/// Largest payload of a request. A tool call with a page of text in its arguments fits.
pub const REQUEST: usize = 4096;

/// How long a relay that is stopped works on its questions.
pub const RELAY_FINISH: Duration = Duration::from_secs(5);

/// The largest reply of a language model, in its provider's format: some 700 words, or a handful of calls.
pub const LLM_REPLY: usize = 7 * 1024;

/// The largest MQTT packet that the hub receives whole: a request, or a model's reply, with its topic and properties.
/// Larger ones are cut by the transport and refused.
pub const MQTT_RECEIVE: usize = LLM_REPLY + 512;

/// Longest topic that is kept of a cut packet; all that the hub subscribes to are shorter.
pub const CUT_TOPIC: usize = 256;

/// The largest packet that the broker may send. The hub answers anything up to this, if only with "too
/// large"; the broker drops what is larger.
pub const MQTT_PACKET: u32 = 1280 * 1024;

/// For a connection to the broker to open, on a slow network.
pub const DIAL_TIMEOUT: Duration = Duration::from_secs(10);

/// From CONNECT to CONNACK, and for the transport to accept any one packet.
pub const MQTT_TIMEOUT: Duration = Duration::from_secs(10);

/// First wait before dialling the broker again; it doubles up to [`RECONNECT_SLOWEST`].
pub const RECONNECT_FIRST: Duration = Duration::from_secs(1);

/// Longest wait before dialling the broker again.
pub const RECONNECT_SLOWEST: Duration = Duration::from_secs(60);

/// A connection that lasted this long resets the wait to [`RECONNECT_FIRST`].
pub const RECONNECT_SETTLED: Duration = Duration::from_secs(30);

/// For a whole turn. People do not wait longer.
pub const CHAT_TIMEOUT: Duration = Duration::from_secs(120);

/// A certificate, as DER. With an RSA key of 4096 bits it has some 1,400.
pub const CERTIFICATE: usize = 2048;
