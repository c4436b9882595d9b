//! Lets packets that are too large for the hub through in part, so that their senders get an answer.
//!
//! A client announces the largest packet it takes, and the broker drops larger ones without a word to anybody: the
//! caller of a 100 kB request would wait for ever. So this layer, between the byte stream and minimq, announces more than
//! minimq has room for ([`connect`]), and cuts what does not fit ([`inbound`]): topic, properties and the beginning of the
//! payload pass, the rest is skipped. [`PacketInfo`] says how large a packet was, and what else minimq does not show: why a
//! broker disconnects, and what it says of itself when it accepts a connection ([`connack`]).

mod connack;
mod connect;
mod inbound;
mod packet_info;

use embedded_io_async::{ErrorType, Read, Write};

use self::connect::{Outbound, Wishes};
use self::inbound::{Inbound, Want};
pub use self::packet_info::PacketInfo;
use crate::limits;

/// The byte stream to the broker, as minimq sees it.
///
/// Keeps the promise of the stream within: a dropped `read` or `write` loses nothing.
pub struct Transport<'m, Io> {
    io: Io,
    info: &'m PacketInfo,
    inbound: Inbound,
    outbound: Outbound,
    wishes: Wishes,
}

impl<'m, Io> Transport<'m, Io> {
    /// For one connection, from its first byte. With `oversize` it announces [`limits::MQTT_PACKET`], and cuts packets to
    /// [`limits::MQTT_RECEIVE`].
    pub fn new(io: Io, info: &'m PacketInfo, oversize: bool) -> Self {
        info.forget_broker();
        let largest = if oversize { limits::MQTT_RECEIVE } else { usize::MAX };
        let outbound = if oversize { Outbound::Start } else { Outbound::Rest };
        let wishes = Wishes { keeps_will: true, starts_clean: false };
        Self { io, info, inbound: Inbound::new(largest), outbound, wishes }
    }

    /// With a will that is not retained, whatever minimq was told.
    pub fn without_retained_will(self) -> Self {
        Self { wishes: Wishes { keeps_will: false, ..self.wishes }, ..self }
    }

    /// With a session that begins anew: the broker drops what it has queued. Only with `oversize`.
    pub fn with_clean_start(self) -> Self {
        Self { wishes: Wishes { starts_clean: true, ..self.wishes }, ..self }
    }
}

impl<Io: ErrorType> ErrorType for Transport<'_, Io> {
    type Error = Io::Error;
}

impl<Io: Read> Read for Transport<'_, Io> {
    async fn read(&mut self, buf: &mut [u8]) -> Result<usize, Self::Error> {
        loop {
            let count = match self.inbound.want(buf) {
                Want::Nothing(count) => return Ok(count),
                Want::Pass(room) => {
                    let count = self.io.read(room).await?;
                    self.inbound.passed(buf.get(..count).unwrap_or_default(), self.info);
                    return Ok(count);
                }
                Want::Bytes(room) => self.io.read(room).await?,
            };
            if count == 0 {
                return Ok(0);
            }
            self.inbound.took(count, self.info);
        }
    }
}

impl<Io: Write> Write for Transport<'_, Io> {
    async fn write(&mut self, buf: &[u8]) -> Result<usize, Self::Error> {
        let Some(head) = self.outbound.head(buf, self.wishes) else { return self.io.write(buf).await };
        let count = self.io.write(head).await?;
        self.outbound.wrote(count);
        Ok(count)
    }

    async fn flush(&mut self) -> Result<(), Self::Error> {
        self.io.flush().await
    }
}
