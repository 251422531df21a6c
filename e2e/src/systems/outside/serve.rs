//! A handwritten HTTP/1.1 server, because a correct HTTP library refuses to misbehave.

use std::io;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Instant;

use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::task::JoinSet;

use super::answer::{Answer, Body, Content, Ending};
use super::{Background, Request, State};

/// Limit of headers, above what any of our clients sends.
const MOST_HEADERS: usize = 100;

/// The size of one piece of a streamed body.
const PIECE: usize = 64 * 1024;

/// A response that is ready to be written.
struct Ready {
    status: u16,
    headers: Vec<(String, String)>,
    body: Body,
}

/// Accepts connections. If it is aborted, its connections are too.
pub(super) async fn accept(listener: TcpListener, state: Arc<State>) {
    static CONNECTIONS: AtomicU64 = AtomicU64::new(1);
    let mut connections = JoinSet::new();
    loop {
        if let Ok((stream, _)) = listener.accept().await {
            let number = CONNECTIONS.fetch_add(1, Ordering::Relaxed);
            let state = state.clone();
            connections.spawn(async move {
                // The client reports broken connections.
                let _ = serve(stream, number, &state).await;
            });
        }
        while connections.try_join_next().is_some() {}
    }
}

async fn serve(mut stream: TcpStream, connection: u64, state: &State) -> io::Result<()> {
    let mut buffer = Vec::new();
    let mut reset_next = false;
    while let Some(request) = read_request(&mut stream, &mut buffer, connection).await? {
        let (answer, background) = state.decide(request.clone());
        let _under_way = state.traffic.begin(&request.method);
        if reset_next {
            return reset(&stream);
        }
        let ready = prepare(&answer, &request, &background, state).await;
        tokio::time::sleep(answer.delay).await;
        if let Some(hold) = &answer.hold {
            hold.released().await;
        }
        if answer.ending == Ending::Reset {
            return reset(&stream);
        }
        write_answer(&mut stream, &ready, &request.method).await?;
        match answer.ending {
            Ending::KeptAlive => {}
            Ending::ResetNext => reset_next = true,
            Ending::Closed | Ending::Reset => return stream.shutdown().await,
        }
    }
    Ok(())
}

/// Makes the kernel send RST instead of FIN when the stream is dropped.
fn reset(stream: &TcpStream) -> io::Result<()> {
    stream.set_zero_linger()
}

async fn prepare(answer: &Answer, request: &Request, background: &Background, state: &State) -> Ready {
    match &answer.content {
        Content::Given { status, body } => {
            Ready { status: *status, headers: answer.headers.clone(), body: body.clone() }
        }
        Content::Forwarded => {
            let mut ready = match forward(request, background.upstream.as_deref().unwrap_or_default(), state).await {
                Ok(ready) => ready,
                Err(error) => Ready { status: 502, headers: Vec::new(), body: Body::Whole(error.to_string().into()) },
            };
            ready.headers.extend(answer.headers.clone());
            ready
        }
        Content::Stored => {
            let documents = background.documents.clone().unwrap_or_default();
            let (status, body) = documents.serve(&request.method, &request.path, &request.body);
            let mut headers = answer.headers.clone();
            headers.push(("content-type".to_owned(), "application/json".to_owned()));
            Ready { status, headers, body: Body::Whole(body.map(|body| body.to_string().into()).unwrap_or_default()) }
        }
    }
}

/// Forwards a request with its method, path, body, and the headers that can affect the response.
async fn forward(request: &Request, upstream: &str, state: &State) -> anyhow::Result<Ready> {
    let method = reqwest::Method::from_bytes(request.method.as_bytes())?;
    let mut passed = state.client.request(method, format!("{upstream}{}", request.path)).body(request.body.clone());
    let tokens = ["authorization", "x-auth-token", "x-subject-token"];
    for name in ["content-type", "accept", "idempotency-key"].into_iter().chain(tokens) {
        if let Some(value) = request.header(name) {
            passed = passed.header(name, value);
        }
    }
    let answer = passed.send().await?;
    let status = answer.status().as_u16();
    let header = |name: &str| Some((name.to_owned(), answer.headers().get(name)?.to_str().ok()?.to_owned()));
    let headers = ["content-type", "x-subject-token"].into_iter().filter_map(header).collect();
    Ok(Ready { status, headers, body: Body::Whole(answer.bytes().await?.to_vec()) })
}

/// Reads the next request on a connection. Returns `None` if the client has closed it.
async fn read_request(stream: &mut TcpStream, buffer: &mut Vec<u8>, connection: u64) -> io::Result<Option<Request>> {
    loop {
        if let Some((mut request, head, length)) = parse(buffer)?
            && buffer.len() >= head + length
        {
            request.connection = connection;
            request.body = buffer[head..head + length].to_vec();
            buffer.drain(..head + length);
            return Ok(Some(request));
        }
        if stream.read_buf(buffer).await? == 0 {
            return Ok(None);
        }
    }
}

/// Parses the request's head. Returns its length in bytes and that of the body, or `None` if the head is incomplete.
fn parse(buffer: &[u8]) -> io::Result<Option<(Request, usize, usize)>> {
    let mut headers = [httparse::EMPTY_HEADER; MOST_HEADERS];
    let mut parsed = httparse::Request::new(&mut headers);
    let status = parsed.parse(buffer).map_err(io::Error::other)?;
    let httparse::Status::Complete(head) = status else {
        return Ok(None);
    };
    let request = Request {
        method: parsed.method.unwrap_or_default().to_owned(),
        path: parsed.path.unwrap_or_default().to_owned(),
        headers: parsed
            .headers
            .iter()
            .map(|header| (header.name.to_ascii_lowercase(), String::from_utf8_lossy(header.value).into_owned()))
            .collect(),
        body: Vec::new(),
        at: Instant::now(),
        connection: 0,
    };
    if request.header("transfer-encoding").is_some() {
        return Err(io::Error::other("a chunked request body: not something that the programs send"));
    }
    let length = request.header("content-length").map_or(Ok(0), str::parse).map_err(io::Error::other)?;
    Ok(Some((request, head, length)))
}

async fn write_answer(stream: &mut TcpStream, ready: &Ready, method: &str) -> io::Result<()> {
    let reason = http::StatusCode::from_u16(ready.status).ok().and_then(|code| code.canonical_reason());
    let mut head = format!("HTTP/1.1 {} {}\r\n", ready.status, reason.unwrap_or("Odd"));
    for (name, value) in &ready.headers {
        head.push_str(&format!("{name}: {value}\r\n"));
    }
    match &ready.body {
        Body::Whole(bytes) if ready.status != 204 => head.push_str(&format!("content-length: {}\r\n", bytes.len())),
        Body::Truncated(bytes, missing) => {
            head.push_str(&format!("content-length: {}\r\n", bytes.len() + missing));
        }
        Body::Whole(_) | Body::Streamed(_) => {}
    }
    head.push_str("\r\n");
    stream.write_all(head.as_bytes()).await?;
    if method == "HEAD" || ready.status == 204 {
        return Ok(());
    }
    match &ready.body {
        Body::Whole(bytes) | Body::Truncated(bytes, _) => stream.write_all(bytes).await,
        Body::Streamed(bytes) => write_stream(stream, *bytes).await,
    }
}

/// Writes a JSON string of this many letters, piece by piece.
async fn write_stream(stream: &mut TcpStream, bytes: u64) -> io::Result<()> {
    let piece = vec![b'a'; PIECE];
    let mut left = bytes;
    stream.write_all(b"\"").await?;
    while left > 0 {
        let length = usize::try_from(left).unwrap_or(PIECE).min(PIECE);
        stream.write_all(&piece[..length]).await?;
        left -= length as u64;
    }
    stream.write_all(b"\"").await
}
