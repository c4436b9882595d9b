//! Who may connect.

use std::fmt;

/// Who may connect to the broker.
#[derive(Clone, Debug, Default)]
pub enum Access {
    /// Everybody, with whatever user name and password, or none.
    #[default]
    Anyone,
    /// Only those who give one of these user names with its password.
    Logins(Vec<Login>),
}

/// A user name and its password.
#[derive(Clone, PartialEq, Eq)]
pub struct Login {
    /// Compared byte by byte.
    pub user: String,
    /// Compared byte by byte; shown nowhere.
    pub password: String,
}

impl Access {
    pub(super) fn admits(&self, user: Option<&str>, password: Option<&[u8]>) -> bool {
        match self {
            Self::Anyone => true,
            Self::Logins(logins) => logins.iter().any(|login| {
                user == Some(login.user.as_str()) && password == Some(login.password.as_bytes())
            }),
        }
    }
}

impl fmt::Debug for Login {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Login").field("user", &self.user).finish_non_exhaustive()
    }
}
