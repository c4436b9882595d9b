//! Tells a session what changes of that which it watches.

use std::collections::{BTreeMap, BTreeSet};
use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::{Arc, Mutex};

use rmcp::RoleServer;
use rmcp::model::ResourceUpdatedNotificationParam;
use rmcp::service::Peer;
use tokio::sync::broadcast::Receiver;
use tokio::sync::broadcast::error::{RecvError, TryRecvError};

use super::controller::Change;
use super::gateway::Gateway;
use super::resource::{GROUP, PREFIX};

/// How many resources a session can watch.
const MOST: usize = 4096;

/// The URIs that a session watches, each with a hash of what the session last read. Cloning it gives another handle to the
/// same.
#[derive(Clone, Debug, Default)]
pub(super) struct Watched(Arc<Mutex<BTreeMap<String, Option<u64>>>>);

impl Watched {
    /// Adds one; false if there are too many.
    pub(super) fn add(&self, uri: String) -> bool {
        let mut watched = self.0.lock().expect("no holder panics");
        (watched.len() < MOST || watched.contains_key(&uri)) && {
            watched.entry(uri).or_default();
            true
        }
    }

    /// The session has read this text of a resource.
    pub(super) fn has_read(&self, uri: &str, text: &str) {
        if let Some(last) = self.0.lock().expect("no holder panics").get_mut(uri) {
            *last = Some(hash(text));
        }
    }

    pub(super) fn remove(&self, uri: &str) {
        self.0.lock().expect("no holder panics").remove(uri);
    }

    fn all(&self) -> BTreeSet<String> {
        self.0.lock().expect("no holder panics").keys().cloned().collect()
    }

    /// Those that are not as the session last read them.
    fn outdated(&self, gateway: &Gateway) -> Vec<String> {
        let watched = self.0.lock().expect("no holder panics").clone();
        let devices = gateway.controller.devices();
        let is_outdated = |uri: &str, last: Option<u64>| {
            let text = gateway.resource(uri, &devices);
            last.zip(text).is_some_and(|(last, text)| last != hash(&text))
        };
        watched.into_iter().filter(|(uri, last)| is_outdated(uri, *last)).map(|(uri, _)| uri).collect()
    }
}

fn hash(text: &str) -> u64 {
    let mut hasher = DefaultHasher::new();
    text.hash(&mut hasher);
    hasher.finish()
}

/// What has changed and not been told yet.
#[derive(Default)]
struct News {
    uris: BTreeSet<String>,
    is_list: bool,
}

impl News {
    fn add(&mut self, change: Change) {
        match change {
            Change::Device(id) => drop(self.uris.insert(format!("{PREFIX}{id}"))),
            Change::List => self.is_list = true,
        }
    }

    /// Some changes were missed: any may be among them.
    fn add_all(&mut self, watched: &Watched) {
        self.uris.extend(watched.all());
        self.is_list = true;
    }
}

/// Sends a notification for each change until the session or the controller is gone. On a slow line several changes of
/// one device become one notification.
pub(super) async fn forward(
    mut changes: Receiver<Change>,
    peer: Peer<RoleServer>,
    watched: Watched,
    gateway: Gateway,
) {
    loop {
        let mut news = News::default();
        match changes.recv().await {
            Ok(change) => news.add(change),
            Err(RecvError::Lagged(_)) => news.add_all(&watched),
            Err(RecvError::Closed) => return std::future::pending().await,
        }
        loop {
            match changes.try_recv() {
                Ok(change) => news.add(change),
                Err(TryRecvError::Lagged(_)) => news.add_all(&watched),
                Err(TryRecvError::Empty | TryRecvError::Closed) => break,
            }
        }
        if news.is_list {
            // The name of one device decides whether another is addressed by its name or by its id.
            news.uris.extend(watched.outdated(&gateway));
        }
        let watched = watched.all();
        if news.is_list {
            // Which devices a group has, and what they can do, hangs on the list.
            let group = format!("{PREFIX}{GROUP}-");
            news.uris.extend(watched.iter().filter(|uri| uri.starts_with(&group)).cloned());
        }
        if news.is_list && peer.notify_resource_list_changed().await.is_err() {
            return std::future::pending().await;
        }
        for uri in news.uris.into_iter().filter(|uri| watched.contains(uri)) {
            if peer.notify_resource_updated(ResourceUpdatedNotificationParam::new(uri)).await.is_err() {
                return std::future::pending().await;
            }
        }
    }
}
