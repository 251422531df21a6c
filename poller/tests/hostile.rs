//! Responses of an external system change only the object's own verdict, and take bounded time.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::LazyLock;
use std::time::Duration;

use drift_api::object::object_view::ObjectView;
use drift_kube::process::clock;
use drift_language::Target;
use drift_poller::engine::judgement::comparison::compare;
use drift_poller::engine::judgement::finding::Finding;
use drift_poller::engine::poll::http_reading::{Progress, Reading};
use drift_systems::{HttpReply, ReplyBody};
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use proptest::prelude::*;
use serde_json::{Value, json};

/// Maximum time for one response of 1 MiB in a build without optimisation on a busy machine. Such builds are some
/// twenty times slower than release builds.
const LONGEST: Duration = Duration::from_secs(20);

/// Maximum bytes of eight fields, each with a path and two values of at most 128 characters.
const LONGEST_TEXT: usize = 16 * 1024;

/// Maximum size of a response.
const MIB: usize = 1024 * 1024;

/// A target that reads every part of a response and compares in every way.
const TEXT: &str = r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {name: t}
spec:
  objects: {apiVersion: demo.driftpoller.dev/v1, kind: Proxy}
  identity: "${self.metadata.name}"
  read:
    http:
      url: "http://h/x"
      absentWhen: "${response.status == 404 && response.text.contains('gone')}"
      validWhen: "${response.body.?kind.orValue('') != 'Error'}"
      settlingWhen: "${response.body.?state.orValue('') == 'busy'}"
  compare:
    desired: "${self.spec}"
    rules:
    - {path: /set, list: set}
    - {path: /map, list: map, keys: [k]}
    - {path: /some, extra: allow}
    - {path: /size, as: quantity, tolerance: 0.5}
    - {path: /time, as: timestamp}
    - {path: /text, as: json}
    - {path: '/map/*/secret', redact: true}
"#;

static TARGET: LazyLock<Target> = LazyLock::new(|| drift_language::fixtures::target(TEXT));

fn object() -> Value {
    let spec = json!({
        "set": [1, "a", {"x": [1]}], "map": [{"k": "a", "v": 1, "secret": "s"}, {"k": 2, "v": []}], "some": [1, 2],
        "size": "1Gi", "time": "2026-01-01T00:00:00Z", "text": "{\"a\": 1}", "plain": {"a": {"b": [null, 1.5]}},
    });
    json!({"metadata": {"name": "x"}, "spec": spec})
}

fn judge(status: u16, headers: HeaderMap, body: ReplyBody) -> Finding {
    let object = object();
    let read = TARGET.read.http().unwrap();
    let reply = HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body };
    match Reading::new(read, &ObjectView::of(&object).open()).take(&reply) {
        Progress::Done(observed) => compare(&TARGET, &object, observed).finding,
        Progress::Ask(_) => panic!("there is one request"),
    }
}

/// Judges a response within the time limit.
fn judge_in_time(status: u16, headers: HeaderMap, body: &[u8]) -> Finding {
    let began = clock::now();
    let finding = judge(status, headers, ReplyBody::Whole(body.to_vec()));
    let took = clock::now() - began;
    assert!(took < LONGEST, "{} bytes took {took:?}", body.len());
    if let Finding::Differs(drift) = &finding {
        assert!(drift.text.len() < LONGEST_TEXT, "{} bytes of text", drift.text.len());
        assert!(!drift.text.chars().any(char::is_control), "{:?}", drift.text);
    }
    finding
}

/// One piece repeated up to the size limit.
fn filled(before: &str, piece: &str, after: &str) -> Vec<u8> {
    let count = (MIB - before.len() - after.len()) / piece.len();
    [before, &piece.repeat(count), after].concat().into_bytes()
}

#[test]
fn a_mebibyte_of_anything_is_judged_in_time() {
    let answers = [
        filled("[", "{},", "{}]"),
        filled("{\"set\":[", "{},", "{}]}"),
        filled("{\"map\":[", "{\"k\":1},", "{}]}"),
        filled("{\"some\":[", "0,", "0]}"),
        filled("{\"set\":[", "[],", "0]}"),
        filled("{\"plain\":{\"a\":{\"b\":[", "null,", "1]}}}"),
        filled("{", "\"set\":1,", "\"set\":2}"),
        filled("", "[", ""),
        filled("", "{\"a\":", ""),
        filled("{\"set\":\"", "a", "\"}"),
        filled("{\"set\":\"", "\\u0000", "\"}"),
        filled("{\"size\":\"", "9", "\"}"),
        filled("{\"size\":", "9", "}"),
        filled("{\"size\":1e", "9", "}"),
        filled("{\"time\":\"", "2", "\"}"),
        filled("{\"text\":\"", "[", "\"}"),
        filled("{\"text\":\"[", "{},", "{}]\"}"),
        filled("{\"kind\":\"", "x", "\"}"),
        filled("", " ", ""),
        filled("", "\u{0}", ""),
    ];
    for answer in answers {
        let finding = judge_in_time(200, HeaderMap::new(), &answer);
        assert_ne!(finding, Finding::InSync, "{}", String::from_utf8_lossy(&answer[..40]));
        assert_ne!(finding, Finding::Absent, "{}", String::from_utf8_lossy(&answer[..40]));
    }
}

#[test]
fn what_json_does_not_have_is_no_observation() {
    for text in ["{\"size\": NaN}", "{\"size\": Infinity}", "{\"size\": -Infinity}", "{'size': 1}", "{\"size\": 01}"] {
        let finding = judge_in_time(200, HeaderMap::new(), text.as_bytes());
        assert!(matches!(finding, Finding::Failed(_)), "{text}: {finding:?}");
    }
}

/// Text that is nearly JSON.
fn nearly_json() -> impl Strategy<Value = Vec<u8>> {
    let key = "\"(set|map|some|size|time|text|plain|k|v|kind|state|secret)\":";
    let scalar = "(null|true|false|-?[0-9]{1,24}|[0-9]\\.[0-9]e[+-]?[0-9]{1,4}|NaN|\"[a-z\\\\\"u0-9]{0,6}\")";
    let piece = prop_oneof![2 => key, 3 => scalar, 4 => "[\\[\\]{},:]", 1 => "[ -~]{0,3}"];
    proptest::collection::vec(piece, 0..200).prop_map(|pieces| pieces.concat().into_bytes())
}

/// The object's desired state, damaged in a few places.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    proptest::collection::vec((any::<proptest::sample::Index>(), any::<u8>()), 0..4).prop_map(|damages| {
        let mut bytes = object()["spec"].to_string().into_bytes();
        for (place, byte) in damages {
            let place = place.index(bytes.len());
            bytes[place] = byte;
        }
        bytes
    })
}

fn headers() -> impl Strategy<Value = HeaderMap> {
    let value = proptest::collection::vec(any::<u8>(), 0..40);
    let header = ("(etag|link|retry-after|content-type|x-[a-z]{1,4})", value);
    proptest::collection::vec(header, 0..6).prop_map(|headers| {
        let header = |(name, value): (String, Vec<u8>)| {
            Some((HeaderName::try_from(name).ok()?, HeaderValue::from_bytes(&value).ok()?))
        };
        headers.into_iter().filter_map(header).collect()
    })
}

proptest! {
    #[test]
    fn no_answer_does_more_than_make_a_verdict(
        status in prop_oneof![4 => Just(200_u16), 1 => 200..600_u16],
        headers in headers(),
        body in prop_oneof![nearly_json(), damaged(), proptest::collection::vec(any::<u8>(), 0..200)],
    ) {
        let finding = judge_in_time(status, headers.clone(), &body);
        if !(200..300).contains(&status) && status != 404 {
            prop_assert!(matches!(finding, Finding::Failed(_)), "{status} {finding:?}");
        }
        prop_assert_eq!(judge(status, headers, ReplyBody::Whole(body)), finding, "another time another verdict");
    }
}
