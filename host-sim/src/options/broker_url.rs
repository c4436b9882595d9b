//! Where a broker is.

use std::fmt;

/// `mqtt://[USER:PASSWORD@]HOST[:PORT]`
#[derive(Clone, PartialEq, Eq)]
pub struct BrokerUrl {
    /// A name or an address.
    pub host: String,
    /// 1883 unless given.
    pub port: u16,
    /// User name and password.
    pub login: Option<(String, String)>,
}

/// Without the password.
impl fmt::Debug for BrokerUrl {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let user = self.login.as_ref().map(|(user, _)| user);
        f.debug_struct("BrokerUrl")
            .field("host", &self.host)
            .field("port", &self.port)
            .field("user", &user)
            .finish()
    }
}

impl BrokerUrl {
    /// Reads a URL. Nothing in it is percent-encoded: a password may hold any character.
    pub fn parse(text: &str) -> Result<Self, String> {
        let rest = match text.split_once("://") {
            Some(("mqtt", rest)) => rest,
            Some((scheme, _)) => return Err(format!("only mqtt:// is possible, not {scheme}://")),
            None => text,
        };
        let rest = rest.strip_suffix('/').unwrap_or(rest);
        let (login, place) = match rest.rsplit_once('@') {
            Some((login, place)) => {
                let (user, password) = login.split_once(':').unwrap_or((login, ""));
                (Some((user.into(), password.into())), place)
            }
            None => (None, rest),
        };
        // An IPv6 address stands in brackets, since it has colons of its own.
        let (host, port) = match place.strip_prefix('[').and_then(|inner| inner.split_once(']')) {
            Some((address, "")) => (address, None),
            Some((address, port)) => (address, Some(port.strip_prefix(':').unwrap_or(port))),
            None => match place.split_once(':') {
                Some((host, port)) => (host, Some(port)),
                None => (place, None),
            },
        };
        if host.is_empty() {
            return Err("the host is missing: mqtt://HOST[:PORT]".into());
        }
        let port = match port {
            Some(port) => port.parse().map_err(|_| format!("'{port}' is not a port"))?,
            None => 1883,
        };
        Ok(Self { host: host.into(), port, login })
    }
}

#[cfg(test)]
mod tests {
    use super::BrokerUrl;

    #[test]
    fn broker_urls_in_all_their_forms() {
        let url = |host: &str, port, login: Option<(&str, &str)>| {
            Ok(BrokerUrl { host: host.into(), port, login: login.map(|(u, p)| (u.into(), p.into())) })
        };
        assert_eq!(BrokerUrl::parse("mqtt://broker.local"), url("broker.local", 1883, None));
        assert_eq!(BrokerUrl::parse("10.0.0.7:1884"), url("10.0.0.7", 1884, None));
        assert_eq!(
            BrokerUrl::parse("mqtt://me:p@ss:word@host/"),
            url("host", 1883, Some(("me", "p@ss:word")))
        );
        assert_eq!(BrokerUrl::parse("mqtt://[::1]:1885"), url("::1", 1885, None));
    }
}
