//! The recording server misbehaves on demand, observed by an ordinary HTTP client.

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use drift_e2e::http_client;
use drift_e2e::process::ports;
use drift_e2e::systems::outside::{Answer, Outside};
use serde_json::{Value, json};

#[tokio::test]
async fn rules_are_answered_in_order_and_requests_recorded() -> Result<()> {
    let outside = Outside::start().await?;
    let client = http_client::new()?;
    let url = format!("{}/things/a?b=c", outside.url());
    outside.on("GET", "/things/*", Answer::json(200, &json!({"current": true})));
    outside.once("*", "/things/*", Answer::status(429).header("retry-after", "5"));
    let first = client.get(&url).send().await?;
    ensure!(first.status() == 429 && first.headers()["retry-after"] == "5");
    let second: Value = client.get(&url).send().await?.json().await?;
    ensure!(second["current"] == true);
    let third = client.post(&url).json(&json!({"x": 1})).send().await?;
    ensure!(third.status() == 404);
    outside.forget();
    ensure!(client.get(&url).send().await?.status() == 404);
    let requests = outside.requests();
    ensure!(requests.len() == 4 && outside.count("GET") == 3 && outside.writes() == 1);
    ensure!(requests[2].path == "/things/a?b=c" && requests[2].json()?["x"] == 1);
    ensure!(requests[2].header("content-type") == Some("application/json"));
    Ok(())
}

#[tokio::test]
async fn bodies_break_off_run_on_and_nest() -> Result<()> {
    let outside = Outside::start().await?;
    let client = http_client::new()?;
    let get = async |path: &str| -> reqwest::Result<Vec<u8>> {
        Ok(client.get(format!("{}{path}", outside.url())).send().await?.bytes().await?.to_vec())
    };
    outside.on("GET", "/truncated", Answer::truncated(200, "{\"a\":", 100));
    ensure!(get("/truncated").await.is_err(), "a truncated body was taken for whole");
    outside.on("GET", "/streamed", Answer::streamed(200, 3_000_000));
    ensure!(get("/streamed").await?.len() == 3_000_002);
    outside.on("GET", "/nested", Answer::nested(200, 200));
    ensure!(get("/nested").await?.len() == 400);
    outside.on("GET", "/html", Answer::html(404));
    ensure!(get("/html").await?.starts_with(b"<html>"));
    Ok(())
}

#[tokio::test]
async fn connections_are_reset_closed_and_kept_waiting() -> Result<()> {
    let outside = Outside::start().await?;
    // reqwest itself repeats a request if its reused connection was reset before a response. That is not tested here.
    let client = http_client::new()?;
    let get = async |path: &str| client.get(format!("{}{path}", outside.url())).send().await;
    outside.on("GET", "/reset", Answer::reset());
    ensure!(get("/reset").await.is_err());
    outside.on("GET", "/late", Answer::status(200).after(Duration::from_millis(200)));
    let began = Instant::now();
    get("/late").await?;
    ensure!(began.elapsed() >= Duration::from_millis(200));
    outside.on("GET", "/never", Answer::never());
    let hung = tokio::time::timeout(Duration::from_millis(300), get("/never")).await;
    ensure!(hung.is_err(), "{hung:?}");
    outside.on("GET", "/kept", Answer::status(200));
    outside.on("GET", "/close", Answer::status(200).then_close());
    for path in ["/kept", "/kept", "/close", "/kept"] {
        get(path).await?.bytes().await?;
        tokio::time::sleep(Duration::from_millis(50)).await;
    }
    let connections: Vec<u64> = outside.requests().iter().rev().take(4).map(|request| request.connection).collect();
    let [after, close, second, first] = connections[..] else { anyhow::bail!("{connections:?}") };
    ensure!(first == second && second == close && after != close, "{connections:?}");
    Ok(())
}

#[tokio::test]
async fn a_pooled_connection_is_reset_when_used_again() -> Result<()> {
    let outside = Outside::start().await?;
    outside.on("POST", "/stale", Answer::status(200).then_reset_next());
    let client = http_client::new()?;
    let post = async || client.post(format!("{}/stale", outside.url())).body("x").send().await;
    post().await?.bytes().await?;
    let second = post().await;
    ensure!(second.is_err(), "{second:?}");
    let requests = outside.requests();
    ensure!(requests.len() == 2 && requests[0].connection == requests[1].connection, "{requests:?}");
    Ok(())
}

#[tokio::test]
async fn it_can_lose_an_answer_after_its_effect() -> Result<()> {
    let (front, behind) = (Outside::start().await?, Outside::start().await?);
    behind.on("POST", "/things", Answer::json(201, &json!({"made": true})));
    front.forward_to(behind.url());
    let client = http_client::new()?;
    let post = async || client.post(format!("{}/things", front.url())).json(&json!({"name": "a"})).send().await;
    let answer = post().await?;
    ensure!(answer.status() == 201 && answer.json::<Value>().await?["made"] == true);
    front.once("POST", "/things", Answer::forwarded().answer_lost());
    ensure!(post().await.is_err(), "an answer that was to be lost arrived");
    ensure!(behind.count("POST") == 2 && front.writes() == 2);
    front.forward_to(&format!("http://127.0.0.1:{}", ports::free_port()?));
    ensure!(post().await?.status() == 502);
    let last = behind.requests().pop().context("no request")?;
    ensure!(last.json()?["name"] == "a");
    Ok(())
}
