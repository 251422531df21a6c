//! Rendered requests to a directory (RFC 4511).
//!
//! They contain no server and no credential: the sender knows both.

use std::fmt;

use drift_api::secrets::labelled_secrets::CredentialError;

/// The entries that a search considers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SearchScope {
    /// The base itself.
    Base,
    /// The entries directly below the base.
    One,
    /// The base and all entries below it.
    Subtree,
}

/// One search. `Debug` hides the filter.
#[derive(Clone, PartialEq, Eq, Hash)]
pub struct Search {
    /// Name of the Secret that has the server and the credential.
    ///
    /// # Errors
    /// The target lists none for the object's namespace.
    pub secret: Result<String, CredentialError>,
    /// DN of the entry where the search begins.
    pub base: String,
    /// The entries that it considers.
    pub scope: SearchScope,
    /// The filter as text.
    pub filter: String,
    /// The filter in BER.
    pub encoded_filter: Vec<u8>,
    /// The attributes to return.
    pub attributes: Vec<String>,
    /// Attributes that every entry must show, or the account may not see all of it.
    pub present: Vec<String>,
    /// DN of an entry that the account must see before an empty result proves absence.
    pub container: String,
}

impl fmt::Debug for Search {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { secret, base, scope, attributes, .. } = self;
        write!(formatter, "Search({secret:?} {base} {scope:?} {attributes:?})")
    }
}

/// One attribute with its values. `Debug` hides the values, because they can be secrets.
#[derive(Clone, PartialEq, Eq)]
pub struct Attribute {
    /// The attribute's name.
    pub name: String,
    /// The values in UTF-8.
    pub values: Vec<String>,
}

impl fmt::Debug for Attribute {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{} ({} values)", self.name, self.values.len())
    }
}

/// The effect of one part of a modification.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Edit {
    /// Adds values.
    Add,
    /// Removes values.
    Delete,
    /// Sets all values. Without values it removes the attribute.
    Replace,
}

/// One change of an entry. The server executes it as a whole or not at all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Change {
    /// Creates the entry.
    Add {
        /// DN of the entry.
        dn: String,
        /// Its attributes.
        attributes: Vec<Attribute>,
    },
    /// Changes attributes of the entry.
    Modify {
        /// DN of the entry.
        dn: String,
        /// The parts of the change.
        edits: Vec<(Edit, Attribute)>,
    },
    /// Deletes the entry.
    Delete {
        /// DN of the entry.
        dn: String,
    },
}

/// Shows all values. Callers mask the secrets in them.
impl fmt::Display for Change {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let shown = |attribute: &Attribute| format!("{} {:?}", attribute.name, attribute.values);
        match self {
            Self::Delete { dn } => write!(formatter, "delete {dn}"),
            Self::Add { dn, attributes } => {
                let attributes: Vec<_> = attributes.iter().map(shown).collect();
                write!(formatter, "add {dn}: {}", attributes.join(", "))
            }
            Self::Modify { dn, edits } => {
                let edit = |(edit, attribute): &(Edit, Attribute)| {
                    format!("{} {}", format!("{edit:?}").to_lowercase(), shown(attribute))
                };
                let edits: Vec<_> = edits.iter().map(edit).collect();
                write!(formatter, "modify {dn}: {}", edits.join(", "))
            }
        }
    }
}

impl Change {
    /// Returns true if it deletes the entry.
    #[must_use]
    pub const fn is_deletion(&self) -> bool {
        matches!(self, Self::Delete { .. })
    }
}
