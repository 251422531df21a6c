//! Servers that do not follow the protocol: none stops the program, fills its memory or gets the password.

use crate::guard::failure::SystemFailure;
use std::time::Duration;

use serde_json::json;

use super::server::{
    EXECUTE, NONCE, PASSWORD, PREPARE, Parts, QUERY, Script, Server, column, frame, framed, number, parts, result,
};
use crate::SqlFailure;
use crate::sql::failure::TOO_LARGE;

/// The largest packet without a continuation.
const LARGEST: usize = 16 * 1024 * 1024 - 1;

async fn asked(script: Script) -> Result<Vec<serde_json::Value>, SqlFailure> {
    Server::start(script).await.ask(None).await
}

/// The answer to the query of a read.
async fn executed(answer: impl Fn() -> Parts + Send + Sync + 'static) -> Result<Vec<serde_json::Value>, SqlFailure> {
    asked(Script::answering(EXECUTE, answer)).await
}

#[tokio::test]
async fn the_honest_server_of_these_tests_is_read() {
    assert_eq!(asked(Script::default()).await, Ok(vec![json!({"a": "x"})]));
}

#[tokio::test]
async fn an_announced_number_of_columns_reserves_nothing() {
    let too_many = Err(SqlFailure::System(SystemFailure::Unreadable("it has more than 4,096 columns")));
    for count in [4_097, 200_000, 1 << 56, u64::MAX - 1] {
        assert_eq!(executed(move || framed([number(count)])).await, too_many, "{count}");
        let first = Script::answering(QUERY, move || framed([number(count)]));
        assert_eq!(asked(first).await, too_many, "{count}");
    }
    assert_eq!(
        executed(|| framed([number(0)])).await,
        Err(SqlFailure::System(SystemFailure::Unreadable("it has no columns")))
    );
}

#[tokio::test]
async fn long_column_definitions_are_not_kept() {
    let long = || column(0xfd, &vec![b'a'; LARGEST - 100]);
    let endless = move || framed([number(200)].into_iter().chain(std::iter::repeat_with(long).take(200)));
    assert_eq!(
        executed(endless).await,
        Err(SqlFailure::System(SystemFailure::Unreadable("its columns are described by more than 1 MiB")))
    );
    let endless = move || {
        let statement = b"\0\x01\0\0\0\xff\xff\0\0\0\0\0".to_vec();
        framed([statement].into_iter().chain(std::iter::repeat_with(long)))
    };
    let many = asked(Script::answering(PREPARE, endless)).await;
    assert_eq!(many, Err(SqlFailure::System(SystemFailure::Unreadable("it has more than 4,096 columns"))));
}

#[tokio::test]
async fn endless_rows_end_at_the_limit() {
    let rows =
        |row: Vec<u8>| framed(result(&[column(0xfd, b"a")], &[]).into_iter().take(3).chain(std::iter::repeat(row)));
    for row in [b"\0\0\0".to_vec(), b"\0\x04".to_vec(), [&b"\0\0\xfd\0\0\x01"[..], &[b'a'; 65_536]].concat()] {
        let short = row.len().min(3);
        assert_eq!(
            executed(move || rows(row.clone())).await,
            Err(SqlFailure::System(SystemFailure::Unreadable(TOO_LARGE))),
            "{short}"
        );
    }
    // One row of many packets.
    let endless = move || {
        let head = framed(result(&[column(0xfd, b"a")], &[]).into_iter().take(3));
        Box::new(head.chain((4..).map(|number| frame(number, &vec![0; LARGEST])))) as Parts
    };
    assert_eq!(executed(endless).await, Err(SqlFailure::System(SystemFailure::Unreadable(TOO_LARGE))));
    assert_eq!(
        Server::start(Script::answering(EXECUTE, endless)).await.ask(Some(1)).await.map(drop),
        Err(SqlFailure::System(SystemFailure::Unreadable(TOO_LARGE)))
    );
}

#[tokio::test]
async fn a_server_that_wants_a_file_gets_none() {
    for command in [QUERY, EXECUTE] {
        let server = Server::start(Script::answering(command, || framed([b"\xfb/etc/passwd".to_vec()]))).await;
        let failure = SqlFailure::System(SystemFailure::Unreadable("the server asks for a file of this program"));
        assert_eq!(server.ask(None).await, Err(failure));
        let last = server.received().pop().unwrap();
        assert_eq!(last[0], command, "{last:?}");
    }
}

#[tokio::test]
async fn an_error_is_a_number_and_a_state() {
    let long = [&b"\xff\x28\x04#42000"[..], &[b'a'; 100_000]].concat();
    let table: [(&[u8], &str); 5] = [
        (b"\xff\x28\x04#42000canary password=hunter2", "SQLSTATE 42000 (error 1064)"),
        (b"\xff\x28\x04no state", "SQLSTATE HY000 (error 1064)"),
        (b"\xff\x28\x04#42a00canary", "no connection: the answer is not MySQL's"),
        (b"\xff\x28", "no connection: the answer is not MySQL's"),
        (&long, "the result: larger than 64 KiB"),
    ];
    for (packet, expected) in table {
        let packet = packet.to_vec();
        let failure = asked(Script::answering(QUERY, move || framed([packet.clone()]))).await.unwrap_err();
        assert_eq!(failure.to_string(), expected);
    }
}

#[tokio::test]
async fn types_that_no_result_has_are_refused() {
    for kind in [0x11, 0x12, 0x13, 0x14, 0xf3] {
        let rows = executed(move || framed(result(&[column(kind, b"a")], &[b"\0\0\x01a".to_vec()]))).await;
        assert_eq!(
            rows,
            Err(SqlFailure::System(SystemFailure::Unreadable("a column is of a type that no result has"))),
            "{kind}"
        );
    }
}

#[tokio::test]
async fn a_time_of_any_length_is_a_value() {
    let row = b"\0\0\x08\x01\xff\xff\xff\xff\x01\x02\x03".to_vec();
    let rows = executed(move || framed(result(&[column(0x0b, b"a")], std::slice::from_ref(&row)))).await;
    assert_eq!(rows, Ok(vec![json!({"a": "-103079215081:02:03"})]));
}

/// Packets that end early, and bytes that announce more than there is.
#[tokio::test]
async fn a_truncated_answer_is_no_result() {
    let good = result(&[column(0xfd, b"a"), column(0x08, b"b")], &[b"\0\0\x01x\x01\0\0\0\0\0\0\0".to_vec()]);
    for (place, packet) in good.iter().enumerate().filter(|(place, _)| [1, 2, 4].contains(place)) {
        for length in 0..packet.len() {
            let mut cut = good.clone();
            cut[place].truncate(length);
            let rows = executed(move || framed(cut.clone())).await;
            assert!(rows.is_err(), "{place} {length}: {rows:?}");
        }
    }
    for row in [&b"\0\0\xfe\0\0\0\0\0\0\0\x10a"[..], b"\0\0\xffa", b"\0", b"\0\0"] {
        let row = row.to_vec();
        let rows = executed(move || framed(result(&[column(0xfd, b"a")], std::slice::from_ref(&row)))).await;
        assert!(rows.is_err(), "{rows:?}");
    }
}

#[tokio::test]
async fn the_password_is_never_sent_over_plain_tcp() {
    let switch = |plugin: &str| [&b"\xfe"[..], plugin.as_bytes(), b"\0", NONCE, b"\0"].concat();
    let table: [(&str, Vec<u8>); 6] = [
        ("caching_sha2_password", b"\x01\x04".to_vec()),
        ("mysql_native_password", switch("mysql_clear_password")),
        ("mysql_native_password", b"\xfe".to_vec()),
        ("mysql_native_password", switch("sha256_password")),
        ("mysql_native_password", switch("client_ed25519")),
        ("caching_sha2_password", switch("mysql_old_password")),
    ];
    for (plugin, packet) in table {
        let script =
            Script::logging_in(plugin, move || parts([packet.clone(), b"\x01-----BEGIN PUBLIC KEY-----".to_vec()]));
        let server = Server::start(script).await;
        let failure = server.open("disable").await.map(drop).unwrap_err();
        assert!(matches!(failure, SqlFailure::LoginUnsupported(_)), "{failure}");
        let received = server.received();
        assert_eq!(received.len(), 1, "{plugin}: {received:?}");
        assert!(!received.concat().windows(PASSWORD.len()).any(|bytes| bytes == PASSWORD.as_bytes()));
    }
}

#[tokio::test]
async fn an_endless_login_ends() {
    let switch = [&b"\xfemysql_native_password\0"[..], NONCE, b"\0"].concat();
    for packet in [switch, b"\x01\x03".to_vec(), b"\x01\x04".to_vec(), vec![], vec![2]] {
        let script = Script::logging_in("caching_sha2_password", {
            let packet = packet.clone();
            move || parts(std::iter::repeat(packet.clone()))
        });
        let server = Server::start(script).await;
        let opened = tokio::time::timeout(Duration::from_secs(3), server.open("disable")).await.unwrap();
        assert!(opened.is_err(), "{packet:?}");
        assert!(server.received().len() <= 2);
    }
}
