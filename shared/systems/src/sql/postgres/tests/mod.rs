//! Connections to misbehaving servers.

mod server;

use crate::guard::failure::SystemFailure;
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use serde_json::{Value, json};

use crate::sql::state::SqlState;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::{Connection, Dialect, SqlQuery};

use crate::sql::failure::TOO_MANY_TYPES;
use crate::{
    ConnectionParameters, Databases, QueryOptions, RunOptions, SqlFailure, Way, WriteProgress, WriteStatement,
};
use server::{Server, Types};

/// Timeout of every wait in a test.
const PATIENCE: Duration = Duration::from_secs(60);

/// Databases, and the way to a server.
struct Client {
    databases: Databases,
    parameters: ConnectionParameters,
}

fn databases(data: &[(&str, &str)]) -> Databases {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
    let secrets: LabelledSecrets = [("s".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
    Databases::new(Arc::new(ArcSwap::from_pointee(secrets)), "test")
}

fn secret() -> Connection {
    Connection { dialect: Dialect::Postgres, secret: "s".to_owned() }
}

impl Client {
    fn of(server: &Server) -> Self {
        Self::searching(server, "")
    }

    fn searching(server: &Server, schemas: &str) -> Self {
        Self::at(server.port, schemas)
    }

    fn at(port: u16, schemas: &str) -> Self {
        let port = port.to_string();
        let host = [("host", "127.0.0.1"), ("port", port.as_str()), ("user", "u"), ("sslmode", "disable")];
        let databases = databases(&[&host[..], &[("search_path", schemas)]].concat());
        let parameters = databases.parameters(&secret(), false).unwrap();
        Self { databases, parameters }
    }

    fn way(&self) -> Way<'_> {
        Way { parameters: &self.parameters, allow_networks: &[] }
    }

    async fn query(&self) -> Result<Vec<Value>, SqlFailure> {
        self.ask(&SqlQuery { connection: Ok(secret()), text: "SELECT c".into(), parameters: Vec::new() }).await
    }

    async fn ask(&self, query: &SqlQuery) -> Result<Vec<Value>, SqlFailure> {
        let options = QueryOptions { timeout: PATIENCE, max_bytes: 8 * 1024 * 1024, max_rows: None };
        let mut place = self.databases.enter("t", "s").await;
        let mut rows = Vec::new();
        let mut take = |row| rows.push(row);
        let asking = self.databases.query(&mut place, self.way(), query, &options, &mut take);
        tokio::time::timeout(PATIENCE, asking).await.unwrap()?;
        Ok(rows)
    }

    async fn run(&self, texts: &[String]) -> Result<(), SqlFailure> {
        let statement = |text: &String| WriteStatement { text: text.clone(), timeout: None };
        let options = RunOptions { transaction: false, timeout: PATIENCE };
        self.write(&texts.iter().map(statement).collect::<Vec<_>>(), options).await
    }

    async fn write(&self, statements: &[WriteStatement], options: RunOptions) -> Result<(), SqlFailure> {
        let mut place = self.databases.enter("t", "s").await;
        let progress = WriteProgress::default();
        let running = self.databases.run(&mut place, self.way(), statements, options, &progress);
        tokio::time::timeout(PATIENCE, running).await.unwrap().map_err(|ended| ended.failure)
    }
}

/// A server that is closed, one that ends the log-in, and an honest one.
#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
async fn only_a_sent_statement_may_have_run() {
    let cutting = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
    let closed = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap().local_addr().unwrap().port();
    let (honest, cut) = (Server::start(Types::Known).await, cutting.local_addr().unwrap().port());
    let _task =
        tokio_util::task::AbortOnDropHandle::new(tokio::spawn(async move { while cutting.accept().await.is_ok() {} }));
    let statement = [WriteStatement { text: "SELECT 1".to_owned(), timeout: None }];
    for (port, is_sent) in [(closed, false), (cut, false), (honest.port, true)] {
        let (client, progress) = (Client::at(port, ""), WriteProgress::default());
        let mut place = client.databases.enter("t", "s").await;
        let options = RunOptions { transaction: true, timeout: PATIENCE };
        let done = client.databases.run(&mut place, client.way(), &statement, options, &progress).await;
        assert_eq!((done.is_ok(), progress.has_begun()), (is_sent, is_sent), "{done:?}");
    }
}

#[tokio::test]
async fn each_statement_has_its_own_time_limit() {
    let server = Server::start(Types::Known).await;
    let client = Client::of(&server);
    client.query().await.unwrap();
    let timeouts = [None, None, Some(300), Some(300), None];
    let statement = |seconds: Option<u64>| WriteStatement {
        text: "SELECT c".to_owned(),
        timeout: seconds.map(Duration::from_secs),
    };
    let statements = timeouts.map(statement);
    let limits = |begin: &str, scope: &str| {
        let set = |milliseconds: u32| format!("SET {scope}statement_timeout = {milliseconds}");
        vec![format!("{begin}{}", set(8_000)), set(300_000), set(8_000)]
    };
    for (transaction, expected) in [(true, limits("BEGIN; ", "LOCAL ")), (false, limits("", ""))] {
        server.take_said();
        let options = RunOptions { transaction, timeout: Duration::from_secs(8) };
        assert_eq!(client.write(&statements, options).await, Ok(()));
        let said = server.take_said();
        let statements: Vec<_> = said.iter().skip_while(|line| **line != expected[0]).cloned().collect();
        let ran = "SELECT c".to_owned();
        let [first, longer, last] = &*expected else { panic!("{expected:?}") };
        let mut wanted = vec![first, &ran, &ran, longer, &ran, &ran, last, &ran];
        let commit = "COMMIT".to_owned();
        wanted.extend(transaction.then_some(&commit));
        assert_eq!(statements.iter().collect::<Vec<_>>(), wanted, "{said:?}");
    }
}

/// PostgreSQL skips such a schema, and the query would read the tables of the next one.
#[tokio::test]
async fn a_session_that_lacks_a_schema_is_refused() {
    let server = Server::start(Types::Known).await;
    for searched in ["app", "app, public", "$user, app"] {
        let client = Client::searching(&server, searched);
        assert_eq!(client.query().await, Ok(vec![json!({"c0": 1})]), "{searched}");
        assert_eq!(client.run(&["SELECT 1".to_owned()]).await, Ok(()), "{searched}");
        assert_eq!(client.query().await, Ok(vec![json!({"c0": 1})]), "{searched}");
    }
    assert_eq!(server.connections(), 3, "each is used again");
    for searched in ["nowhere", "nowhere, app", "app, nowhere"] {
        let client = Client::searching(&server, searched);
        let sentence = "search_path names the schema nowhere, which does not exist or which the role may not use";
        let refused = SqlFailure::System(SystemFailure::CredentialUnavailable(sentence.to_owned()));
        assert_eq!(client.query().await, Err(refused.clone()), "{searched}");
        assert_eq!(client.run(&["SELECT 1".to_owned()]).await, Err(refused), "{searched}");
    }
}

/// Types whose look-up would never end, or need 20,000 levels.
const ENDLESS: [Types; 3] = [Types::Cyclic, Types::Nested(20_000), Types::InTheLookUp];

#[tokio::test]
async fn endless_types_end_the_query_alone() {
    for types in ENDLESS {
        let (hostile, honest) = (Server::start(types).await, Server::start(Types::Known).await);
        let (first, second) = (Client::of(&hostile), Client::of(&honest));
        let (failed, answered) = tokio::join!(first.query(), second.query());
        assert_eq!(failed, Err(SqlFailure::System(SystemFailure::Unreadable(TOO_MANY_TYPES))), "{types:?}");
        assert_eq!(answered, Ok(vec![json!({"c0": 1})]), "{types:?}");
        assert!(hostile.look_ups() < 200, "{types:?}: {} look-ups", hostile.look_ups());
        assert_eq!(
            first.query().await,
            Err(SqlFailure::System(SystemFailure::Unreadable(TOO_MANY_TYPES))),
            "{types:?}"
        );
        assert_eq!(hostile.connections(), 2, "{types:?}");
    }
}

#[tokio::test]
async fn endless_types_end_the_correction_alone() {
    let statements = ["SELECT 1".to_owned(), "SELECT 2".to_owned()];
    for types in ENDLESS {
        let (hostile, honest) = (Server::start(types).await, Server::start(Types::Known).await);
        let (first, second) = (Client::of(&hostile), Client::of(&honest));
        let (failed, done) = tokio::join!(first.run(&statements), second.run(&statements));
        assert_eq!(failed, Err(SqlFailure::System(SystemFailure::Unreadable(TOO_MANY_TYPES))), "{types:?}");
        assert_eq!(done, Ok(()), "{types:?}");
    }
}

#[tokio::test]
async fn a_listener_looks_no_type_up() {
    for types in ENDLESS {
        let server = Server::start(types).await;
        let client = Client::of(&server);
        let listening = client.databases.listen(client.way(), "c");
        tokio::time::timeout(PATIENCE, listening).await.unwrap().unwrap();
        assert_eq!(server.look_ups(), 0, "{types:?}");
    }
}

#[tokio::test]
async fn a_query_may_have_many_types_of_its_own() {
    for types in [Types::Many(100), Types::Nested(100)] {
        let server = Server::start(types).await;
        let rows = Client::of(&server).query().await.unwrap();
        assert_eq!(rows[0]["c0"], json!(1), "{types:?}");
        assert_eq!(server.look_ups(), 100, "{types:?}");
    }
}

#[tokio::test]
async fn a_large_request_is_sent() {
    let server = Server::start(Types::Known).await;
    let client = Client::of(&server);
    let large = "x".repeat(1024 * 1024);
    let query = SqlQuery {
        connection: Ok(secret()),
        text: format!("SELECT $1 -- {large}").into(),
        parameters: vec![Some(large.clone())],
    };
    assert_eq!(client.ask(&query).await, Ok(vec![json!({"c0": 1})]));
    assert_eq!(client.run(&[large.clone(), large]).await, Ok(()));
}

/// A role without a right lacks it in a new session too.
#[tokio::test]
async fn a_denied_role_reconnects_once_in_ten_seconds() {
    let server = Server::start(Types::Known).await;
    let client = Client::of(&server);
    client.query().await.unwrap();
    server.revoke_rights();
    for connections in [2, 3] {
        for _ in 0..5 {
            assert!(client.query().await.is_err());
            assert!(client.run(&["SELECT 1".to_owned()]).await.is_err());
        }
        assert_eq!(server.connections(), connections);
        tokio::time::pause();
        tokio::time::advance(Duration::from_secs(11)).await;
        tokio::time::resume();
    }
}

/// The role was dropped and created again. Old sessions belong to no role, and a new session belongs to the new role.
#[tokio::test]
async fn a_refused_query_is_asked_anew() {
    let server = Server::start(Types::Known).await;
    let client = Client::of(&server);
    client.query().await.unwrap();
    server.renew_role();
    let refused = SqlFailure::Answered(SqlState::parse("42501").unwrap(), "no".into());
    assert_eq!(client.query().await, Err(refused));
    assert_eq!(client.query().await, Ok(vec![json!({"c0": 1})]));
    assert_eq!(server.connections(), 2);
}

#[tokio::test]
async fn a_refused_correction_is_tried_anew() {
    let server = Server::start(Types::Known).await;
    let client = Client::of(&server);
    let statements = ["SELECT 1".to_owned()];
    client.run(&statements).await.unwrap();
    server.renew_role();
    let refused = SqlFailure::Answered(SqlState::parse("42501").unwrap(), "no".into());
    assert_eq!(client.run(&statements).await, Err(refused));
    assert_eq!(client.run(&statements).await, Ok(()));
    assert_eq!(server.connections(), 2);
}

/// The client keeps each setting that a server announces, until the connection is closed.
#[tokio::test]
async fn announced_settings_do_not_pile_up() {
    let server = Server::with_settings(Types::Known, 100 * 1024).await;
    let client = Client::of(&server);
    for _ in 0..10 {
        client.query().await.unwrap();
        client.run(&["SELECT 1".to_owned()]).await.unwrap();
    }
    assert!(server.connections() >= 4, "{} connections", server.connections());
}

#[tokio::test]
async fn a_listener_that_heard_much_is_replaced() {
    let server = Server::with_settings(Types::Known, 16 * 1024).await;
    let client = Client::of(&server);
    let mut listener = client.databases.listen(client.way(), "c").await.unwrap();
    assert!(listener.serves(&client.parameters));
    for _ in 0..64 {
        let heard = tokio::time::timeout(PATIENCE, listener.next()).await.unwrap();
        assert_eq!(heard, Ok(Some("n".to_owned())));
    }
    assert!(!listener.serves(&client.parameters));
}

#[tokio::test]
async fn an_old_connection_is_not_used_again() {
    let server = Server::start(Types::Known).await;
    let client = Client::of(&server);
    let listener = client.databases.listen(client.way(), "c").await.unwrap();
    for connections in 2..4 {
        client.query().await.unwrap();
        client.query().await.unwrap();
        assert_eq!(server.connections(), connections);
        tokio::time::pause();
        tokio::time::advance(Duration::from_mins(10)).await;
        tokio::time::resume();
    }
    assert!(listener.serves(&client.parameters), "a quiet listener stays");
}

/// With `require`, an impostor of the server gets the password; with `disable`, also every eavesdropper.
#[test]
fn a_password_goes_only_to_a_verified_server() {
    let table = [
        ("db.example", "disable", false),
        ("db.example", "require", false),
        ("db.example", "verify-full", true),
        ("127.0.0.1", "require", true),
        ("orders.db.svc", "require", true),
        ("orders.db.svc", "disable", true),
    ];
    for (host, mode, is_taken) in table {
        let databases = databases(&[("host", host), ("user", "u"), ("password", "canary"), ("sslmode", mode)]);
        let told = databases.parameters(&secret(), false).map_err(|error| error.to_string());
        assert_eq!(told.is_ok(), is_taken, "{host} {mode}");
        let says_why =
            told.is_err_and(|told| told.contains("sslmode is require or disable") && told.contains("insecure: true"));
        assert_eq!(says_why, !is_taken, "{host} {mode}");
        assert!(databases.parameters(&secret(), true).is_ok(), "{host} {mode}");
    }
}
