//! `hints`: ways to hear from the external system that something changed, so that it is polled soon and not only at the
//! interval.
//!
//! A hint names an external resource by its identity and is believed in nothing: all that follows is a poll. It must not
//! know how a hint comes, nor who has the resource.

mod listen;

use serde_json::Value;

use crate::cel::{EvaluationError, Scope, TextTemplate, Variables};
use crate::raw::Reader;
use crate::yaml::Node;

pub use listen::ListenHints;

/// One way to hear of changes. A further kind is a further file beside `listen`.
#[derive(Debug)]
pub enum HintSource {
    /// Notifications of a PostgreSQL server.
    Listen(ListenHints),
}

impl HintSource {
    /// The name of the external resource that a hint is about.
    ///
    /// # Errors
    /// When the template cannot be evaluated for this payload; the error holds nothing of it.
    pub fn identity_of(&self, payload: &Value) -> Result<String, EvaluationError> {
        let identity = match self {
            Self::Listen(listen) => &listen.identity,
        };
        identity.render(&Variables { payload: Some(payload), ..Variables::of_object(&Value::Null) })
    }
}

pub(super) fn read_hints(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Vec<HintSource>> {
    let fields = reader.fields(node, place, &["listen"])?;
    if fields.entries().is_empty() {
        return reader.refuse(node.at, format!("{place}: at least one of listen is needed; leave the key out instead"));
    }
    let listen = reader.optional(&fields, "listen", listen::read_listen)?;
    Some(listen.map(HintSource::Listen).into_iter().collect())
}

/// The template that makes an identity of a payload.
fn read_hinted_identity(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<TextTemplate> {
    let text = reader.text(node, place)?;
    let site = reader.site(place, Scope::Hint);
    reader.compiled(node, place, TextTemplate::parse(text, &site))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, clippy::panic)]
mod tests;
