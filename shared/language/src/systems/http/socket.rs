//! `socket`: a unix socket in the pod's file system, through which requests go.
//!
//! The URL's host is then only a header.

use std::sync::Arc;

use crate::section::{Section, literal};
use crate::yaml::{Fields, Reader};

/// Maximum length of a socket's path in bytes: the address of a unix socket holds 108 with the terminating zero.
const MAX_PATH_BYTES: usize = 107;

/// The key `socket`. Requests that are read later go through it.
#[derive(Section)]
#[section(value = (), check = Self::declare)]
pub(crate) struct Socket {
    /// The absolute path of a unix socket: /run/docker.sock.
    #[key(literal(parse_socket))]
    socket: Option<Arc<str>>,
}

impl Socket {
    fn declare(self, reader: &mut Reader<'_>, _: &Fields<'_>, (): ()) -> Option<()> {
        reader.names_mut().socket = self.socket;
        Some(())
    }
}

fn parse_socket(path: &str) -> Result<Arc<str>, String> {
    let fault = match path {
        _ if !path.starts_with('/') => "an absolute path is needed, for example /run/docker.sock",
        _ if path.ends_with('/') => "a path of a socket does not end in /",
        _ if path.len() > MAX_PATH_BYTES => "a path of a socket has at most 107 bytes",
        _ if path.chars().any(char::is_control) => "a path of a socket holds no control character",
        // One socket must have one name, because limits, scopes and the hosts allowed by a Secret are keyed by it.
        _ if path.split('/').skip(1).any(|part| matches!(part, "" | "." | "..")) => {
            "a path of a socket has no empty part, `.` or `..`"
        }
        _ => return Ok(path.into()),
    };
    Err(fault.to_owned())
}
