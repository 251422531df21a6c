//! A server with just enough of PostgreSQL's protocol to misbehave in it. It has the schemas `app` and `public`.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use bytes::{Buf, BufMut};
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::{TcpListener, TcpStream};
use tokio_util::task::AbortOnDropHandle;

/// OIDs from here on are types of this server only.
const OWN_TYPES: u32 = 100_000;

const CHAR: u32 = 18;
const NAME: u32 = 19;
const INT4: u32 = 23;
const TEXT: u32 = 25;
const OID: u32 = 26;

/// The types of this server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Types {
    /// Every column is an integer.
    Known,
    /// A domain over itself.
    Cyclic,
    /// Domains over domains, with this depth.
    Nested(u32),
    /// The query that looks up a type has a parameter of an unknown type itself.
    InTheLookUp,
    /// This many columns, each a separate domain over an integer.
    Many(u32),
}

/// Behaviour of a server, and its counters.
#[derive(Debug)]
pub(super) struct Behaviour {
    pub(super) types: Types,
    /// Bytes of new settings that come with each answer.
    pub(super) settings: usize,
    /// Connections so far.
    pub(super) connections: AtomicUsize,
    /// Look-ups of types so far.
    pub(super) look_ups: AtomicUsize,
    /// If true, existing sessions get 42501 and new ones do not.
    pub(super) role_is_new: AtomicBool,
    /// Commands and statements so far, in order.
    pub(super) said: Mutex<Vec<String>>,
    /// If true, all sessions get 42501.
    pub(super) role_is_denied: AtomicBool,
}

/// A listening socket on loopback, closed on drop.
pub(super) struct Server {
    pub(super) port: u16,
    pub(super) behaviour: Arc<Behaviour>,
    _task: AbortOnDropHandle<()>,
}

impl Server {
    pub(super) async fn start(types: Types) -> Self {
        Self::with_settings(types, 0).await
    }

    /// Each response contains this many bytes of new settings.
    #[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
    pub(super) async fn with_settings(types: Types, settings: usize) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let behaviour = Arc::new(Behaviour {
            types,
            settings,
            connections: AtomicUsize::default(),
            look_ups: AtomicUsize::default(),
            role_is_new: AtomicBool::default(),
            role_is_denied: AtomicBool::default(),
            said: Mutex::default(),
        });
        let seen = behaviour.clone();
        let task = tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                seen.connections.fetch_add(1, Ordering::SeqCst);
                let is_refused = seen.role_is_new.load(Ordering::SeqCst);
                tokio::spawn(
                    Peer { stream, behaviour: seen.clone(), knows_role: is_refused, query: String::new(), told: 0 }
                        .serve(),
                );
            }
        });
        Self { port, behaviour, _task: AbortOnDropHandle::new(task) }
    }

    pub(super) fn connections(&self) -> usize {
        self.behaviour.connections.load(Ordering::SeqCst)
    }

    /// Drops and recreates the role: existing sessions are rejected from now on.
    pub(super) fn renew_role(&self) {
        self.behaviour.role_is_new.store(true, Ordering::SeqCst);
    }

    /// Rejects all sessions from now on.
    pub(super) fn revoke_rights(&self) {
        self.behaviour.role_is_denied.store(true, Ordering::SeqCst);
    }

    /// Takes the commands and statements so far.
    pub(super) fn take_said(&self) -> Vec<String> {
        std::mem::take(&mut self.behaviour.said.lock().unwrap())
    }

    pub(super) fn look_ups(&self) -> usize {
        self.behaviour.look_ups.load(Ordering::SeqCst)
    }
}

/// One connection.
struct Peer {
    stream: TcpStream,
    behaviour: Arc<Behaviour>,
    knows_role: bool,
    /// The last parsed statement.
    query: String,
    /// Number of settings sent to it.
    told: usize,
}

impl Peer {
    async fn serve(mut self) {
        let Ok(length) = self.stream.read_u32().await else { return };
        let mut startup = vec![0; length as usize - 4];
        if self.stream.read_exact(&mut startup).await.is_err() {
            return;
        }
        let mut out = Vec::new();
        message(&mut out, b'R', &0_u32.to_be_bytes());
        message(&mut out, b'Z', b"I");
        let mut bound = 0;
        self.stream.set_nodelay(true).unwrap();
        loop {
            if self.stream.write_all(&out).await.is_err() {
                return;
            }
            out.clear();
            let Ok(tag) = self.stream.read_u8().await else { return };
            let Ok(length) = self.stream.read_u32().await else { return };
            let mut body = vec![0; length as usize - 4];
            if self.stream.read_exact(&mut body).await.is_err() {
                return;
            }
            self.answer(&mut out, &mut bound, (tag, &body));
            if body.starts_with(b"LISTEN") && self.behaviour.settings > 0 {
                return self.notify_forever(out).await;
            }
        }
    }

    async fn notify_forever(mut self, mut out: Vec<u8>) {
        while self.stream.write_all(&out).await.is_ok() {
            tokio::time::sleep(Duration::from_millis(1)).await;
            out.clear();
            self.announce(&mut out);
            message(&mut out, b'A', b"\0\0\0\x01c\0n\0");
        }
    }

    fn answer(&mut self, out: &mut Vec<u8>, bound: &mut u32, (tag, body): (u8, &[u8])) {
        match tag {
            b'Q' => {
                self.note(&body[..body.len() - 1]);
                self.query.clear();
                self.describe_columns(out);
                if body.windows(15).any(|part| part == b"current_schemas") {
                    row(out, &[Some(b"app")]);
                    row(out, &[Some(b"public")]);
                }
                message(out, b'C', b"SET\0");
                self.end(out);
            }
            b'P' => {
                let texts: Vec<&[u8]> = body.split(|letter| *letter == 0).collect();
                self.query = String::from_utf8(texts[1].to_vec()).unwrap();
                self.note(texts[1]);
                message(out, b'1', b"");
            }
            b'D' => self.describe(out),
            b'B' => {
                // The last parameter's value precedes the formats of the results.
                *bound = if self.is_look_up() { (&body[body.len() - 8..]).get_u32() } else { 0 };
                message(out, b'2', b"");
            }
            b'E' if self.is_refused() => {
                let error = b"SERROR\0C42501\0Mno\0\0";
                message(out, b'E', error);
            }
            b'E' => {
                self.execute(out, *bound);
                message(out, b'C', b"SELECT 1\0");
            }
            b'C' => message(out, b'3', b""),
            b'S' => self.end(out),
            _ => {}
        }
    }

    fn note(&self, said: &[u8]) {
        self.behaviour.said.lock().unwrap().push(String::from_utf8_lossy(said).into_owned());
    }

    fn is_refused(&self) -> bool {
        let is_old = !self.knows_role && self.behaviour.role_is_new.load(Ordering::SeqCst);
        !self.is_look_up() && (is_old || self.behaviour.role_is_denied.load(Ordering::SeqCst))
    }

    fn is_look_up(&self) -> bool {
        self.query.starts_with("SELECT t.typname")
    }

    fn end(&mut self, out: &mut Vec<u8>) {
        self.announce(out);
        message(out, b'Z', b"I");
    }

    fn announce(&mut self, out: &mut Vec<u8>) {
        let end = out.len() + self.behaviour.settings;
        while out.len() < end {
            self.told += 1;
            message(out, b'S', format!("{:x}\0\0", self.told).as_bytes());
        }
    }

    fn describe(&self, out: &mut Vec<u8>) {
        let parameter = match self.behaviour.types {
            Types::InTheLookUp if self.is_look_up() => Some(OWN_TYPES),
            _ if self.is_look_up() => Some(OID),
            _ => self.query.contains("$1").then_some(TEXT),
        };
        let mut body = Vec::new();
        body.put_u16(u16::from(parameter.is_some()));
        parameter.iter().for_each(|oid| body.put_u32(*oid));
        message(out, b't', &body);
        self.describe_columns(out);
    }

    fn describe_columns(&self, out: &mut Vec<u8>) {
        let is_wrapped = self.query.contains("::pg_catalog.text");
        let columns = match self.behaviour.types {
            _ if self.is_look_up() => vec![NAME, CHAR, OID, OID, OID, NAME, OID],
            Types::Many(columns) if is_wrapped => vec![TEXT; columns as usize],
            Types::Many(columns) => (OWN_TYPES..OWN_TYPES + columns).collect(),
            _ if is_wrapped => vec![TEXT],
            Types::Known => vec![INT4],
            _ => vec![OWN_TYPES],
        };
        let mut body = Vec::new();
        body.put_u16(columns.len() as u16);
        for (position, oid) in columns.iter().enumerate() {
            body.put_slice(format!("c{position}\0").as_bytes());
            body.put_u32(0);
            body.put_u16(0);
            body.put_u32(*oid);
            body.put_u16(4);
            body.put_u32(0);
            body.put_u16(0);
        }
        message(out, b'T', &body);
    }

    fn execute(&self, out: &mut Vec<u8>, oid: u32) {
        if self.is_look_up() {
            self.behaviour.look_ups.fetch_add(1, Ordering::SeqCst);
            let base = match self.behaviour.types {
                Types::Nested(depth) if oid + 1 < OWN_TYPES + depth => oid + 1,
                Types::Nested(_) | Types::Many(_) => INT4,
                _ => oid,
            };
            let (zero, base) = (0_u32.to_be_bytes(), base.to_be_bytes());
            row(out, &[Some(b"d"), Some(b"d"), Some(&zero), None, Some(&base), Some(b"public"), Some(&zero)]);
            return;
        }
        let columns = if let Types::Many(columns) = self.behaviour.types { columns } else { 1 };
        row(out, &vec![Some(b"1".as_slice()); columns as usize]);
    }
}

fn row(out: &mut Vec<u8>, values: &[Option<&[u8]>]) {
    let mut body = Vec::new();
    body.put_u16(values.len() as u16);
    for value in values {
        body.put_i32(value.map_or(-1, |value| value.len() as i32));
        body.put_slice(value.unwrap_or_default());
    }
    message(out, b'D', &body);
}

fn message(out: &mut Vec<u8>, tag: u8, body: &[u8]) {
    out.put_u8(tag);
    out.put_u32(body.len() as u32 + 4);
    out.put_slice(body);
}
