//! Where the reply to a message goes.

use core::fmt;

use heapless::Vec;
use minimq::Publication;

use super::topic::Topic;
use crate::limits;

/// Where a reply goes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct ReplyTo {
    /// The topic.
    pub topic: Topic,
    /// What the caller wants back with the reply.
    pub correlation: Option<Vec<u8, { limits::CORRELATION }>>,
}

/// Why no reply can go where the caller wants it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum UnusableReplyTo {
    /// Nothing can be published to the Response Topic.
    Topic,
    /// The Response Topic is one on which the hub speaks for itself.
    Reserved,
    /// The Response Topic is too long.
    LongTopic,
    /// The Correlation Data is too long.
    LongCorrelation,
}

impl fmt::Display for UnusableReplyTo {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, most) = match self {
            Self::Topic => return f.write_str("The Response Topic cannot be published to"),
            Self::Reserved => {
                return f.write_str("The Response Topic is the hub's own; use one below its reply/");
            }
            Self::LongTopic => ("Response Topic", limits::RESPONSE_TOPIC),
            Self::LongCorrelation => ("Correlation Data", limits::CORRELATION),
        };
        write!(f, "The {name} is too long; at most {most} bytes are possible")?;
        match self {
            Self::LongCorrelation => f.write_str(", so this reply has none"),
            _ => Ok(()),
        }
    }
}

impl ReplyTo {
    /// To `topic`, with nothing to give back.
    pub const fn topic(topic: Topic) -> Self {
        Self { topic, correlation: None }
    }

    /// Where the caller wants the reply, if the message says so.
    pub fn asked(topic: Option<&str>, correlation: Option<&[u8]>) -> Result<Option<Self>, UnusableReplyTo> {
        let Some(topic) = topic else { return Ok(None) };
        if topic.is_empty() || topic.contains(['+', '#', '\0']) {
            // Publishing there would cost the hub its connection.
            return Err(UnusableReplyTo::Topic);
        }
        let topic = Topic::try_from(topic).map_err(|_| UnusableReplyTo::LongTopic)?;
        let correlation = correlation.map(Vec::try_from).transpose();
        Ok(Some(Self { topic, correlation: correlation.map_err(|_| UnusableReplyTo::LongCorrelation)? }))
    }

    /// A publication that goes there.
    pub(crate) fn publication<P>(&self, payload: P) -> Publication<'_, P> {
        let publication = Publication::new(&self.topic, payload);
        match &self.correlation {
            Some(data) => publication.correlate(data),
            None => publication,
        }
    }
}
