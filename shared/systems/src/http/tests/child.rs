//! Sends one request from a child process with its own environment, because changing that of a running process
//! is not safe.

use std::process::Command;

use crate::ReplyBody;
use crate::http::tests::{get, plain, send, sender};

const URL: &str = "DRIFT_TEST_CHILD_URL";
pub(super) const BUNDLE: &str = "DRIFT_TEST_CHILD_BUNDLE";
const EXPECTED: &str = "DRIFT_TEST_CHILD_EXPECTED";

/// Sends a GET from a child process with these variables. It must get the body or the failure `expected`.
pub(super) fn sends(url: &str, variables: &[(&str, String)], expected: &str) {
    let mut child = Command::new(std::env::current_exe().unwrap());
    child.args(["--exact", "http::tests::child::sends_one_request", "--ignored", "--test-threads=1"]);
    for name in ["no_proxy", "NO_PROXY", "REQUEST_METHOD", "SSL_CERT_FILE", "SSL_CERT_DIR"] {
        child.env_remove(name);
    }
    let output = child.envs(variables.iter().cloned()).env(URL, url).env(EXPECTED, expected).output().unwrap();
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stdout));
}

#[tokio::test]
#[expect(clippy::disallowed_methods, reason = "the parent hands its arguments over in the environment")]
#[ignore = "run by other tests, in a process of its own"]
async fn sends_one_request() {
    let [url, expected] = [URL, EXPECTED].map(|name| std::env::var(name).unwrap());
    if let Ok(bundle) = std::env::var(BUNDLE) {
        crate::add_to_system_roots(bundle.as_bytes()).unwrap();
    }
    let seen = match send(&sender(), &get(&url), &plain()).await.map(|reply| reply.body) {
        Ok(ReplyBody::Whole(body)) => String::from_utf8(body).unwrap(),
        other => format!("{other:?}"),
    };
    assert!(seen.contains(&expected), "{seen}");
}
