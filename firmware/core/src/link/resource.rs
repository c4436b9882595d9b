//! The controller's resources, as far as the link knows them: what it offers, and what it says of changes.

use crate::json::{Kind, Text, Value};

/// Whether a controller offers resources.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Offer {
    /// It does not.
    #[default]
    Nothing,
    /// It does, and does not notify of changes.
    Resources,
    /// It does, and notifies of changes of those that are subscribed to.
    Subscriptions,
}

impl Offer {
    /// As the answer to a greeting tells it.
    pub(super) fn of(greeting: Value<'_>) -> Self {
        let resources = greeting.get("capabilities").and_then(|offered| offered.get("resources"));
        match resources.filter(|resources| resources.kind() == Kind::Object) {
            None => Self::Nothing,
            Some(resources) => match resources.get("subscribe") {
                Some(subscribe) if subscribe.text() == "true" => Self::Subscriptions,
                _ => Self::Resources,
            },
        }
    }
}

/// What happens to the controller's resources.
#[derive(Clone, Copy, Debug)]
pub enum ResourceNews<'a> {
    /// The controller can be asked, and offers this.
    Opened(Offer),
    /// It is gone.
    Closed,
    /// A list of resources is being received, and this is one of them.
    Listed(Value<'a>),
    /// The same, and it cannot be read.
    ListedUnread,
    /// The resource with this URI has changed.
    Updated(Text<'a>),
    /// There are others now.
    ListChanged,
}

impl<'a> ResourceNews<'a> {
    /// A notification that is about resources.
    pub(super) fn notified(method: &Text<'_>, params: Option<Value<'a>>) -> Option<Self> {
        if *method == *"notifications/resources/updated" {
            params?.get("uri")?.as_text().map(Self::Updated)
        } else {
            (*method == *"notifications/resources/list_changed").then_some(Self::ListChanged)
        }
    }
}
