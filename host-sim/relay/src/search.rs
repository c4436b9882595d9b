//! Searches, by a server with the API of SearXNG.

use http_body_util::Full;
use hyper::body::Bytes;
use hyper::header::{self, HeaderValue};
use hyper::{Request, Uri};
use percent_encoding::{AsciiSet, NON_ALPHANUMERIC, utf8_percent_encode};
use serde_json::{Value, json};

use super::endpoint::{USER_AGENT, check_url};
use super::failure::{Failure, clean};

/// Stands for the query in an address.
const PLACEHOLDER: &str = "{query}";
/// Bytes of a query that are encoded: all but the unreserved ones.
const ENCODED: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'_').remove(b'.').remove(b'~');
/// Characters of a query that are sent.
const QUERY: usize = 256;
/// Bytes of a reply: what a hub has room for.
const ANSWER: usize = 2000;
/// Characters of one result's title, address and text: several results are worth more than one whole page.
const TITLE: usize = 120;
const ADDRESS: usize = 300;
const SNIPPET: usize = 300;

/// The address of a search service, with `{query}` where the words go.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SearchUrl(String);

impl SearchUrl {
    /// Reads an address like `http://127.0.0.1:8888/search?format=json&q={query}`.
    pub fn new(text: &str) -> Result<Self, String> {
        if !text.contains(PLACEHOLDER) {
            return Err(format!(
                "say with {PLACEHOLDER} where the words go, like http://HOST/search?format=json&q={PLACEHOLDER}"
            ));
        }
        let url = Self(text.into());
        check_url(&url.with("x"))?;
        Ok(url)
    }

    fn with(&self, query: &str) -> String {
        self.0.replace(PLACEHOLDER, &utf8_percent_encode(query, ENCODED).to_string())
    }

    /// Host and port, for people.
    pub(super) fn authority(&self) -> String {
        let uri = Uri::try_from(self.with("x")).unwrap_or_default();
        uri.authority().map_or_else(String::new, |authority| authority.as_str().into())
    }

    pub(super) fn request(&self, query: &str) -> Request<Full<Bytes>> {
        let mut request = Request::new(Full::default());
        // Cannot fail: the address is checked, and an encoded query fits into any.
        *request.uri_mut() = Uri::try_from(self.with(query)).unwrap_or_default();
        let headers = request.headers_mut();
        headers.insert(header::ACCEPT, HeaderValue::from_static("application/json"));
        headers.insert(header::USER_AGENT, HeaderValue::from_static(USER_AGENT));
        request
    }
}

/// The query in a hub's request.
pub(super) fn query(body: &[u8]) -> Result<String, Failure> {
    let body: Value = serde_json::from_slice(body).unwrap_or_default();
    let query = body["query"].as_str().map(|query| clean(query, QUERY)).unwrap_or_default();
    if query.is_empty() {
        return Err(Failure::NoQuery);
    }
    Ok(query)
}

/// The reply for the hub: as many whole results as fit.
pub(super) fn digest(reply: &[u8]) -> Option<Vec<u8>> {
    let reply: Value = serde_json::from_slice(reply).ok()?;
    let found = reply["results"].as_array()?;
    let mut results: Vec<Value> = Vec::new();
    let written = |results: &[Value]| json!({ "results": results }).to_string().into_bytes();
    let mut answer = written(&results);
    for result in found {
        let text = |names: &[&str], most| {
            let text = names.iter().find_map(|name| result[*name].as_str()).unwrap_or_default();
            clean(text, most)
        };
        let (title, url) = (text(&["title"], TITLE), text(&["url"], ADDRESS));
        let snippet = text(&["content", "snippet", "description"], SNIPPET);
        results.push(json!({ "title": title, "url": url, "snippet": snippet }));
        let longer = written(&results);
        // One that does not fit is left out; a later, shorter one may fit.
        if longer.len() > ANSWER {
            results.pop();
        } else {
            answer = longer;
        }
    }
    Some(answer)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_go_into_the_address() {
        let url = SearchUrl::new("http://127.0.0.1:8888/search?format=json&q={query}").expect("an address");
        let uri = url.request("salt & pepper? ä/b").uri().to_string();
        assert_eq!(uri, "http://127.0.0.1:8888/search?format=json&q=salt%20%26%20pepper%3F%20%C3%A4%2Fb");
        assert_eq!(url.authority(), "127.0.0.1:8888");
        for wrong in ["http://h/search", "h/{query}", "ftp://h/{query}", "{query}"] {
            assert!(SearchUrl::new(wrong).is_err(), "{wrong}");
        }
    }

    #[test]
    fn results_are_cut_as_a_whole() {
        let result = |size: usize| json!({ "title": "T", "url": "http://u", "content": "ä".repeat(size), "engine": "e" });
        let results: Vec<_> = (0..50).map(|_| result(100)).collect();
        let answer =
            digest(json!({ "query": "q", "results": results }).to_string().as_bytes()).expect("an answer");
        assert!(answer.len() <= 2000 && answer.len() > 1700, "{}", answer.len());
        let answer: Value = serde_json::from_slice(&answer).expect("JSON");
        let first = json!({ "title": "T", "url": "http://u", "snippet": "ä".repeat(100) });
        assert_eq!(answer["results"][0], first);
        assert_eq!(digest(b"{\"results\":[]}").as_deref(), Some(&b"{\"results\":[]}"[..]));
        assert_eq!(digest(b"{\"answers\":[]}"), None);
        let odd = digest(br#"{"results":[null,7,{"title":7},{"content":"yes"}]}"#).expect("an answer");
        assert!(String::from_utf8(odd).expect("text").contains("\"snippet\":\"yes\""));
    }

    #[test]
    fn what_is_wanted() {
        assert_eq!(query(br#"{"query":" sunset\nin Oslo "}"#), Ok("sunset in Oslo".into()));
        for nothing in [&b""[..], b"{}", br#"{"query":7}"#, br#"{"query":" "}"#] {
            assert!(query(nothing).is_err());
        }
    }
}
