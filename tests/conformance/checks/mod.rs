//! The checks, by noun.

pub(crate) mod delivery;
pub(crate) mod property;
pub(crate) mod retained;
pub(crate) mod session;
pub(crate) mod subscription;
pub(crate) mod will;
