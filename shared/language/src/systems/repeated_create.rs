//! The effect of a create that is sent again because the result of the first one is unknown.

/// Effect of a repeated create.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum RepeatedCreate {
    /// It makes no second resource, because it names the resource: every write is a request to an address, an entry of
    /// a directory, a statement that defines by name, or a manifest.
    #[default]
    Harmless,
    /// It makes no second resource, because the system recognizes its Idempotency-Key.
    Keyed,
    /// It may make a second resource.
    Duplicates,
}
