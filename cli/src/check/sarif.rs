//! The report as SARIF 2.1.0, for code scanning.

use serde_json::{Value, json};

use crate::check::document::{Remark, Severity};
use crate::check::report::Report;

/// Where the format is defined.
const SCHEMA: &str = "https://json.schemastore.org/sarif-2.1.0.json";
/// All that is found is of one kind: what a target document says.
const RULE: &str = "target";

/// A log of one run with every remark.
pub(super) fn sarif(report: &Report) -> Value {
    log(report.remarks.iter().map(result).collect(), &json!({"executionSuccessful": true}))
}

/// A log of one run that could not check anything, and why.
pub(super) fn failed(message: &str) -> Value {
    let notification = json!({"level": "error", "message": {"text": message}});
    log(Vec::new(), &json!({"executionSuccessful": false, "toolExecutionNotifications": [notification]}))
}

fn log(results: Vec<Value>, invocation: &Value) -> Value {
    let rule = json!({"id": RULE, "shortDescription": {"text": "What is wrong or doubtful about a target document"}});
    let driver = json!({"name": "kubectl drift check", "version": env!("CARGO_PKG_VERSION"), "rules": [rule]});
    // Columns are counted in characters.
    let run = json!({"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "invocations": [invocation],
        "results": results});
    json!({"$schema": SCHEMA, "version": "2.1.0", "runs": [run]})
}

fn result(remark: &Remark) -> Value {
    let level = match remark.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
    };
    let mut place = json!({"artifactLocation": {"uri": uri(&remark.source)}});
    if let Some((line, column)) = remark.place {
        place["region"] = json!({"startLine": line, "startColumn": column});
    }
    json!({
        "ruleId": RULE, "level": level, "message": {"text": remark.message},
        "locations": [{"physicalLocation": place}],
    })
}

/// A path as a URI reference.
fn uri(path: &str) -> String {
    let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~/".contains(&byte);
    path.bytes()
        .map(|byte| if is_plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") })
        .collect()
}
