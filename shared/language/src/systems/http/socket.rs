//! `socket`: a unix socket of the pod's file system, through which requests go.
//!
//! The URL's host is then only a header.

use std::sync::Arc;

use crate::yaml::Node;
use crate::yaml::reader::Reader;

/// Bytes of a socket's path: what an address of a unix socket holds (108), with the zero at its end.
const MAX_PATH_BYTES: usize = 107;

pub(crate) fn read_socket(reader: &mut Reader<'_>, node: &Node, place: &str) -> Option<Arc<str>> {
    let path = reader.literal(node, place)?;
    let fault = match path {
        _ if !path.starts_with('/') => "an absolute path is needed, for example /run/docker.sock",
        _ if path.ends_with('/') => "a path of a socket does not end in /",
        _ if path.len() > MAX_PATH_BYTES => "a path of a socket has at most 107 bytes",
        _ if path.chars().any(char::is_control) => "a path of a socket holds no control character",
        // One socket has one name: it keys limits, scopes and what the owner of a Secret allows.
        _ if path.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) => {
            "a path of a socket has no empty part, `.` or `..`"
        }
        _ => return Some(path.into()),
    };
    reader.refuse(node.at, format!("{place}: {fault}"))
}
