//! Publishes questions to models and services.

use minimq::{Io, Property, Publication};

use super::{Outbox, REPLY_QOS};
use crate::context::HubContext;
use crate::json::Overflow;
use crate::limits;
use crate::log::warn;
use crate::mqtt::{Connection, Lost, Payload, Sent};
use crate::pending::{Id, Progress};
use crate::questions::{Question, Recipient, Unanswered};

/// The most that a question's packet has besides its payload and topics: the fixed header, the lengths, the packet
/// identifier, and the properties with a Correlation Data of eight bytes.
const QUESTION_HEADER: usize = 5 + 2 + 2 + 4 + 3 + 3 + 8 + 5;

impl<S> Outbox<'_, S> {
    /// Publishes the queued questions, and those that may have been lost again.
    pub(super) async fn publish_questions<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        let questions = self.hub.questions;
        while let Some((slot, id)) = questions.next_again() {
            let sent = self.publish_question(connection, &slot.data, id).await?;
            questions.sent_again(&slot.data, matches!(sent, Sent::Later));
        }
        for slot in questions.queued() {
            let (question, id) = (&slot.data, questions.next_id());
            slot.advance(Progress::Queued, Progress::Sending(id));
            let sent = self.publish_question(connection, question, id).await;
            let progress = match sent {
                Ok(Sent::Now(_)) => Progress::Sent(id),
                // Another one may be shorter.
                Ok(Sent::Later) | Err(_) => Progress::Queued,
                Ok(Sent::Never) => {
                    let topic = self.topics.question(question.recipient());
                    match connection.packet_limit() {
                        Some(limit) => warn!(
                            "mqtt: a question on {} does not fit into the {} bytes that the broker takes; raise its \
                             limit (mosquitto: max_packet_size)",
                            topic.as_str(),
                            limit
                        ),
                        None => warn!("mqtt: a question on {} does not fit into a packet", topic.as_str()),
                    }
                    Progress::Failed(Unanswered::LongQuestion)
                }
            };
            slot.advance(Progress::Sending(id), progress);
            sent?;
        }
        Ok(())
    }

    /// Publishes a question, for the first time or again.
    async fn publish_question<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        question: &Question,
        id: Id,
    ) -> Result<Sent, Lost> {
        // With other packets in it the buffer may have no room for all tools. They leave soon, and then it has; only on a
        // line that is never quiet the question goes out with those that fit.
        let require_all_tools = !connection.is_quiet() && question.delay() < limits::QUESTION_DELAY;
        match self.publish_question_once(connection, question, id, require_all_tools).await? {
            // It became quiet meanwhile, and there is room.
            Sent::Never if require_all_tools && connection.is_quiet() => {
                self.publish_question_once(connection, question, id, false).await
            }
            sent => Ok(sent),
        }
    }

    async fn publish_question_once<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        question: &Question,
        id: Id,
        require_all_tools: bool,
    ) -> Result<Sent, Lost> {
        let topic = self.topics.question(question.recipient());
        let reply_topic = self.topics.answer(question.recipient());
        let correlation = id.to_be_bytes();
        let seconds = u32::try_from(question.patience().as_secs()).unwrap_or(u32::MAX).max(1);
        let properties = [
            Property::ResponseTopic(&reply_topic),
            Property::CorrelationData(&correlation),
            // Expires when the caller gives up.
            Property::MessageExpiryInterval(seconds),
        ];
        let HubContext { conversations, registry, .. } = self.hub;
        // A question has as many tools as there is room for, in a packet that the broker takes.
        let header = topic.len() + reply_topic.len() + QUESTION_HEADER;
        let limit = connection.packet_limit().map_or(usize::MAX, |limit| limit as usize);
        let mut payload = |buffer: &mut [u8]| {
            let room = buffer.len().min(limit.saturating_sub(header));
            let buffer = buffer.get_mut(..room).unwrap_or_default();
            let written = match question.recipient() {
                Recipient::Search => self.hub.questions.copy(buffer),
                Recipient::Model { turn, .. } => {
                    conversations.compose(turn, registry, require_all_tools, buffer)
                }
            };
            written.ok_or(Overflow)
        };
        let question = Publication::new(&topic, Payload(&mut payload)).qos(REPLY_QOS).properties(&properties);
        connection.publish(question).await
    }
}
