//! Our connections to a real PostgreSQL server: values, and rejections by the server.

use std::sync::Arc;
use std::time::Duration;

use anyhow::{Context, Result, ensure};
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_e2e::process::run_folder;
use drift_e2e::systems::postgres::{PASSWORD, Postgres};
use drift_language::{Connection, Dialect, SqlQuery};
use drift_systems::{Databases, QueryOptions, Way};
use serde_json::{Value, json};

/// Our connections to one server, as a role of it.
pub(crate) struct Ours {
    databases: Databases,
    connection: Connection,
    pub(crate) timeout: Duration,
}

impl Ours {
    fn new(address: &str, role: &str, parameters: &str) -> Self {
        let uri = format!("postgresql://{role}:{PASSWORD}@{address}/postgres?{parameters}");
        Self::of(Dialect::Postgres, &[("uri", &uri), ("search_path", "public")])
    }

    pub(crate) fn of(dialect: Dialect, data: &[(&str, &str)]) -> Self {
        let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
        let secrets: LabelledSecrets = [("db".to_owned(), LabelledSecret::new(None, data))].into_iter().collect();
        let databases = Databases::new(Arc::new(arc_swap::ArcSwap::from_pointee(secrets)), "test");
        let connection = Connection { dialect, secret: "db".to_owned() };
        Self { databases, connection, timeout: Duration::from_secs(5) }
    }

    pub(crate) async fn ask(&self, text: &str, parameters: &[Option<&str>]) -> Result<Vec<Value>, String> {
        let parameters = parameters.iter().map(|parameter| parameter.map(str::to_owned)).collect();
        let query = SqlQuery { connection: Ok(self.connection.clone()), text: text.into(), parameters };
        let options = QueryOptions { timeout: self.timeout, max_bytes: 1024 * 1024, max_rows: Some(2) };
        let server = self.databases.parameters(&self.connection, false).map_err(|error| error.to_string())?;
        let way = Way { parameters: &server, allow_networks: &[] };
        let mut place = self.databases.enter("target", "db").await;
        let mut rows = Vec::new();
        let answer = self.databases.query(&mut place, way, &query, &options, &mut |row| rows.push(row)).await;
        answer.map(|()| rows).map_err(|failure| failure.to_string())
    }

    pub(crate) async fn value(&self, expression: &str) -> Result<Value, String> {
        let rows = self.ask(&format!("SELECT {expression} AS v"), &[]).await?;
        Ok(rows.first().map(|row| row["v"].clone()).unwrap_or_default())
    }
}

const ROLES: &str = "CREATE ROLE reader LOGIN PASSWORD 'change-me'; CREATE TABLE facts (name text, n int); \
     INSERT INTO facts VALUES ('a', 1); GRANT SELECT ON facts TO reader; GRANT CREATE ON SCHEMA public TO reader; \
     CREATE TABLE hidden (name text); ALTER TABLE hidden ENABLE ROW LEVEL SECURITY; GRANT SELECT ON hidden TO reader; \
     CREATE TABLE locked (name text); CREATE TYPE mood AS ENUM ('glad'); CREATE DOMAIN age AS int; \
     CREATE FUNCTION writing() RETURNS int LANGUAGE plpgsql AS \
     $$ BEGIN CREATE TABLE written (a int); RETURN 1; END $$";

async fn server() -> Result<Postgres> {
    let server = Postgres::start(run_folder::path()?, "").await?;
    server.administrate(ROLES).await?;
    Ok(server)
}

#[tokio::test]
async fn values_come_as_they_are() -> Result<()> {
    let server = server().await?;
    let ours = Ours::new(&server.address(), "reader", "sslmode=disable");
    let table = [
        ("9007199254740993::bigint", json!(9_007_199_254_740_993_i64)),
        ("12.50::numeric", json!(12.5)),
        ("12345678901234567890.5::numeric", json!("12345678901234567890.5")),
        ("0.1::float8", json!(0.1)),
        ("'-Infinity'::float8", json!("-Infinity")),
        ("timestamptz '2026-11-22 12:00:00+02'", json!("2026-11-22T10:00:00Z")),
        ("'infinity'::timestamptz", json!("infinity")),
        ("date '2026-11-22'", json!("2026-11-22")),
        ("NULL::text", json!(null)),
        ("true", json!(true)),
        ("'\\x00ff'::bytea", json!("\\x00ff")),
        ("inet '10.0.0.1'", json!("10.0.0.1")),
        ("inet '10.0.0.0/8'", json!("10.0.0.0/8")),
        ("'00000000-0000-0000-0000-000000000001'::uuid", json!("00000000-0000-0000-0000-000000000001")),
        ("ARRAY['a,\"b', NULL, 'NULL']", json!(["a,\"b", null, "NULL"])),
        ("ARRAY[[1,2],[3,4]]", json!([[1, 2], [3, 4]])),
        ("ARRAY['glad'::mood]", json!(["glad"])),
        ("7::age", json!(7)),
        ("jsonb '{\"b\": [1, null]}'", json!({"b": [1, null]})),
        ("interval '1 day 2 hours'", json!("P1DT2H")),
        ("(1, 'x')", json!("(1,x)")),
        ("'postgres'::name", json!("postgres")),
    ];
    for (expression, expected) in table {
        let value = ours.value(expression).await.map_err(anyhow::Error::msg).context(expression)?;
        ensure!(value == expected, "{expression}: {value}, not {expected}");
    }
    let rows =
        ours.ask("SELECT name FROM facts WHERE n = $1 AND name = ANY($2) -- end", &[Some("1"), Some("{a}")]).await;
    ensure!(rows == Ok(vec![json!({"name": "a"})]), "{rows:?}");
    let hostile = "'; DROP TABLE facts; --$$E'\\''";
    ensure!(ours.ask("SELECT n FROM facts WHERE name = $1", &[Some(hostile)]).await == Ok(Vec::new()));
    Ok(())
}

#[tokio::test]
async fn a_query_that_writes_is_refused() -> Result<()> {
    let server = server().await?;
    let ours = Ours::new(&server.address(), "reader", "sslmode=disable");
    let refused = [
        ("SELECT writing()", "SQLSTATE 25006"),
        ("SELECT nextval('pg_catalog.nothing')", "SQLSTATE 42P01"),
        ("WITH made AS (INSERT INTO facts VALUES ('b', 2) RETURNING 1) SELECT * FROM made", "SQLSTATE 0A000"),
        ("INSERT INTO facts VALUES ('b', 2) RETURNING name", "SQLSTATE 42601"),
        ("SELECT name FROM hidden", "SQLSTATE 42501"),
        ("SELECT name FROM locked", "SQLSTATE 42501"),
        ("SELECT 1 AS a, 2 AS a", "the result: two columns have one name"),
        ("SELECT repeat('x', 2000000) AS x", "the result: larger than maxBytes"),
        ("SELECT set_config('transaction_read_only', 'off', false)", "SQLSTATE 25001"),
    ];
    for (query, expected) in refused {
        let answer = ours.ask(query, &[]).await;
        ensure!(answer == Err(expected.to_owned()), "{query}: {answer:?}");
    }
    // A setting ends with its query, so the next query has the same restrictions.
    ensure!(ours.value("set_config('default_transaction_read_only', 'off', false)").await.is_ok());
    ensure!(ours.value("current_setting('transaction_read_only')").await == Ok(json!("on")));
    ensure!(ours.value("writing()").await == Err("SQLSTATE 25006".to_owned()));
    ensure!(server.administrate("SELECT count(*) FROM facts").await? == ["1"]);
    Ok(())
}

/// A session of a dropped role never gets the rights of a new role with the same name.
#[tokio::test]
async fn a_role_that_is_made_again_is_served() -> Result<()> {
    let server = server().await?;
    let ours = Ours::new(&server.address(), "reader", "sslmode=disable");
    let facts = "SELECT n FROM facts";
    ensure!(ours.ask(facts, &[]).await.is_ok());
    let again = "DROP OWNED BY reader; DROP ROLE reader; CREATE ROLE reader LOGIN PASSWORD 'change-me'; \
         GRANT SELECT ON facts TO reader";
    server.administrate(again).await?;
    let refused = ours.ask(facts, &[]).await;
    ensure!(refused == Err("SQLSTATE 42501".to_owned()), "{refused:?}");
    let served = ours.ask(facts, &[]).await;
    ensure!(served == Ok(vec![json!({"n": 1})]), "{served:?}");
    Ok(())
}

/// Otherwise a user with the right to create in `public` could have their function called with our rights, because it
/// matches better.
#[tokio::test]
async fn a_function_of_another_user_is_not_called() -> Result<()> {
    let server = server().await?;
    let trojan = "CREATE FUNCTION public.length(varchar) RETURNS int LANGUAGE sql AS 'SELECT 666'; \
         CREATE FUNCTION public.same(varchar, varchar) RETURNS bool LANGUAGE sql AS 'SELECT false'; \
         CREATE OPERATOR public.= (LEFTARG = varchar, RIGHTARG = varchar, FUNCTION = public.same)";
    server.administrate(trojan).await?;
    let uri = format!("postgresql://reader:{PASSWORD}@{}/postgres?sslmode=disable", server.address());
    let [strict, searching] = [&[("uri", &*uri)][..], &[("uri", &*uri), ("search_path", "public")]]
        .map(|data| Ours::of(Dialect::Postgres, data));
    for (expression, safe, searched) in
        [("length('abc'::varchar)", json!(3), json!(666)), ("'a'::varchar = 'a'::varchar", json!(true), json!(false))]
    {
        ensure!(strict.value(expression).await == Ok(safe), "{expression}");
        ensure!(searching.value(expression).await == Ok(searched), "{expression}");
    }
    for (schemas, is_served) in [("$user, public", true), ("public, pg_temp", true), ("nowhere, public", false)] {
        let answer = Ours::of(Dialect::Postgres, &[("uri", &uri), ("search_path", schemas)]).value("1").await;
        let is_refused = answer.as_ref().is_err_and(|said| said.contains("the schema nowhere, which does not exist"));
        ensure!(if is_served { answer == Ok(json!(1)) } else { is_refused }, "{schemas}: {answer:?}");
    }
    let creates_in = searching.value("current_schema()").await;
    ensure!(creates_in == Ok(json!("public")), "{creates_in:?}");
    ensure!(strict.ask("SELECT n FROM facts", &[]).await == Err("SQLSTATE 42P01".to_owned()));
    ensure!(strict.ask("SELECT n FROM public.facts", &[]).await == Ok(vec![json!({"n": 1})]));
    Ok(())
}

#[tokio::test]
async fn a_connection_that_was_lost_is_made_again() -> Result<()> {
    let mut server = server().await?;
    let mut ours = Ours::new(&server.address(), "reader", "sslmode=disable");
    let ours_at = "pg_backend_pid()";
    let first = ours.value(ours_at).await;
    ensure!(first.is_ok() && first == ours.value(ours_at).await, "one connection serves: {first:?}");
    let terminate = "SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE usename = 'reader'";
    ensure!(server.administrate(terminate).await? == ["t"]);
    let second = ours.value(ours_at).await;
    ensure!(second.is_ok() && second != first, "{second:?}");
    ours.timeout = Duration::from_millis(300);
    ensure!(ours.value("pg_sleep(30)").await == Err("SQLSTATE 57014".to_owned()));
    ensure!(ours.value(ours_at).await == second, "the server gave up, and the connection stays");
    ours.timeout = Duration::from_secs(5);
    server.stop().await?;
    let refused = ours.value(ours_at).await;
    ensure!(refused == Err("no connection: the connection was refused".to_owned()), "{refused:?}");
    server.start_again().await?;
    ensure!(ours.value(ours_at).await.is_ok());
    server.administrate("ALTER ROLE reader PASSWORD 'other'").await?;
    server.administrate(terminate).await?;
    ensure!(ours.value(ours_at).await == Err("SQLSTATE 28P01".to_owned()));
    Ok(())
}

#[tokio::test]
async fn tls_is_what_sslmode_says() -> Result<()> {
    let mut server = server().await?;
    let address = server.address();
    let without = Ours::new(&address, "reader", "sslmode=require").value("1").await;
    let no_tls = "no connection: the server has no TLS; sslmode disable connects without";
    ensure!(without == Err(no_tls.to_owned()), "{without:?}");
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?;
    let files = [("server.crt", certificate.pem()), ("server.key", key.serialize_pem())];
    for (name, text) in &files {
        server.put_file(name, text)?;
    }
    server.stop().await?;
    server.configure("ssl = on")?;
    server.start_again().await?;
    let encrypted = "(SELECT ssl FROM pg_stat_ssl WHERE pid = pg_backend_pid())";
    let by = |sslmode: &str, ca: Option<&str>| {
        let (host, port) = address.split_once(':').unwrap_or_default();
        let mut data = vec![("host", host), ("port", port), ("user", "reader"), ("password", PASSWORD)];
        data.extend([("dbname", "postgres"), ("sslmode", sslmode)]);
        data.extend(ca.map(|ca| ("ca.crt", ca)));
        Ours::of(Dialect::Postgres, &data)
    };
    ensure!(by("require", None).value(encrypted).await == Ok(json!(true)));
    ensure!(by("disable", None).value(encrypted).await == Ok(json!(false)));
    ensure!(by("verify-full", Some(&certificate.pem())).value(encrypted).await == Ok(json!(true)));
    let untrusted = by("verify-full", None).value("1").await;
    ensure!(
        untrusted == Err("no connection: TLS: the certificate's issuer is not trusted".to_owned()),
        "{untrusted:?}"
    );
    let other =
        rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&rcgen::KeyPair::generate()?)?;
    ensure!(by("verify-full", Some(&other.pem())).value("1").await.is_err());
    Ok(())
}

#[tokio::test]
async fn a_listener_hears_its_channel_and_notices_silence() -> Result<()> {
    let mut server = server().await?;
    let ours = Ours::new(&server.address(), "reader", "sslmode=disable");
    let parameters = ours.databases.parameters(&ours.connection, false)?;
    let way = Way { parameters: &parameters, allow_networks: &[] };
    let channel = r#"A "channel"; DROP TABLE facts"#;
    let mut listener = ours.databases.listen(way, channel).await?;
    server.administrate(&format!("SELECT pg_notify('other', 'x'); SELECT pg_notify($x${channel}$x$, 'é')")).await?;
    ensure!(listener.next().await? == Some("é".to_owned()));
    let longest = "x".repeat(7_999);
    let many = format!("SELECT pg_notify($x${channel}$x$, n || right('{longest}', -4)) FROM generate_series(1, 100) n");
    server.administrate(&many).await?;
    for _ in 0..100 {
        ensure!(listener.next().await?.is_some_and(|text| text.len() > 7_990), "what many send at once is heard");
    }
    ensure!(listener.next().await?.is_none(), "the server says in the silence that it is there");
    ensure!(listener.serves(&parameters));
    let other = Ours::of(
        Dialect::Postgres,
        &[("host", "127.0.0.1"), ("user", "reader"), ("password", "other"), ("sslmode", "disable")],
    );
    ensure!(!listener.serves(&other.databases.parameters(&other.connection, false)?));
    server.stop().await?;
    let lost = listener.next().await.map_err(|failure| failure.to_string());
    ensure!(lost == Err("SQLSTATE 57P01".to_owned()), "{lost:?}");
    ensure!(!listener.serves(&parameters));
    Ok(())
}
