//! What the hub asks others, and what they answer.

use minimq::{Connection, InboundPublish, Io, Property, Publication};

use super::desk::Desk;
use super::publish::{Payload, REPLY_QOS, Sent, publish};
use super::session::Lost;
use crate::json::Overflow;
use crate::limits;
use crate::log::{debug, warn};
use crate::service::{Due, Number, Service, Unanswered};

impl Desk<'_> {
    /// Sends the questions that are due, as far as there is room.
    pub(super) async fn ask_services<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
    ) -> Result<(), Lost> {
        for due in self.services.all_due() {
            // With other packets in it the buffer may have no room for all tools. They leave soon, and then it has; only on a
            // line that is never quiet the question goes out with those that fit.
            let is_quiet = connection.session().is_publish_quiescent();
            let all_tools = !is_quiet && due.age() < limits::QUESTION_DELAY;
            let mut sent = self.ask(connection, &due, all_tools).await?;
            if matches!(sent, Sent::Never) && all_tools && connection.session().is_publish_quiescent() {
                // It became quiet meanwhile, and there is room.
                sent = self.ask(connection, &due, false).await?;
            }
            match sent {
                Sent::Now(_) => due.sent(),
                // Another one may be shorter.
                Sent::Later => {}
                Sent::Never => {
                    let topic = self.topics.question(due.service());
                    warn!("mqtt: a question on {} does not fit into a packet", topic.as_str());
                    due.failed(Unanswered::LongQuestion);
                }
            }
        }
        Ok(())
    }

    async fn ask<IO: Io>(
        &self,
        connection: &mut Connection<'_, '_, IO>,
        due: &Due<'_>,
        all_tools: bool,
    ) -> Result<Sent, Lost> {
        let topic = self.topics.question(due.service());
        let reply_topic = self.topics.answer(due.service());
        let number = due.number().to_be_bytes();
        let seconds = u32::try_from(due.patience().as_secs()).unwrap_or(u32::MAX).max(1);
        let properties = [
            Property::ResponseTopic(&reply_topic),
            Property::CorrelationData(&number),
            // Nobody is to work on what nobody waits for any more.
            Property::MessageExpiryInterval(seconds),
        ];
        let mut payload = |buffer: &mut [u8]| {
            let written = match due.service() {
                Service::Search => due.copy(buffer),
                Service::Model { talk, .. } => self.talks.question(talk, self.registry, all_tools, buffer),
            };
            written.ok_or(Overflow)
        };
        let publication =
            Publication::new(&topic, Payload(&mut payload)).qos(REPLY_QOS).properties(&properties);
        publish(connection, publication).await
    }

    /// A service answers.
    pub(super) fn take_answer(&self, message: &InboundPublish<'_>, size: usize) {
        let number =
            message.correlation_data().and_then(|data| data.try_into().ok()).map(Number::from_be_bytes);
        match number {
            None => warn!(
                "mqtt: an answer on {} without the question's Correlation Data was dropped",
                message.topic()
            ),
            Some(number) if self.services.answer(number, message.payload(), size) => {}
            Some(_) => debug!("mqtt: an answer on {} came too late", message.topic()),
        }
    }
}
