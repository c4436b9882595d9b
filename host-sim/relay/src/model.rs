//! The models behind the services.

use std::collections::BTreeMap;
use std::fmt;

use super::endpoint::Endpoint;
use super::provider::Provider;

/// The model behind a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// A server.
    At(Endpoint),
    /// The demo model in this process.
    Demo,
}

/// The model behind each service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models(BTreeMap<Provider, Model>);

impl Models {
    /// The model of a service, if it is served.
    pub fn get(&self, service: Provider) -> Option<&Model> {
        self.0.get(&service)
    }

    /// Sets the model of a service.
    pub fn set(&mut self, service: Provider, model: Model) {
        self.0.insert(service, model);
    }

    /// The demo model for every service.
    pub fn demo() -> Self {
        Self(Provider::ALL.into_iter().map(|service| (service, Model::Demo)).collect())
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Provider, &Model)> {
        self.0.iter().map(|(service, model)| (*service, model))
    }
}

/// The names of the services, for people.
impl fmt::Display for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<_> = self.0.keys().map(|service| service.name()).collect();
        if names.is_empty() { f.write_str("none") } else { f.write_str(&names.join(", ")) }
    }
}
