//! Single datagrams over an `embassy-net` stack, for [`hub_core::Network::ask`].

use embassy_net::udp::{PacketMetadata, UdpSocket};
use embassy_net::{IpEndpoint, Stack};
use hub_core::DialError;

use crate::resolve;

/// Longest datagram in either direction. A time server's has 48 bytes, or a little more.
const DATAGRAM: usize = 128;

/// Sends a datagram to `host` (a name, a `.local` name or an IPv4 address) and waits for the first that comes back from
/// there, for ever. Its socket is one of the stack's while it waits.
pub async fn ask(
    stack: Stack<'_>,
    host: &str,
    port: u16,
    question: &[u8],
    answer: &mut [u8],
) -> Result<usize, DialError> {
    crate::wait_for_address(stack).await;
    let server = IpEndpoint::new(resolve(stack, host).await?, port);
    let (mut received, mut sent) = ([0; DATAGRAM], [0; DATAGRAM]);
    let (mut received_info, mut sent_info) = ([PacketMetadata::EMPTY; 1], [PacketMetadata::EMPTY; 1]);
    let mut socket = UdpSocket::new(stack, &mut received_info, &mut received, &mut sent_info, &mut sent);
    // Any port: 0 is one that is free.
    socket.bind(0).map_err(|_| DialError::Unreachable)?;
    socket.send_to(question, server).await.map_err(|_| DialError::Unreachable)?;
    loop {
        let length = socket
            .recv_from_with(|datagram, from| {
                let length = datagram.len().min(answer.len());
                let (to, from_server) = (answer.get_mut(..length)?, datagram.get(..length)?);
                to.copy_from_slice(from_server);
                (from.endpoint == server).then_some(length)
            })
            .await;
        if let Some(length) = length {
            return Ok(length);
        }
    }
}
