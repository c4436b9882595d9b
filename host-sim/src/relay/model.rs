//! What stands behind the services.

use std::collections::BTreeMap;
use std::fmt;

use super::endpoint::Endpoint;
use super::service::Provider;

/// Who answers for a service.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Model {
    /// A server.
    At(Endpoint),
    /// The demo model in this process.
    Demo,
}

/// Who answers for which service.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Models(BTreeMap<Provider, Model>);

impl Models {
    /// Who answers for a service, if anybody does.
    pub fn get(&self, service: Provider) -> Option<&Model> {
        self.0.get(&service)
    }

    /// From now on this one answers for the service.
    pub fn set(&mut self, service: Provider, model: Model) {
        self.0.insert(service, model);
    }

    /// The demo model answers for every service.
    pub fn demo() -> Self {
        Self(Provider::ALL.into_iter().map(|service| (service, Model::Demo)).collect())
    }

    /// Whether nobody answers for anything.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// All of them.
    pub fn iter(&self) -> impl Iterator<Item = (Provider, &Model)> {
        self.0.iter().map(|(service, model)| (*service, model))
    }
}

/// The services, for people.
impl fmt::Display for Models {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if self.is_empty() {
            return f.write_str("none");
        }
        for (index, service) in self.0.keys().enumerate() {
            let comma = if index == 0 { "" } else { ", " };
            write!(f, "{comma}{}", service.name())?;
        }
        Ok(())
    }
}
