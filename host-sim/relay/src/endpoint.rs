//! The server of a service, and its key.

use std::fmt;

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Method, Request, Uri};

use super::provider::{Provider, ProviderExt as _};

/// The relay's name in HTTP requests.
pub(super) const USER_AGENT: &str = concat!("hearthwave-relay/", env!("CARGO_PKG_VERSION"));

/// The version of Anthropic's API.
const ANTHROPIC_VERSION: &str = "2023-06-01";

/// An API key. It is never printed.
#[derive(Clone, PartialEq, Eq)]
pub struct Key(String);

impl Key {
    /// A key, without the space around it.
    ///
    /// Fails if it is not valid in a header; the error does not show it.
    pub fn new(text: &str) -> Result<Self, String> {
        let text = text.trim();
        if text.is_empty() || !text.bytes().all(|byte| byte.is_ascii_graphic()) {
            return Err("it is not a key: a key is one word of plain characters".into());
        }
        Ok(Self(text.into()))
    }

    /// `text` without the key, should a server have repeated it.
    pub(super) fn hide(&self, text: &str) -> String {
        text.replace(&self.0, "[key]")
    }

    fn header(&self, before: &str) -> HeaderValue {
        // Cannot fail: `new` takes only characters that are valid in a header.
        let mut value = HeaderValue::try_from(format!("{before}{}", self.0))
            .unwrap_or_else(|_| HeaderValue::from_static(""));
        value.set_sensitive(true);
        value
    }
}

impl fmt::Debug for Key {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Key")
    }
}

/// The server of a service, and its key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Endpoint {
    service: Provider,
    uri: Uri,
    key: Option<Key>,
}

impl Endpoint {
    /// The usual server of a service.
    pub fn usual(service: Provider, key: Option<Key>) -> Self {
        let (version, rest) = service.path();
        // Three constants; a test reads them all.
        let uri = Uri::try_from(format!("{}{version}{rest}", service.usual_server())).unwrap_or_default();
        Self { service, uri, key }
    }

    /// The server at `url`, or else the usual one, with its key from the environment, where `variable` looks up a name. Only
    /// the usual server needs a key.
    pub fn from_environment(
        service: Provider,
        url: Option<&str>,
        variable: impl Fn(&str) -> Option<String>,
    ) -> Result<Self, String> {
        let key_variable = service.key_variable();
        let text =
            key_variable.and_then(|name| Some((name, variable(name).filter(|text| !text.is_empty())?)));
        let key = text.map(|(name, text)| Key::new(&text).map_err(|error| format!("{name}: {error}")));
        match (url, key_variable, key.transpose()?) {
            (Some(url), _, key) => Self::at(service, url, key)
                .map_err(|error| format!("the address of {}: {error}", service.name())),
            (None, Some(name), None) => Err(format!("{} needs a key: set {name}", service.name())),
            (None, _, key) => Ok(Self::usual(service, key)),
        }
    }

    /// Another server. `url` is the whole address, or ends before the path or after its version (`/v1`), as the
    /// documentation of compatible servers has it.
    pub fn at(service: Provider, url: &str, key: Option<Key>) -> Result<Self, String> {
        check_url(url)?;
        let (version, rest) = service.path();
        let bare = url.trim_end_matches('/');
        let is_server_alone = bare.split_once("://").is_some_and(|(_, rest)| !rest.contains('/'));
        let whole = if is_server_alone {
            format!("{bare}{version}{rest}")
        } else if bare.ends_with(version) {
            format!("{bare}{rest}")
        } else {
            url.to_owned()
        };
        let uri = Uri::try_from(whole).map_err(|error| format!("'{url}' is not an address: {error}"))?;
        Ok(Self { service, uri, key })
    }

    /// Host and port, for people.
    pub fn authority(&self) -> &str {
        self.uri.authority().map_or("", |authority| authority.as_str())
    }

    /// The whole address.
    pub fn url(&self) -> String {
        self.uri.to_string()
    }

    /// Whether others on the network could read the key.
    pub fn exposes_key(&self) -> bool {
        let host = self.uri.host().unwrap_or_default().trim_matches(['[', ']']);
        let is_local = host == "localhost"
            || host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback());
        self.key.is_some() && self.uri.scheme_str() == Some("http") && !is_local
    }

    pub(super) fn key(&self) -> Option<&Key> {
        self.key.as_ref()
    }

    /// The request that carries `body`.
    pub(super) fn request(&self, body: Bytes) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::new(body));
        *request.method_mut() = Method::POST;
        *request.uri_mut() = self.uri.clone();
        let headers = request.headers_mut();
        headers.insert(header::CONTENT_TYPE, HeaderValue::from_static("application/json"));
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        if self.service == Provider::Anthropic {
            headers.insert("anthropic-version", HeaderValue::from_static(ANTHROPIC_VERSION));
        }
        match (&self.key, self.service) {
            (Some(key), Provider::Anthropic) => headers.insert("x-api-key", key.header("")),
            (Some(key), _) => headers.insert(header::AUTHORIZATION, key.header("Bearer ")),
            (None, _) => None,
        };
        request
    }
}

/// Rejects what is not an address of a server.
pub(super) fn check_url(url: &str) -> Result<(), String> {
    // Without the URL in the error: it may hold a password.
    let uri = Uri::try_from(url).map_err(|error| format!("not an address: {error}"))?;
    if !matches!(uri.scheme_str(), Some("http" | "https")) {
        return Err("an address begins with http:// or https://".into());
    }
    match uri.authority() {
        Some(authority) if authority.as_str().contains('@') => {
            Err("an address with a login in it is not possible".into())
        }
        Some(authority) if !authority.host().is_empty() => Ok(()),
        _ => Err("the host is missing".into()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn usual_addresses() {
        let url = |service| Endpoint::usual(service, None).url();
        assert_eq!(url(Provider::Anthropic), "https://api.anthropic.com/v1/messages");
        assert_eq!(url(Provider::OpenAi), "https://api.openai.com/v1/chat/completions");
        assert_eq!(url(Provider::Ollama), "http://127.0.0.1:11434/api/chat");
    }

    #[test]
    fn addresses_of_compatible_servers() {
        for (service, given, whole) in [
            (Provider::OpenAi, "http://box:8000", "http://box:8000/v1/chat/completions"),
            (Provider::OpenAi, "http://box:8000/", "http://box:8000/v1/chat/completions"),
            (Provider::OpenAi, "http://box:8000/v1", "http://box:8000/v1/chat/completions"),
            (Provider::OpenAi, "https://x/openai/v1/", "https://x/openai/v1/chat/completions"),
            (Provider::OpenAi, "https://x/chat?version=2", "https://x/chat?version=2"),
            (Provider::Anthropic, "https://proxy/claude/v1/messages", "https://proxy/claude/v1/messages"),
            (Provider::Ollama, "http://[::1]:11434", "http://[::1]:11434/api/chat"),
        ] {
            assert_eq!(Endpoint::at(service, given, None).expect(given).url(), whole);
        }
        for wrong in ["box:8000", "ftp://box", "http://", "http://me:secret@box", "http://a b", ""] {
            let error = Endpoint::at(Provider::OpenAi, wrong, None).expect_err(wrong);
            assert!(!error.contains("secret"), "{error}");
        }
    }

    #[test]
    fn a_key_is_never_shown() {
        let key = Key::new(" sk-123\n").expect("a key");
        let endpoint = Endpoint::usual(Provider::OpenAi, Some(key.clone()));
        let request = endpoint.request(Bytes::new());
        assert_eq!(request.headers()["authorization"], "Bearer sk-123");
        assert!(!format!("{endpoint:?} {request:?}").contains("123"));
        assert_eq!(key.hide("the key sk-123 is wrong"), "the key [key] is wrong");
        let error = Key::new("sk-1\u{7}23").expect_err("not a key");
        assert!(!error.contains("23"));
    }

    #[test]
    fn a_key_in_the_open_is_noticed() {
        let exposes = |url, key: Option<&str>| {
            let key = key.map(|key| Key::new(key).expect("a key"));
            Endpoint::at(Provider::OpenAi, url, key).expect(url).exposes_key()
        };
        assert!(exposes("http://10.0.0.7", Some("k")));
        assert!(!exposes("http://127.0.0.1:8000", Some("k")));
        assert!(!exposes("http://[::1]:8000", Some("k")));
        assert!(!exposes("https://10.0.0.7", Some("k")));
        assert!(!exposes("http://10.0.0.7", None));
    }
}
