//! A cluster object that a target reads as the external resource: its name, and errors of its read.
//!
//! The kind is as written in the target. The caller resolves the name of its collection. This file uses no templates
//! and sends nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// The full name of one cluster object.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterResource {
    /// Group and version: `apps/v1`.
    pub api_version: Arc<str>,
    /// For example `StatefulSet`.
    pub kind: Arc<str>,
    /// The namespace, if its kind has namespaces. `None` if neither the target nor the object names one.
    pub namespace: Option<String>,
    /// The name. It needs no escaping in a path, and is never `.` or `..`.
    pub name: String,
}

impl ClusterResource {
    /// The error if the cluster does not serve its kind.
    #[must_use]
    pub fn not_served(&self) -> ResourceError {
        ResourceError::NotServed { api_version: self.api_version.clone(), kind: self.kind.clone() }
    }
}

impl fmt::Display for ClusterResource {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let namespace = self.namespace.as_deref().unwrap_or_default();
        write!(formatter, "{} {} {namespace}/{}", self.api_version, self.kind, self.name)
    }
}

/// The namespace and name of an object.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ObjectName {
    /// `None` if the kind has no namespaces.
    pub namespace: Option<String>,
    /// The name, unique within the namespace.
    pub name: String,
}

/// The reason for a missing response about a cluster object. None of these means that it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// The cluster does not serve the kind in that version, or it cannot be read.
    #[error("the cluster serves no kind {kind} in {api_version}")]
    NotServed {
        /// The version in the target.
        api_version: Arc<str>,
        /// The kind in the target.
        kind: Arc<str>,
    },
    /// Objects of the kind have a namespace, and neither the target nor its object names one.
    #[error("{0} needs a namespace, and the object has none")]
    NoNamespace(Arc<str>),
    /// The API server responds with an error status. 0 if a proxy in between responded in another format.
    #[error("the API server answers with status {status}")]
    Refused {
        /// The HTTP status.
        status: u16,
        /// The sentence for display. It may quote what was written, and has no value of a secret name.
        sentence: String,
        /// The requested pause.
        retry_after: Option<Duration>,
    },
    /// A write in this version would change other fields of stored objects, so nothing was sent. The sentence names them.
    #[error("{0}")]
    LossyVersion(String),
    /// There was no response in time.
    #[error("no answer within the target's timeout")]
    TimedOut,
    /// There is no connection. The cause contains no value.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
    /// The response exceeds the maximum size.
    #[error("the answer is too large")]
    TooLarge,
    /// The response is not an object.
    #[error("the answer is no JSON")]
    Unreadable,
}
