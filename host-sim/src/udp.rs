//! Single datagrams over the desktop's network.

use std::net::Ipv4Addr;

use hub_core::DialError;
use tokio::net::UdpSocket;

/// Sends a datagram and waits for the first that comes back, as [`hub_core::Network::ask`] wants it.
pub async fn ask(host: &str, port: u16, question: &[u8], answer: &mut [u8]) -> Result<usize, DialError> {
    let mut addresses = tokio::net::lookup_host((host, port)).await.map_err(|_| DialError::UnknownHost)?;
    let address = addresses.find(|address| address.is_ipv4()).ok_or(DialError::UnknownHost)?;
    let unreachable = |_| DialError::Unreachable;
    let socket = UdpSocket::bind((Ipv4Addr::UNSPECIFIED, 0)).await.map_err(unreachable)?;
    // From then on the system drops what others send.
    socket.connect(address).await.map_err(unreachable)?;
    socket.send(question).await.map_err(unreachable)?;
    socket.recv(answer).await.map_err(|_| DialError::Refused)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_datagram_comes_back_from_who_was_asked() {
        let server = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
        let port = server.local_addr().expect("an address").port();
        let serving = async {
            let mut question = [0; 16];
            let (length, caller) = server.recv_from(&mut question).await.expect("a question");
            // Somebody else is faster.
            let other = UdpSocket::bind("127.0.0.1:0").await.expect("a socket");
            other.send_to(b"wrong", caller).await.expect("sent");
            server.send_to(&question[..length], caller).await.expect("sent");
        };
        let mut answer = [0; 16];
        let (asked, ()) = tokio::join!(ask("127.0.0.1", port, b"hello", &mut answer), serving);
        assert_eq!((asked, &answer[..5]), (Ok(5), &b"hello"[..]));
    }

    #[tokio::test]
    async fn a_host_that_is_not_there_is_an_error() {
        assert_eq!(ask("no-such-host.invalid", 123, b"", &mut []).await, Err(DialError::UnknownHost));
    }
}
