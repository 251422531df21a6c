//! An API server that is a function of the address, and counts the requests.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::sync::{Arc, Mutex};

use serde_json::{Value, json};

use super::folder_of_cluster;

/// The requests so far, as `METHOD ADDRESS`.
pub(crate) type Log = Arc<Mutex<Vec<String>>>;

/// Starts it. Returns a folder with its kubeconfig.
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
pub(crate) fn start(response: impl Fn(&str) -> (u16, Value) + Send + 'static) -> (tempfile::TempDir, Log) {
    let (server, log) = (TcpListener::bind("127.0.0.1:0").unwrap(), Log::default());
    let folder = folder_of_cluster(server.local_addr().unwrap().port());
    let seen = log.clone();
    std::thread::spawn(move || {
        for connection in server.incoming().flatten() {
            answer(connection, &response, &seen);
        }
    });
    (folder, log)
}

fn answer(mut connection: TcpStream, response: &impl Fn(&str) -> (u16, Value), log: &Log) {
    let mut head = Vec::new();
    let mut byte = [0];
    while !head.ends_with(b"\r\n\r\n") && connection.read(&mut byte).is_ok_and(|read| read == 1) {
        head.push(byte[0]);
    }
    let head = String::from_utf8_lossy(&head).into_owned();
    let mut words = head.split_whitespace();
    let (method, address) = (words.next().unwrap_or_default(), words.next().unwrap_or_default());
    let length = head.lines().find_map(|line| line.to_lowercase().strip_prefix("content-length: ")?.parse().ok());
    let mut body = vec![0; length.unwrap_or(0)];
    let _ = connection.read_exact(&mut body);
    log.lock().unwrap().push(format!("{method} {address}"));
    let (code, body) = response(address);
    let body = body.to_string();
    let head = "content-type: application/json\r\nconnection: close";
    let _ = write!(connection, "HTTP/1.1 {code} X\r\n{head}\r\ncontent-length: {}\r\n\r\n{body}", body.len());
}

/// The body of a list.
pub(crate) fn list(items: &[Value]) -> Value {
    json!({"kind": "List", "metadata": {"resourceVersion": "9"}, "items": items})
}

/// A refusal by the API server.
pub(crate) fn refusal(code: u16, reason: &str, details: Value) -> (u16, Value) {
    let mut body = json!({"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": reason});
    body["details"] = details;
    (code, body)
}
