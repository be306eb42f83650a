// SPDX-License-Identifier: Apache-2.0
//! Defines [`Scope`], a kind of request, and [`Scopes`], the kinds that a client may make.

use std::{fmt, str::FromStr};

/// A kind of request. None of them contains another.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Scope {
    /// Read data and what is known of it, and run commands that do.
    Read,
    /// Change data.
    Write,
    /// Bring programs to the drive.
    Install,
    /// Reset the drive and see what others do.
    Admin,
}

impl Scope {
    /// Every scope.
    pub const ALL: [Self; 4] = [Self::Read, Self::Write, Self::Install, Self::Admin];

    /// Its name in access files.
    pub fn name(self) -> &'static str {
        match self {
            Self::Read => "read",
            Self::Write => "write",
            Self::Install => "install",
            Self::Admin => "admin",
        }
    }

    fn bit(self) -> u8 {
        match self {
            Self::Read => 1,
            Self::Write => 2,
            Self::Install => 4,
            Self::Admin => 8,
        }
    }
}

/// Text that is no scope.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("there is no scope '{text}': it is read, write, install or admin")]
pub struct ScopeError {
    /// The given value.
    pub text: String,
}

impl FromStr for Scope {
    type Err = ScopeError;

    fn from_str(text: &str) -> Result<Self, ScopeError> {
        let found = Self::ALL.into_iter().find(|scope| scope.name() == text);
        found.ok_or_else(|| ScopeError { text: text.to_owned() })
    }
}

impl fmt::Display for Scope {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// A set of scopes.
#[derive(Clone, Copy, PartialEq, Eq, Default)]
pub struct Scopes(u8);

impl Scopes {
    /// Every scope.
    pub fn all() -> Self {
        Self::from_iter(Scope::ALL)
    }

    /// Whether `scope` is one of them.
    pub fn contains(self, scope: Scope) -> bool {
        self.0 & scope.bit() != 0
    }

    /// Whether there is none.
    pub fn is_empty(self) -> bool {
        self.0 == 0
    }

    /// The scopes, in the order of [`Scope::ALL`].
    pub fn iter(self) -> impl Iterator<Item = Scope> {
        Scope::ALL.into_iter().filter(move |scope| self.contains(*scope))
    }
}

impl FromIterator<Scope> for Scopes {
    fn from_iter<T: IntoIterator<Item = Scope>>(scopes: T) -> Self {
        Self(scopes.into_iter().fold(0, |bits, scope| bits | scope.bit()))
    }
}

impl fmt::Debug for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_set().entries(self.iter()).finish()
    }
}

impl fmt::Display for Scopes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let names: Vec<&str> = self.iter().map(Scope::name).collect();
        f.write_str(&names.join(", "))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scopes_are_read_by_the_names_they_are_shown_by() {
        for scope in Scope::ALL {
            assert_eq!(scope.to_string().parse(), Ok(scope));
            assert_eq!(Scopes::from_iter([scope]).to_string(), scope.name());
        }
        for text in ["", "Read", "read ", "all"] {
            let error = text.parse::<Scope>().unwrap_err().to_string();
            assert!(error.starts_with(&format!("there is no scope '{text}'")), "{error}");
        }
    }

    #[test]
    fn set_contains_what_it_was_made_of_and_nothing_else() {
        for bits in 0..16_u32 {
            let is_in = |scope: &Scope| bits & (1 << (*scope as u32)) != 0;
            let scopes: Scopes = Scope::ALL.into_iter().filter(is_in).collect();
            for scope in Scope::ALL {
                assert_eq!(scopes.contains(scope), is_in(&scope), "{scopes:?} {scope}");
            }
            assert_eq!(scopes.is_empty(), bits == 0);
        }
        assert_eq!(Scopes::all().to_string(), "read, write, install, admin");
    }
}
