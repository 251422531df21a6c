//! Our connections to a real MariaDB server: values, and rejections by the server.

use std::time::{Duration, Instant};

use anyhow::{Context, Result, ensure};
use drift_e2e::process::run_folder;
use drift_language::Dialect;
use serde_json::json;
use tokio::net::{TcpListener, TcpStream};

use crate::database::Ours;
use crate::mariadb::MariaDb;

const SETUP: [&str; 6] = [
    "CREATE DATABASE shop",
    "CREATE TABLE shop.facts (name varchar(20), n int, done boolean, at timestamp NULL, body json, price decimal(9,2))",
    "INSERT INTO shop.facts VALUES ('a', 1, TRUE, '2026-11-22 10:00:00', '{}', 12.50)",
    "CREATE USER reader IDENTIFIED BY 'change-me'",
    "GRANT SELECT, INSERT, EXECUTE ON shop.* TO reader",
    "CREATE FUNCTION shop.writing() RETURNS int BEGIN INSERT INTO shop.facts VALUES ('b', 2, 0, NULL, '{}', 0); RETURN 1; END",
];

async fn server(arguments: &[&str]) -> Result<MariaDb> {
    let server = MariaDb::start(run_folder::path()?, arguments).await?;
    server.prepare(&["SET GLOBAL time_zone = '+00:00'"]).await?;
    for statement in SETUP {
        server.administrate(&format!("SET STATEMENT time_zone = '+00:00' FOR {statement}")).await?;
    }
    Ok(server)
}

fn ours(server: &MariaDb, password: &str) -> Ours {
    let uri = format!("mysql://reader:{password}@{}/shop?ssl-mode=DISABLED", server.address());
    Ours::of(Dialect::Mysql, &[("uri", &uri)])
}

#[tokio::test]
async fn mysql_values_come_as_they_are() -> Result<()> {
    // The settings of our connections override those of the server.
    let server = server(&["--sql-mode=ANSI,NO_BACKSLASH_ESCAPES", "--default-time-zone=+05:00"]).await?;
    let ours = ours(&server, "change-me");
    let table = [
        ("9007199254740993", json!(9_007_199_254_740_993_i64)),
        ("18446744073709551615", json!("18446744073709551615")),
        ("CAST(12.50 AS DECIMAL(9,2))", json!(12.5)),
        ("1234567890.1234567", json!("1234567890.1234567")),
        ("CAST(0.1 AS DOUBLE)", json!(0.1)),
        ("TIMESTAMP '2026-11-22 12:00:00.5'", json!("2026-11-22T12:00:00.5")),
        ("DATE '2026-11-22'", json!("2026-11-22")),
        ("TIME '-26:03:04'", json!("-26:03:04")),
        ("NULL", json!(null)),
        ("X'00ff'", json!("0x00ff")),
        ("'it''s \\\\ \"'", json!("it's \\ \"")),
        ("b'101'", json!("0x05")),
    ];
    for (expression, expected) in table {
        let value = ours.value(expression).await.map_err(anyhow::Error::msg).context(expression)?;
        ensure!(value == expected, "{expression}: {value}, not {expected}");
    }
    let rows = ours.ask("SELECT * FROM facts WHERE n = CAST(? AS SIGNED) AND name = ? # end", &[Some("1"), Some("a")]);
    let row = json!({"name": "a", "n": 1, "done": true, "at": "2026-11-22T10:00:00Z", "body": "{}", "price": 12.5});
    let rows = rows.await;
    ensure!(rows == Ok(vec![row]), "{rows:?}");
    let hostile = r#"\'; DROP TABLE facts; -- "'"#;
    ensure!(ours.ask("SELECT n FROM facts WHERE name = ?", &[Some(hostile)]).await == Ok(Vec::new()));
    ensure!(ours.ask("SELECT 1 AS a UNION SELECT 2 UNION SELECT 3", &[]).await.map(|rows| rows.len()) == Ok(2));
    Ok(())
}

/// A column of each type, and the value in it.
const KINDS: [(&str, &str, &str); 22] = [
    ("TINYINT", "-3", "-3"),
    ("TINYINT UNSIGNED", "200", "200"),
    ("SMALLINT", "-300", "-300"),
    ("SMALLINT UNSIGNED", "60000", "60000"),
    ("MEDIUMINT", "-70000", "-70000"),
    ("INT UNSIGNED", "4000000000", "4000000000"),
    ("BIGINT", "-9223372036854775808", "-9223372036854775808"),
    ("BIGINT UNSIGNED", "18446744073709551615", "\"18446744073709551615\""),
    ("FLOAT", "0.1", "0.1"),
    ("DOUBLE", "-1e300", "-1e300"),
    ("BIT(1)", "1", "true"),
    ("BIT(9)", "258", "258"),
    ("YEAR", "2026", "2026"),
    ("TIMESTAMP(6) NULL", "'2026-11-22 10:00:00.000001'", "\"2026-11-22T10:00:00.000001Z\""),
    ("TIME(3)", "'838:59:58.5'", "\"838:59:58.5\""),
    ("ENUM('a', 'b')", "'b'", "\"b\""),
    ("SET('a', 'b')", "'a,b'", "\"a,b\""),
    ("MEDIUMTEXT", "REPEAT('é', 3)", "\"ééé\""),
    ("VARBINARY(9)", "'a'", "\"0x61\""),
    ("BLOB", "''", "\"0x\""),
    ("CHAR(4)", "NULL", "null"),
    ("DATETIME", "NULL", "null"),
];

#[tokio::test]
async fn a_column_of_each_mysql_type_is_read() -> Result<()> {
    let server = server(&[]).await?;
    let columns: Vec<_> = KINDS.iter().enumerate().map(|(number, (kind, ..))| format!("c{number} {kind}")).collect();
    let values: Vec<_> = KINDS.iter().map(|(_, value, _)| *value).collect();
    server.administrate(&format!("CREATE TABLE shop.kinds ({})", columns.join(", "))).await?;
    let zone = "SET STATEMENT time_zone = '+00:00' FOR";
    server.administrate(&format!("{zone} INSERT INTO shop.kinds VALUES ({})", values.join(", "))).await?;
    let rows = ours(&server, "change-me").ask("SELECT * FROM kinds", &[]).await.map_err(anyhow::Error::msg)?;
    for (number, (kind, _, expected)) in KINDS.iter().enumerate() {
        let expected: serde_json::Value = serde_json::from_str(expected)?;
        let value = &rows[0][format!("c{number}")];
        ensure!(*value == expected, "{kind}: {value}, not {expected}");
    }
    Ok(())
}

#[tokio::test]
async fn mysql_is_read_over_tls_and_its_socket() -> Result<()> {
    let folder = tempfile::tempdir()?;
    std::fs::set_permissions(folder.path(), std::os::unix::fs::PermissionsExt::from_mode(0o755))?;
    let key = rcgen::KeyPair::generate()?;
    let certificate = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?.self_signed(&key)?;
    let place = |name: &str| folder.path().join(name);
    std::fs::write(place("server.crt"), certificate.pem())?;
    std::fs::write(place("server.key"), key.serialize_pem())?;
    let arguments = [("--ssl-cert", "server.crt"), ("--ssl-key", "server.key")];
    let arguments = arguments.map(|(option, name)| format!("{option}={}", place(name).display()));
    let server = server(&arguments.each_ref().map(String::as_str)).await?;
    let address = server.address();
    let (host, port) = address.split_once(':').unwrap_or_default();
    let by = |host: &str, sslmode: &str, ca: Option<&str>| {
        let mut data = vec![("host", host), ("port", port), ("user", "reader"), ("password", "change-me")];
        data.extend([("dbname", "shop"), ("sslmode", sslmode)]);
        data.extend(ca.map(|ca| ("ca.crt", ca)));
        Ours::of(Dialect::Mysql, &data)
    };
    let encrypted = "(SELECT VARIABLE_VALUE <> '' FROM information_schema.SESSION_STATUS \
         WHERE VARIABLE_NAME = 'SSL_CIPHER')";
    let pem = certificate.pem();
    let other = rcgen::CertificateParams::new(vec!["127.0.0.1".to_owned()])?;
    let other = other.self_signed(&rcgen::KeyPair::generate()?)?.pem();
    let untrusted = "no connection: TLS: the certificate's issuer is not trusted";
    let socket = server.socket();
    for (host, sslmode, ca, expected) in [
        (host, "require", None, Ok(json!(1))),
        (host, "verify-full", Some(&*pem), Ok(json!(1))),
        (host, "verify-full", None, Err(untrusted.to_owned())),
        (host, "verify-full", Some(&*other), Err(untrusted.to_owned())),
        (host, "disable", None, Ok(json!(0))),
        (&*socket, "disable", None, Ok(json!(0))),
    ] {
        let value = by(host, sslmode, ca).value(encrypted).await;
        ensure!(value == expected, "{host} {sslmode}: {value:?}");
        if expected.is_ok() {
            let database = by(host, sslmode, ca).value("DATABASE()").await;
            ensure!(database == Ok(json!("shop")), "{host} {sslmode}: {database:?}");
        }
    }
    let plain = self::server(&["--skip-ssl"]).await?;
    let uri = format!("mysql://reader:change-me@{}/shop?sslmode=require", plain.address());
    let refused = Ours::of(Dialect::Mysql, &[("uri", &uri)]).value("1").await;
    let no_tls = "no connection: the server has no TLS; sslmode disable connects without";
    ensure!(refused == Err(no_tls.to_owned()), "{refused:?}");
    Ok(())
}

#[tokio::test]
async fn a_killed_mysql_connection_is_replaced() -> Result<()> {
    let server = server(&[]).await?;
    let ours = ours(&server, "change-me");
    for kill in ["KILL USER reader", "KILL SOFT USER reader", "FLUSH STATUS"] {
        ensure!(ours.value("1").await == Ok(json!(1)));
        server.administrate(kill).await?;
        let value = ours.value("2").await;
        ensure!(value == Ok(json!(2)), "{kill}: {value:?}");
    }
    Ok(())
}

#[tokio::test]
async fn a_mysql_query_that_writes_is_refused() -> Result<()> {
    let server = server(&[]).await?;
    let ours = ours(&server, "change-me");
    let refused = [
        ("SELECT writing()", "SQLSTATE 25006 (error 1792)"),
        ("INSERT INTO facts (n) VALUES (3)", "SQLSTATE 25006 (error 1792)"),
        ("SELECT * FROM none", "SQLSTATE 42S02 (error 1146)"),
        ("SELECT User FROM mysql.user", "SQLSTATE 42000 (error 1142)"),
        ("SELECT 1 AS a; DROP TABLE facts", "SQLSTATE 42000 (error 1064)"),
        ("SELECT 1 AS a, 2 AS a", "the result: two columns have one name"),
        ("SELECT REPEAT('x', 2000000) AS x", "the result: larger than maxBytes"),
        ("SELECT ':x' AS a, :x AS b", "SQLSTATE 42000 (error 1064)"),
        ("SELECT ? AS a", "the result: a `?` in the statement reads as a parameter"),
    ];
    for (query, expected) in refused {
        let answer = ours.ask(query, &[]).await;
        ensure!(answer == Err(expected.to_owned()), "{query}: {answer:?}");
    }
    ensure!(server.administrate("SELECT COUNT(*) FROM shop.facts").await? == ["1"]);
    let wrong = self::ours(&server, "wrong").ask("SELECT 1 AS a", &[]).await;
    ensure!(wrong == Err("SQLSTATE 28000 (error 1045)".to_owned()), "{wrong:?}");
    Ok(())
}

#[tokio::test]
async fn a_slow_mysql_query_ends_on_the_server() -> Result<()> {
    let server = server(&[]).await?;
    let mut ours = ours(&server, "change-me");
    ours.timeout = Duration::from_secs(1);
    let began = Instant::now();
    let answer = ours.ask("SELECT SLEEP(60) AS a", &[]).await;
    ensure!(answer == Err("SQLSTATE 70100 (error 1969)".to_owned()), "{answer:?}");
    ensure!(began.elapsed() < Duration::from_secs(20), "{:?}", began.elapsed());
    ensure!(ours.value("1").await == Ok(json!(1)));

    Ok(())
}

#[tokio::test]
async fn a_poll_that_gives_up_closes_its_mysql_connection() -> Result<()> {
    let server = server(&[]).await?;
    let listener = TcpListener::bind("127.0.0.1:0").await?;
    let uri = format!("mysql://reader:change-me@{}/shop?sslmode=disable", listener.local_addr()?);
    let mut ours = Ours::of(Dialect::Mysql, &[("uri", &uri)]);
    ours.timeout = Duration::from_secs(300);
    let address = server.address();
    let relayed = tokio::spawn(async move {
        let (client, _) = listener.accept().await?;
        let ((mut from_client, mut to_client), server) = (client.into_split(), TcpStream::connect(address).await?);
        let (mut from_server, mut to_server) = server.into_split();
        let back = tokio::spawn(async move { tokio::io::copy(&mut from_server, &mut to_client).await });
        let sent = tokio::io::copy(&mut from_client, &mut to_server).await;
        back.abort();
        sent
    });
    // The first row fills the server's buffer, so that it is sent before the second one is there.
    let asking = ours.ask("SELECT REPEAT('x', 100000) AS a UNION ALL SELECT SLEEP(240)", &[]);
    ensure!(tokio::time::timeout(Duration::from_secs(2), asking).await.is_err());
    let ended = tokio::time::timeout(Duration::from_secs(60), relayed).await;
    ended.context("the connection stays open")??.map(drop).or_else(|error| {
        ensure!(error.kind() == std::io::ErrorKind::ConnectionReset, "{error}");
        Ok(())
    })
}
