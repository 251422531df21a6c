//! A MySQL server of the tests: honest, except for the part that a test replaces.

use std::sync::{Arc, Mutex};

use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::{Connection, Dialect, SqlQuery};
use mysql_common::constants::CapabilityFlags as Can;
use mysql_common::packets::HandshakePacket;
use mysql_common::proto::MySerialize;
use serde_json::Value;
use tokio::io::{AsyncRead, AsyncReadExt, AsyncWrite, AsyncWriteExt};
use tokio::net::{TcpListener, UnixListener};
use tokio_rustls::TlsAcceptor;

use super::super::Session;
use crate::guard::dialling::DialRules;
use crate::{ConnectionParameters, QueryOptions, SqlFailure};

pub(super) const PASSWORD: &str = "canary";
pub(super) const NONCE: &[u8; 20] = b"12345678abcdefghijkl";
pub(super) const OK: &[u8] = b"\0\0\0\x02\0\0\0";
pub(super) const EOF: &[u8] = b"\xfe\0\0\x02\0";
/// Commands of the protocol.
pub(super) const QUERY: u8 = 3;
pub(super) const PREPARE: u8 = 0x16;
pub(super) const EXECUTE: u8 = 0x17;
pub(super) const CLOSE: u8 = 0x19;
pub(super) const QUIT: u8 = 1;

/// Bytes to send, one part after the other.
pub(super) type Parts = Box<dyn Iterator<Item = Vec<u8>> + Send>;
/// The answer to a command. `None` for the honest one.
type Answer = dyn Fn(&[u8]) -> Option<Parts> + Send + Sync;

/// A running server.
pub(super) struct Server {
    pub(super) port: u16,
    received: Arc<Mutex<Vec<Vec<u8>>>>,
}

/// The part of a server that a test replaces.
#[derive(Clone)]
pub(super) struct Script {
    pub(super) plugin: &'static str,
    pub(super) capabilities: Can,
    /// The packets after the client's first one. Each waits for a response, except `OK` and a known password.
    pub(super) login: Arc<dyn Fn() -> Parts + Send + Sync>,
    pub(super) answer: Arc<Answer>,
    /// TLS after the greeting.
    pub(super) tls: Option<TlsAcceptor>,
}

impl Default for Script {
    fn default() -> Self {
        let capabilities = Can::CLIENT_PROTOCOL_41 | Can::CLIENT_SECURE_CONNECTION | Can::CLIENT_PLUGIN_AUTH;
        let capabilities = capabilities | Can::CLIENT_MULTI_RESULTS | Can::CLIENT_PS_MULTI_RESULTS;
        let capabilities = capabilities | Can::CLIENT_CONNECT_WITH_DB | Can::CLIENT_CONNECT_ATTRS;
        let login = Arc::new(|| parts([OK.to_vec()]));
        Self { plugin: "mysql_native_password", capabilities, login, answer: Arc::new(|_| None), tls: None }
    }
}

impl Script {
    /// Replaces the answer to one command.
    pub(super) fn answering(command: u8, answer: impl Fn() -> Parts + Send + Sync + 'static) -> Self {
        Self { answer: Arc::new(move |sent| (sent[0] == command).then(&answer)), ..Self::default() }
    }

    /// Replaces the packets of the login.
    pub(super) fn logging_in(plugin: &'static str, login: impl Fn() -> Parts + Send + Sync + 'static) -> Self {
        Self { plugin, login: Arc::new(login), ..Self::default() }
    }
}

pub(super) fn parts<I: IntoIterator<Item = Vec<u8>>>(packets: I) -> Parts
where
    I::IntoIter: Send + 'static,
{
    Box::new(packets.into_iter())
}

/// Returns packets with headers, as the answer to a command.
pub(super) fn framed<I: IntoIterator<Item = Vec<u8>>>(packets: I) -> Parts
where
    I::IntoIter: Send + 'static,
{
    Box::new(packets.into_iter().zip(1_u64..).map(|(packet, number)| frame(number, &packet)))
}

pub(super) fn frame(number: u64, packet: &[u8]) -> Vec<u8> {
    let length = u32::try_from(packet.len()).unwrap().to_le_bytes();
    [&length[..3], &[number.to_le_bytes()[0]], packet].concat()
}

/// A number whose length is in its first byte.
pub(super) fn number(number: u64) -> Vec<u8> {
    [&[0xfe][..], &number.to_le_bytes()].concat()
}

/// A text with its length.
pub(super) fn text(text: &[u8]) -> Vec<u8> {
    [&number(text.len() as u64), text].concat()
}

/// A column of this type, with a name.
pub(super) fn column(kind: u8, name: &[u8]) -> Vec<u8> {
    let tail = [&[0x0c, 45, 0, 0, 4, 0, 0, kind, 0, 0, 0, 0, 0][..]].concat();
    [&b"\x03def\0\0\0"[..], &text(name), b"\0", &tail].concat()
}

/// The columns and rows of a result.
pub(super) fn result(columns: &[Vec<u8>], rows: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let head = [vec![u8::try_from(columns.len()).unwrap()]];
    let end = || [EOF.to_vec()];
    head.into_iter().chain(columns.to_vec()).chain(end()).chain(rows.to_vec()).chain(end()).collect()
}

/// The prepared statement 1, with one column.
fn prepared(statement: &[u8]) -> Vec<Vec<u8>> {
    let count = statement.iter().filter(|byte| **byte == b'?').count();
    let parameters = vec![column(0xfd, b"?"); count];
    let head = [&b"\0\x01\0\0\0\x01\0"[..], &[u8::try_from(count).unwrap(), 0, 0, 0, 0]].concat();
    let end = vec![EOF.to_vec(); usize::from(count > 0)];
    let columns = [column(0xfd, b"a"), EOF.to_vec()];
    [head].into_iter().chain(parameters).chain(end).chain(columns).collect()
}

fn honest(command: &[u8]) -> Parts {
    let texts = |values: &[&[u8]]| values.iter().flat_map(|value| text(value)).collect::<Vec<u8>>();
    let (name, other) = (column(0xfd, b"a"), column(0xfd, b"b"));
    framed(match command {
        [QUERY, query @ ..] if query.ends_with(b"@@version") => result(&[name], &[texts(&[b"8.0.36"])]),
        [QUERY, query @ ..] if query.starts_with(b"SELECT LENGTH") => result(&[name, other], &[texts(&[b"1", b"a"])]),
        [PREPARE, statement @ ..] => prepared(statement),
        [EXECUTE, ..] => result(&[name], &[[b"\0\0", &text(b"x")[..]].concat()]),
        _ => vec![OK.to_vec()],
    })
}

#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
impl Server {
    pub(super) async fn start(script: Script) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        let received: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let log = received.clone();
        tokio::spawn(async move {
            while let Ok((stream, _)) = listener.accept().await {
                stream.set_nodelay(true).unwrap();
                let (script, log) = (script.clone(), log.clone());
                tokio::spawn(async move { serve(stream, &script, &log).await });
            }
        });
        Self { port, received }
    }

    /// Starts a server on a unix socket, for one connection.
    pub(super) fn start_at(path: &std::path::Path, script: Script) -> Self {
        let listener = UnixListener::bind(path).unwrap();
        let received: Arc<Mutex<Vec<Vec<u8>>>> = Arc::default();
        let log = received.clone();
        tokio::spawn(async move { serve(listener.accept().await.unwrap().0, &script, &log).await });
        Self { port: 0, received }
    }

    /// Returns all packets that clients have sent.
    pub(super) fn received(&self) -> Vec<Vec<u8>> {
        self.received.lock().unwrap().clone()
    }

    /// Waits until a client has said that its session ends.
    pub(super) async fn wait_for_quit(&self) {
        while self.received().last().is_none_or(|last| *last != [QUIT]) {
            tokio::task::yield_now().await;
        }
    }

    pub(super) async fn open(&self, ssl_mode: &str) -> Result<Session, SqlFailure> {
        Session::open(&parameters(self.port, ssl_mode), &DialRules::default(), "test").await
    }

    /// Asks a query over a connection of its own.
    pub(super) async fn ask(&self, max_rows: Option<usize>) -> Result<Vec<Value>, SqlFailure> {
        ask(&mut self.open("disable").await?, "SELECT a", &[], max_rows).await
    }
}

pub(super) async fn ask(
    session: &mut Session,
    text: &str,
    parameters: &[Option<&str>],
    max_rows: Option<usize>,
) -> Result<Vec<Value>, SqlFailure> {
    let mut rows = Vec::new();
    let options = QueryOptions { timeout: std::time::Duration::from_secs(5), max_bytes: MAX_BYTES, max_rows };
    let parameters = parameters.iter().map(|parameter| parameter.map(str::to_owned)).collect();
    let query = SqlQuery { connection: Ok(connection()), text: text.into(), parameters };
    session.ask(&query, &options, &mut |row| rows.push(row)).await.map(|()| rows)
}

/// Size limit of the queries.
const MAX_BYTES: usize = 1024 * 1024;

pub(super) fn parameters(port: u16, ssl_mode: &str) -> ConnectionParameters {
    parameters_of(&format!("mysql://u:{PASSWORD}@127.0.0.1:{port}/d?sslmode={ssl_mode}"))
}

fn parameters_of(uri: &str) -> ConnectionParameters {
    let secret = LabelledSecret::new(None, [("uri".to_owned(), uri.as_bytes().to_vec())]);
    let secrets: LabelledSecrets = [("s".to_owned(), secret)].into_iter().collect();
    ConnectionParameters::of(&connection(), &secrets).unwrap()
}

async fn read(stream: &mut (impl AsyncRead + Unpin), log: &Mutex<Vec<Vec<u8>>>) -> Option<(u8, Vec<u8>)> {
    let mut header = [0; 4];
    stream.read_exact(&mut header).await.ok()?;
    let mut packet = vec![0; usize::from(header[0]) | usize::from(header[1]) << 8 | usize::from(header[2]) << 16];
    stream.read_exact(&mut packet).await.ok()?;
    log.lock().unwrap().push(packet.clone());
    Some((header[3], packet))
}

/// Serves one connection, until the client closes it.
async fn serve(
    mut stream: impl AsyncRead + AsyncWrite + Unpin + Send,
    script: &Script,
    log: &Mutex<Vec<Vec<u8>>>,
) -> Option<()> {
    let mut greeting = Vec::new();
    let (first, second) = (NONCE[..8].try_into().unwrap(), [&NONCE[8..], b"\0"].concat());
    let plugin = Some([script.plugin.as_bytes(), b"\0"].concat());
    HandshakePacket::new(10, &b"8.0.36"[..], 7, first, Some(second), script.capabilities, 45, status(), plugin)
        .serialize(&mut greeting);
    stream.write_all(&frame(0, &greeting)).await.ok()?;
    match &script.tls {
        None => converse(stream, script, log).await,
        Some(acceptor) => {
            read(&mut stream, log).await?;
            converse(acceptor.accept(stream).await.ok()?, script, log).await
        }
    }
}

/// Answers the client's packets after the greeting.
async fn converse(
    mut stream: impl AsyncRead + AsyncWrite + Unpin,
    script: &Script,
    log: &Mutex<Vec<Vec<u8>>>,
) -> Option<()> {
    let (mut last, _) = read(&mut stream, log).await?;
    for packet in (script.login)() {
        stream.write_all(&frame(u64::from(last.wrapping_add(1)), &packet)).await.ok()?;
        stream.flush().await.ok()?;
        match packet.as_slice() {
            [0, ..] => break,
            [1, 3] => last = last.wrapping_add(1),
            _ => last = read(&mut stream, log).await?.0,
        }
    }
    loop {
        let (_, command) = read(&mut stream, log).await?;
        if let [CLOSE | QUIT, ..] = command.as_slice() {
            continue;
        }
        for part in (script.answer)(&command).unwrap_or_else(|| honest(&command)) {
            stream.write_all(&part).await.ok()?;
        }
        stream.flush().await.ok()?;
    }
}

fn status() -> mysql_common::constants::StatusFlags {
    mysql_common::constants::StatusFlags::SERVER_STATUS_AUTOCOMMIT
}

fn connection() -> Connection {
    Connection { dialect: Dialect::Mysql, secret: "s".to_owned() }
}
