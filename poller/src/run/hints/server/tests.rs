use super::*;
use drift_kube::telemetry::connections::{CONNECTIONS, HEADERS_WITHIN};
use drift_kube::telemetry::metrics::registry;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpStream;

fn reception() -> HintContext {
    HintContext {
        webhooks: Webhooks::default(),
        secrets: Arc::default(),
        leadership: Leadership::never_held(),
        metrics: Metrics::register(&mut registry("poller")),
    }
}

/// Returns the response to one request.
async fn ask(address: SocketAddr) -> String {
    let mut stream = TcpStream::connect(address).await.unwrap();
    stream.write_all(b"POST /hints/t HTTP/1.1\r\nhost: h\r\ncontent-length: 0\r\n\r\n").await.unwrap();
    let mut answer = String::new();
    stream.read_to_string(&mut answer).await.unwrap();
    answer
}

#[tokio::test]
async fn who_sends_slowly_keeps_nobody_out() {
    let server = HintServer::bind(([127, 0, 0, 1], 0).into()).await.unwrap();
    let address = server.listener.local_addr().unwrap();
    let stop = CancellationToken::new();
    let asking = async {
        let mut slow = Vec::new();
        for _ in 0..3 * CONNECTIONS {
            let mut stream = TcpStream::connect(address).await.unwrap();
            stream.write_all(b"POST /hints/t HTTP/1.1\r\n").await.unwrap();
            slow.push(stream);
        }
        let answer = tokio::time::timeout(HEADERS_WITHIN / 2, ask(address)).await.unwrap();
        assert!(answer.starts_with("HTTP/1.1 503") && answer.contains("retry-after: 1"), "{answer}");
        // The oldest connection was dropped for later ones.
        assert_eq!(slow.swap_remove(0).read(&mut [0; 64]).await.unwrap_or_default(), 0);
        stop.cancel();
    };
    tokio::join!(server.serve(reception(), stop.clone()), asking);
}

#[tokio::test]
async fn a_body_that_breaks_off_costs_what_came() {
    let chunks = |chunks: Vec<io::Result<Vec<u8>>>| Body::from_stream(futures::stream::iter(chunks));
    assert_eq!(read_body(chunks(vec![Ok(b"ab".to_vec()), Ok(b"c".to_vec())])).await, Ok(b"abc".to_vec()));
    assert_eq!(read_body(chunks(vec![Ok(b"ab".to_vec()), Err(io::Error::other("cut"))])).await, Err(2));
    assert_eq!(read_body(chunks(vec![Ok(vec![0; BODY_BYTES])])).await, Ok(vec![0; BODY_BYTES]));
    assert_eq!(read_body(chunks(vec![Ok(vec![0; BODY_BYTES]), Ok(vec![0])])).await, Err(BODY_BYTES));
}

#[tokio::test(start_paused = true)]
async fn what_is_refused_leaves_right_requests_theirs() {
    let rates = Rates::full();
    (0..REFUSED_AT_ONCE - 1).for_each(|_| rates.refuse(100));
    assert!(!rates.are_used_up());
    assert!((0..REQUESTS_AT_ONCE).all(|_| rates.right.take(clock::now()).is_ok()));
    rates.refuse(100);
    assert!(rates.are_used_up(), "nothing is computed for a flood");
    tokio::time::advance(REFUSED_AFTER).await;
    assert!(!rates.are_used_up());
    let large = Rates::full();
    (0..4).for_each(|_| large.refuse(BODY_BYTES));
    assert!(large.are_used_up(), "a large body costs what it has in KiB");
}
