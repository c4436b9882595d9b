//! Ways to a broker: over TCP, plain or by TLS, or in memory to the one in this process.

use host_broker::Server;
use host_desktop::broker::{BrokerStream, IN_MEMORY, Tcp};
use hub_core::{Destination, Dial, DialError};

/// A way to a broker. Cloning it gives another way to the same one.
#[derive(Clone, Debug)]
pub enum Network {
    /// Over TCP, to whatever host and port are dialled.
    Tcp,
    /// In memory, to this broker, under its name there. Other hosts are dialled over TCP: somebody may try the settings of a
    /// board.
    Memory(Server),
}

impl Dial for Network {
    type Io<'a> = BrokerStream;

    async fn dial(&mut self, to: &Destination<'_>) -> Result<BrokerStream, DialError> {
        match self {
            Self::Memory(server) if to.host == IN_MEMORY => Ok(BrokerStream::new(server.connect())),
            _ => Tcp.dial(to).await,
        }
    }
}
