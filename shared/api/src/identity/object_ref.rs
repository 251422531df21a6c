//! The name of an object of any kind, readable and unique.

use std::fmt;

use crate::collections::shared_text::SharedText;

/// An object as `Proxy.example.com shop/orders`, `Service shop/orders` for the core group, or `Proxy.example.com
/// orders` for a cluster-scoped kind.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectRef {
    /// The kind, with its group after a dot.
    pub kind: SharedText,
    /// Its namespace. `None` for a cluster-scoped kind.
    pub namespace: Option<SharedText>,
    /// The object's name.
    pub name: SharedText,
}

impl ObjectRef {
    /// Parses the output of [`Display`](fmt::Display). `None` for any other text.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let (kind, place) = text.split_once(' ')?;
        let (namespace, name) = match place.split_once('/') {
            Some((namespace, name)) => (Some(namespace), name),
            None => (None, place),
        };
        let parts = [kind, namespace.unwrap_or("-"), name];
        let is_name = |part: &&str| !part.is_empty() && !part.contains([' ', '/', ',']);
        parts.iter().all(is_name).then(|| Self {
            kind: kind.into(),
            namespace: namespace.map(SharedText::from),
            name: name.into(),
        })
    }

    /// Returns the kind without its group, and the group. Empty for the core group.
    #[must_use]
    pub fn kind_and_group(&self) -> (&str, &str) {
        self.kind.split_once('.').unwrap_or((&self.kind, ""))
    }
}

impl fmt::Display for ObjectRef {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { kind, namespace, name } = self;
        match namespace {
            Some(namespace) => write!(formatter, "{kind} {namespace}/{name}"),
            None => write!(formatter, "{kind} {name}"),
        }
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_name_is_read_as_it_was_written() {
        for text in ["Proxy.example.com shop/orders", "Service shop/orders", "Proxy.example.com orders"] {
            assert_eq!(ObjectRef::parse(text).unwrap().to_string(), text);
        }
        for text in ["", "Proxy", "Proxy ", "Proxy /a", "Proxy a/", "Proxy a/b/c", "Proxy a b", "Proxy a, Proxy b"] {
            assert_eq!(ObjectRef::parse(text), None, "{text}");
        }
        let core = ObjectRef::parse("Service shop/orders").unwrap();
        assert_eq!(core.kind_and_group(), ("Service", ""));
        assert_eq!(ObjectRef::parse("A.b.c x").unwrap().kind_and_group(), ("A", "b.c"));
    }
}
