//! Reads and writes over one session.

use crate::guard::failure::SystemFailure;
use std::time::Duration;

use serde_json::json;

use super::server::{CLOSE, EXECUTE, PREPARE, QUERY, QUIT, Script, Server, ask, column, framed, parts, result, text};
use crate::sql::SqlFailure;
use crate::sql::mysql::Session;
use crate::{RunOptions, StatementFailure, WriteProgress, WriteStatement};

/// An answer without a result, before another answer.
const OK_AND_MORE: &[u8] = b"\0\0\0\x0a\0\0\0";

/// The commands of a server after the login and the settings, as `<first byte> <text>`.
fn commands(server: &Server) -> Vec<String> {
    let shown = |packet: &Vec<u8>| match packet.as_slice() {
        [command @ (QUERY | PREPARE), text @ ..] => format!("{command} {}", String::from_utf8_lossy(text)),
        [command, ..] => command.to_string(),
        [] => String::new(),
    };
    let is_limit = |shown: &String| shown.starts_with("3 SET SESSION max_execution_time");
    server.received().iter().skip(4).map(shown).filter(|shown| !is_limit(shown)).collect()
}

async fn run(session: &mut Session, statements: &[&str]) -> Result<(), StatementFailure> {
    let statement = |text: &&str| WriteStatement { text: (*text).to_owned(), timeout: None };
    let statements: Vec<_> = statements.iter().map(statement).collect();
    let options = RunOptions { transaction: false, timeout: Duration::from_secs(5) };
    session.run(&statements, options, &WriteProgress::default()).await
}

/// The limit of a statement is set in a request of its own, before it.
#[tokio::test]
async fn a_refused_limit_sends_no_statement() {
    let refused = || framed([b"\xff\x7a\x04#42S02none".to_vec()]);
    for (command, is_sent) in [(QUERY, false), (PREPARE, true), (EXECUTE, true)] {
        let answer = move |sent: &[u8]| {
            let is_limit = sent.windows(14).any(|part| part == b"execution_time");
            (sent[0] == command && (is_limit || command != QUERY)).then(refused)
        };
        let server = Server::start(Script { answer: std::sync::Arc::new(answer), ..Script::default() }).await;
        let (mut session, progress) = (server.open("disable").await.unwrap(), WriteProgress::default());
        let statement = [WriteStatement { text: "DROP a".to_owned(), timeout: None }];
        let options = RunOptions { transaction: false, timeout: Duration::from_secs(5) };
        assert!(session.run(&statement, options, &progress).await.is_err());
        assert_eq!(progress.has_begun(), is_sent, "{command}");
    }
}

#[tokio::test]
async fn a_repeated_query_is_prepared_once() {
    let server = Server::start(Script::default()).await;
    let mut session = server.open("disable").await.unwrap();
    for (query, parameters) in [("SELECT ?", &[Some("a")][..]), ("SELECT ?", &[None]), ("SELECT 2", &[])] {
        assert_eq!(ask(&mut session, query, parameters, Some(2)).await, Ok(vec![json!({"a": "x"})]));
    }
    assert!(!session.has_ended());
    drop(session);
    let (begin, end) = ("3 START TRANSACTION READ ONLY", "3 ROLLBACK");
    let expected = [begin, "22 SELECT ?", "23", end, begin, "23", end, begin, "25", "22 SELECT 2", "23", end, "1"];
    server.wait_for_quit().await;
    assert_eq!(commands(&server), expected);
    assert_eq!([PREPARE, EXECUTE, CLOSE, QUIT], [22, 23, 25, 1]);
}

#[tokio::test]
async fn more_rows_than_asked_for_are_counted_only() {
    let rows = || framed(result(&[column(0xfd, b"a")], &vec![[&b"\0\0"[..], &text(b"x")].concat(); 9]));
    let server = Server::start(Script::answering(EXECUTE, rows)).await;
    assert_eq!(server.ask(Some(2)).await.map(|rows| rows.len()), Ok(2));
    assert_eq!(server.ask(None).await.map(|rows| rows.len()), Ok(9));
}

#[tokio::test]
async fn an_error_of_the_server_leaves_the_session() {
    let refused = || framed([b"\xff\x7a\x04#42S02none".to_vec()]);
    for command in [EXECUTE, PREPARE] {
        let server = Server::start(Script::answering(command, refused)).await;
        let mut session = server.open("disable").await.unwrap();
        let failure = ask(&mut session, "SELECT 1", &[], None).await.unwrap_err();
        assert_eq!(failure.to_string(), "SQLSTATE 42S02 (error 1146)");
        assert!(!session.has_ended());
        let failure = run(&mut session, &["DROP a"]).await.unwrap_err();
        assert_eq!((failure.position, failure.to_string()), (0, "SQLSTATE 42S02 (error 1146)".to_owned()));
        assert!(!session.has_ended());
    }
}

#[tokio::test]
async fn a_result_that_is_not_read_ends_the_session() {
    let twice = || framed(result(&[column(0xfd, b"a"), column(0xfd, b"a")], &[]));
    let nothing = || framed([b"\0\0\0\x02\0\0\0".to_vec()]);
    for (script, expected) in [
        (Script::answering(EXECUTE, twice), "two columns have one name"),
        (Script::answering(EXECUTE, nothing), "it has no columns"),
    ] {
        let mut session = Server::start(script).await.open("disable").await.unwrap();
        assert_eq!(
            ask(&mut session, "SELECT 1", &[], None).await,
            Err(SqlFailure::System(SystemFailure::Unreadable(expected)))
        );
        assert!(session.has_ended());
    }
}

#[tokio::test]
async fn each_statement_is_prepared() {
    let server = Server::start(Script::default()).await;
    let mut session = server.open("disable").await.unwrap();
    assert_eq!(run(&mut session, &["GRANT a", "GRANT b"]).await, Ok(()));
    assert_eq!(commands(&server), ["22 GRANT a", "23", "25", "22 GRANT b", "23"]);
    let counted = run(&mut session, &["GRANT ?"]).await.unwrap_err();
    assert_eq!(
        counted.failure,
        SqlFailure::System(SystemFailure::Unreadable("a `?` in the statement reads as a parameter"))
    );
}

/// As of a procedure that selects.
#[tokio::test]
async fn the_results_of_a_statement_are_thrown_away() {
    let results = || {
        let mut packets = result(&[column(0xfd, b"a")], &vec![[&b"\0\0"[..], &text(b"x")].concat(); 3]);
        packets.last_mut().unwrap()[3] |= 8;
        packets.extend([OK_AND_MORE.to_vec(), b"\0\0\0\x02\0\0\0".to_vec()]);
        framed(packets)
    };
    let server = Server::start(Script::answering(EXECUTE, results)).await;
    let mut session = server.open("disable").await.unwrap();
    assert_eq!(run(&mut session, &["CALL a", "CALL b"]).await, Ok(()));
    assert_eq!(ask(&mut session, "CALL a", &[], None).await.map(|rows| rows.len()), Ok(3));
    assert!(!session.has_ended());
}

#[tokio::test]
async fn endless_results_end() {
    let endless = || framed(std::iter::repeat([OK_AND_MORE, &[b'a'; 60_000]].concat()));
    let server = Server::start(Script::answering(EXECUTE, endless)).await;
    let failure = SqlFailure::System(SystemFailure::Unreadable("the results of the statement are larger than 16 MiB"));
    let mut session = server.open("disable").await.unwrap();
    assert_eq!(run(&mut session, &["CALL a"]).await.map_err(|ended| ended.failure), Err(failure));
    assert!(session.has_ended());
    let mut settings = Script::answering(QUERY, endless);
    assert_eq!(
        Server::start(settings.clone()).await.open("disable").await.err(),
        Some(SqlFailure::System(SystemFailure::Unreadable("larger than 64 KiB")))
    );
    settings.login = std::sync::Arc::new(|| parts([vec![0xff, 0x10, 4, b'#']]));
    assert!(Server::start(settings).await.open("disable").await.is_err());
}
