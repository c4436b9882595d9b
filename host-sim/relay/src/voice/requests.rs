//! Decides what becomes of each question: which hub gets it, what is the answer, and when nobody waits for it any more. No I/O.

use std::collections::{BTreeMap, VecDeque};
use std::fmt::Display;
use std::time::Duration;

use hub_contract::{ROOT, conversation_of};
use hub_json::text::abbreviate;
use hub_mqtt::limits;
use serde_json::{Value, json};
use tokio::sync::oneshot;
use tokio::time::Instant;

use super::no_reply::NoReply;

/// For the hub to answer. Home Assistant waits for 75 seconds at least.
pub(super) const PATIENCE: Duration = Duration::from_secs(65);
/// The same, for a hub of which the broker keeps no sign.
const UNSEEN_PATIENCE: Duration = Duration::from_secs(10);
/// For what was approved to be done, once the person has said the PIN.
const APPROVED_WITHIN: Duration = Duration::from_secs(4);
/// Bytes of a satellite's name; its hub takes some more, as JSON.
const SATELLITE: usize = 96;

/// Hubs that are remembered. Whoever has more of them has to name one.
const HUBS: usize = 64;

/// What the hub says, or why it says nothing.
pub(super) type Answer = Result<String, NoReply>;

/// What a person says.
#[derive(Debug)]
pub(super) struct Question {
    pub(super) text: String,
    /// Where it was said.
    pub(super) satellite: Option<String>,
    /// The conversation, of those who speak from no satellite.
    pub(super) conversation: Option<String>,
    pub(super) language: Option<String>,
    /// Where the answer goes.
    pub(super) answer: oneshot::Sender<Answer>,
}

/// A request to be published.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Request {
    pub(super) topic: String,
    pub(super) payload: Vec<u8>,
    pub(super) correlation: [u8; 8],
    /// Nobody wants it done later than that.
    pub(super) until: Instant,
}

/// A turn of a conversation with a hub.
struct Turn {
    hub: String,
    conversation: String,
    until: Instant,
    /// Who waits for it. Nobody any more, if the hub asked something back.
    answer: Option<oneshot::Sender<Answer>>,
    /// The hub's words, while those of an earlier turn in the same conversation are waited for.
    words: Option<String>,
    /// The connection to the broker was lost after the question. The hub may still answer.
    is_doubtful: bool,
}

impl Turn {
    fn end(self, answer: Answer) {
        // Whoever asked may have left.
        self.answer.map(|waiting| waiting.send(answer));
    }
}

/// All questions of a service.
pub(super) struct VoiceRequests {
    /// The hub that is spoken to, if one is named.
    named: Option<String>,
    /// The hubs that were seen, and whether they are online.
    hubs: BTreeMap<String, bool>,
    /// By their Correlation Data.
    turns: BTreeMap<u64, Turn>,
    last: u64,
    /// To be published, in order.
    pub(super) requests: VecDeque<Request>,
}

impl VoiceRequests {
    pub(super) fn new(hub: Option<&str>) -> Self {
        let (hubs, turns, requests) = (BTreeMap::new(), BTreeMap::new(), VecDeque::new());
        Self { named: hub.map(Into::into), hubs, turns, last: 0, requests }
    }

    /// The hub that is spoken to, and how long it has to answer.
    fn hub(&self) -> Result<(String, Duration), NoReply> {
        if let Some(hub) = &self.named {
            return match self.hubs.get(hub) {
                Some(true) => Ok((hub.clone(), PATIENCE)),
                Some(false) => Err(NoReply::Offline),
                None => Ok((hub.clone(), UNSEEN_PATIENCE)),
            };
        }
        let mut hubs = self.hubs.iter();
        // One that is away counts, too: nobody wants to unlock the neighbour's door instead of their own.
        match (hubs.next(), hubs.next()) {
            (None, _) => Err(NoReply::NoHub),
            (Some((hub, true)), None) => Ok((hub.clone(), PATIENCE)),
            (Some((_, false)), None) => Err(NoReply::Offline),
            (Some(_), Some(_)) => Err(NoReply::SeveralHubs),
        }
    }

    /// The names of the hubs, if somebody has to choose one.
    pub(super) fn several(&self) -> Option<String> {
        let names: Vec<&str> = self.hubs.keys().map(String::as_str).collect();
        (self.named.is_none() && names.len() > 1).then(|| names.join(", "))
    }

    /// Takes a question.
    pub(super) fn ask(&mut self, question: Question, now: Instant) {
        let Question { text, satellite, conversation, language, answer } = question;
        let (hub, patience) = match self.hub() {
            Ok(hub) => hub,
            Err(no_reply) => return drop(answer.send(Err(no_reply))),
        };
        let satellite = satellite.map(|name| abbreviate::<SATELLITE>(&name));
        // As the hub itself names it, so that the room's conversation is the same however it hears of the room.
        let name = satellite.as_deref().or(conversation.as_deref());
        let conversation = conversation_of(name.as_ref().map(|name| name as &dyn Display)).to_string();
        let mut body = json!({ "text": text, "addressed": true, "conversation": conversation });
        if let Some(satellite) = satellite {
            body["satellite"] = satellite.as_str().into();
        }
        if let Some(language) = language {
            body["language"] = language.into();
        }
        let payload = body.to_string().into_bytes();
        if payload.len() > limits::REQUEST {
            return drop(answer.send(Err(NoReply::TooLong)));
        }
        self.last += 1;
        let until = now + patience;
        self.publish(&hub, "transcript", payload, self.last, until);
        let turn = Turn { hub, conversation, until, answer: Some(answer), words: None, is_doubtful: false };
        self.turns.insert(self.last, turn);
    }

    fn publish(&mut self, hub: &str, name: &str, payload: Vec<u8>, number: u64, until: Instant) {
        let topic = format!("{ROOT}{hub}/request/{name}");
        self.requests.push_back(Request { topic, payload, correlation: number.to_be_bytes(), until });
    }

    /// A hub came or went, or there is no such hub any more.
    pub(super) fn availability(&mut self, hub: &str, payload: &[u8]) {
        if self.hubs.len() >= HUBS && !self.hubs.contains_key(hub) {
            return;
        }
        match payload {
            b"online" => drop(self.hubs.insert(hub.into(), true)),
            b"offline" => {
                self.hubs.insert(hub.into(), false);
                // If the hub lost the broker as well, it may only be reconnecting.
                self.lose(|turn| turn.hub == hub && !turn.is_doubtful);
            }
            b"" => drop(self.hubs.remove(hub)),
            _ => {}
        }
    }

    /// A reply has come.
    pub(super) fn reply(&mut self, correlation: Option<&[u8]>, payload: &[u8], now: Instant) {
        let number = correlation.and_then(|data| data.try_into().ok()).map(u64::from_be_bytes);
        let Some((number, mut turn)) = number.and_then(|number| self.turns.remove_entry(&number)) else {
            return;
        };
        let reply: Value = serde_json::from_slice(payload).unwrap_or_default();
        let answer = match (reply["text"].as_str(), reply["error_type"].as_str()) {
            (Some(text), _) => Ok(text.to_owned()),
            (None, Some(error_type)) => Err(NoReply::of_refusal(error_type)),
            (None, None) if reply["addressed"] == false => Err(NoReply::Outdated),
            (None, None) => Err(NoReply::Refused),
        };
        // What an earlier turn ends with is said by whoever waits in the same conversation.
        let is_same = |other: &Turn| other.hub == turn.hub && other.conversation == turn.conversation;
        if turn.answer.is_none() {
            let waiting = self.turns.iter().find(|(_, other)| is_same(other) && other.words.is_some());
            let waiting = waiting.map(|(number, _)| *number).and_then(|number| self.turns.remove(&number));
            if let Some(mut waiting) = waiting {
                let first = waiting.words.take().unwrap_or_default();
                waiting.end(Ok(answer.map_or(first.clone(), |words| format!("{first} {words}"))));
            }
            return;
        }
        match answer {
            Ok(words) if self.turns.values().any(|other| is_same(other) && other.answer.is_none()) => {
                turn.words = Some(words);
                turn.until = turn.until.min(now + APPROVED_WITHIN);
                self.turns.insert(number, turn);
            }
            answer => turn.end(answer),
        }
    }

    /// A hub says something aloud. If somebody waits for an answer in that conversation, the hub asks for approval first.
    pub(super) fn speech(&mut self, hub: &str, payload: &[u8], now: Instant) {
        let speech: Value = serde_json::from_slice(payload).unwrap_or_default();
        let (Some(text), Some(conversation)) = (speech["text"].as_str(), speech["conversation"].as_str())
        else {
            return;
        };
        let is_it = |turn: &&mut Turn| {
            turn.hub == hub
                && turn.conversation == conversation
                && turn.answer.is_some()
                && turn.words.is_none()
        };
        if let Some(turn) = self.turns.values_mut().find(is_it)
            && let Some(answer) = turn.answer.take()
        {
            turn.until = now + Duration::from_secs(limits::CHAT_TIMEOUT.as_secs());
            // Whoever asked may have left.
            let _ = answer.send(Ok(text.into()));
        }
    }

    /// Handles a lost connection to the broker. Questions are not repeated, because the hub keeps its answers for a
    /// moment for callers that reconnect.
    pub(super) fn disconnected(&mut self) {
        self.turns.values_mut().for_each(|turn| turn.is_doubtful = true);
    }

    /// A new session has begun: what was known of the hubs may have changed.
    pub(super) fn forget_hubs(&mut self) {
        self.hubs.clear();
    }

    fn lose(&mut self, is_lost: impl Fn(&Turn) -> bool) {
        for (_, mut turn) in self.turns.extract_if(.., |_, turn| is_lost(turn)) {
            let words = turn.words.take();
            turn.end(words.ok_or(NoReply::Lost));
        }
    }

    /// When [`expire`](Self::expire) is due.
    pub(super) fn next_end(&self) -> Option<Instant> {
        self.turns.values().map(|turn| turn.until).min()
    }

    /// Ends what has taken too long.
    pub(super) fn expire(&mut self, now: Instant) {
        let late: Vec<Turn> =
            self.turns.extract_if(.., |_, turn| turn.until <= now).map(|(_, turn)| turn).collect();
        for mut turn in late {
            let is_unseen = !self.hubs.contains_key(&turn.hub);
            match turn.words.take() {
                Some(words) => turn.end(Ok(words)),
                None if turn.answer.is_some() => {
                    // Nothing is to be done that nobody hears of.
                    let body = json!({ "conversation": turn.conversation }).to_string();
                    let hub = turn.hub.clone();
                    self.publish(&hub, "cancel", body.into_bytes(), 0, now + UNSEEN_PATIENCE);
                    let why = match turn.is_doubtful {
                        true => NoReply::Lost,
                        false if is_unseen => NoReply::NoHub,
                        false => NoReply::Late,
                    };
                    turn.end(Err(why));
                }
                None => {}
            }
        }
    }
}
