//! An object of the cluster that a target reads as the external resource: its name, and why nothing is known of it.
//!
//! It names a kind as people write it; what the API server calls its collection is found out by whoever asks. This file
//! knows no templates and sends nothing.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// One object of the cluster, by its name.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ClusterResource {
    /// Group and version: `apps/v1`.
    pub api_version: Arc<str>,
    /// For example `StatefulSet`.
    pub kind: Arc<str>,
    /// The namespace, where its kind has namespaces; `None` where neither the target nor the object names one.
    pub namespace: Option<String>,
    /// The name: characters that mean nothing in a path, never `.` or `..`.
    pub name: String,
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
    /// `None` where the kind has no namespaces.
    pub namespace: Option<String>,
    /// The name, unique there.
    pub name: String,
}

/// Why there is no answer about an object of the cluster. None of these says that it does not exist.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum ResourceError {
    /// The cluster does not serve the kind in that version, or nothing of it can be read.
    #[error("the cluster serves no kind {kind} in {api_version}")]
    NotServed {
        /// As the target says.
        api_version: Arc<str>,
        /// As the target says.
        kind: Arc<str>,
    },
    /// Objects of the kind are in namespaces, and neither the target nor its object names one.
    #[error("{0} needs a namespace, and the object has none")]
    NoNamespace(Arc<str>),
    /// The API server refuses, with this status; 0 where what stands on the way answered in a form of its own.
    #[error("the API server answers with status {status}")]
    Refused {
        /// Of the answer.
        status: u16,
        /// The sentence for people: names at most, no values.
        sentence: String,
        /// The time that it asks to be left alone.
        retry_after: Option<Duration>,
    },
    /// It did not answer in time.
    #[error("no answer within the target's timeout")]
    TimedOut,
    /// It cannot be reached; the cause names no value.
    #[error("the API server cannot be reached: {0}")]
    Unreachable(String),
    /// The answer is larger than any that is read.
    #[error("the answer is too large")]
    TooLarge,
    /// The answer is no object.
    #[error("the answer is no JSON")]
    Unreadable,
}
