//! The use of a request: a read, or a step of a correction.

use http::Method;

use crate::cel::Scope;

/// The use of a request, which decides about its methods and the variables of its templates.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum RequestKind {
    /// A read.
    Read,
    /// A step of a correction, with the scope of its templates.
    Step(Scope),
}

impl RequestKind {
    pub(crate) const fn scope(self) -> Scope {
        match self {
            Self::Read => Scope::Object,
            Self::Step(scope) => scope,
        }
    }

    pub(crate) const fn is_write(self) -> bool {
        matches!(self, Self::Step(_))
    }

    pub(super) const fn methods(self) -> &'static [(&'static str, Method)] {
        match self {
            Self::Read => READ_METHODS,
            Self::Step(_) => STEP_METHODS,
        }
    }
}

/// The methods of a read.
const READ_METHODS: &[(&str, Method)] = &[("GET", Method::GET), ("HEAD", Method::HEAD), ("POST", Method::POST)];
/// The methods of a step.
const STEP_METHODS: &[(&str, Method)] = &[
    ("GET", Method::GET),
    ("HEAD", Method::HEAD),
    ("POST", Method::POST),
    ("PUT", Method::PUT),
    ("PATCH", Method::PATCH),
    ("DELETE", Method::DELETE),
];
