//! The held objects and the reasons, as JSON at `/objects` of the admin port.
//!
//! It only shows.

use axum::Router;
use axum::extract::{RawQuery, State};
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use drift_kube::process::clock;
use drift_kube::telemetry::questions;
use serde_json::{Value, json};

use crate::engine::corrections::held::Held;
use crate::engine::objects::held_objects::{HeldQuestion, Holding, Holdings, MOST_HOLDINGS};

/// Format of a time: RFC 3339 in whole seconds.
const SECONDS: &str = "%Y-%m-%dT%H:%M:%SZ";

/// Routes queries to the targets at work.
pub type Board = questions::Board<HeldQuestion, Holdings>;
/// A question to a target.
pub type Asked = questions::Asked<HeldQuestion, Holdings>;

/// The routes.
pub fn routes(board: Board) -> Router {
    Router::new().route("/objects", get(objects)).with_state(board)
}

async fn objects(State(board): State<Board>, RawQuery(query): RawQuery) -> Response {
    let question = match parse(&query.unwrap_or_default()) {
        Ok(question) => question,
        Err(message) => return (StatusCode::BAD_REQUEST, message).into_response(),
    };
    let answers = match board.ask(question).await {
        Ok(answers) => answers,
        Err(crowded) => return crowded.into_response(),
    };
    let matching: usize = answers.values().map(|holdings| holdings.matching).sum();
    let (now, wall) = (clock::now(), clock::wall());
    let rows = answers.iter().flat_map(|(target, holdings)| {
        holdings.objects.iter().map(move |Holding { object, why, until }| {
            let until = until.and_then(|until| wall.checked_add(until.saturating_since(now)).ok());
            let until = until.map(|until| until.strftime(SECONDS).to_string());
            json!({"target": target, "object": object, "why": why.as_str(), "until": until})
        })
    });
    let rows = rows.take(MOST_HOLDINGS);
    let text = json!({"matching": matching, "objects": rows.collect::<Vec<Value>>()}).to_string();
    ([(header::CONTENT_TYPE, "application/json"), (header::CACHE_CONTROL, "no-store")], text).into_response()
}

fn parse(query: &str) -> Result<HeldQuestion, String> {
    let mut asked = HeldQuestion::default();
    for (key, value) in url::form_urlencoded::parse(query.as_bytes()) {
        match key.as_ref() {
            "target" => asked.target = Some(value.into_owned()),
            "search" => asked.search = value.into_owned(),
            "why" => asked.why = Some(word(&value)?),
            _ => {}
        }
    }
    Ok(asked)
}

fn word(text: &str) -> Result<Held, String> {
    let found = Held::ALL.iter().find(|held| held.as_str() == text).copied();
    found.ok_or_else(|| {
        let words: Vec<&str> = Held::ALL.iter().map(|held| held.as_str()).collect();
        format!("why is one of {}\n", words.join(", "))
    })
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use super::*;

    #[test]
    fn a_query_is_read_and_a_wrong_word_told() {
        let asked = parse("target=proxies&why=breaker_open&search=team%2Fa").unwrap();
        let target = Some("proxies".to_owned());
        assert_eq!(asked, HeldQuestion { why: Some(Held::BreakerOpen), search: "team/a".to_owned(), target });
        assert!(parse("why=breaker").unwrap_err().contains("breaker_open, "));
        assert_eq!(parse("").unwrap(), HeldQuestion::default());
    }
}
