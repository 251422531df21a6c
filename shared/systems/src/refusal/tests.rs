use super::*;
use drift_language::fixtures::secrets::{SECRETS, forms, shown_in};
use proptest::prelude::*;

fn secrets(values: &[&str]) -> SecretValues {
    values.iter().enumerate().map(|(name, value)| (name.to_string(), (*value).to_owned())).collect()
}

fn reason(status: u16, body: impl Into<Vec<u8>>) -> Option<String> {
    RefusalReason::of_body(status, &body.into(), &SecretValues::default()).map(|reason| reason.to_string())
}

fn text(text: &str, values: &[&str]) -> Option<String> {
    RefusalReason::of_text(text, &secrets(values)).map(|reason| reason.to_string())
}

/// Bodies of well-known APIs, and the sentence in each.
const BODIES: &[(&str, &str)] = &[
    // RFC 9457
    (
        r#"{"type": "https://e/out-of-credit", "title": "You do not have enough credit.", "detail": "Your balance is 30."}"#,
        "You do not have enough credit: Your balance is 30.",
    ),
    (r#"{"title": "Not Found", "status": 404}"#, "Not Found"),
    (r#"{"detail": "quota of zone exceeded"}"#, "quota of zone exceeded"),
    // GitHub
    (
        r#"{"message": "Repository creation failed.", "errors": [{"resource": "Repository", "code": "custom", "field": "name", "message": "name already exists on this account"}], "status": "422"}"#,
        "Repository creation failed: name: name already exists on this account",
    ),
    (
        r#"{"message": "Validation Failed", "errors": [{"resource": "Label", "code": "already_exists", "field": "name"}]}"#,
        "Validation Failed: name: already_exists",
    ),
    // GitLab
    (r#"{"message": {"name": ["has already been taken"]}}"#, "name: has already been taken"),
    (
        r#"{"message": {"name": ["is short", "is bad"], "password": ["hunter2 is too short"]}}"#,
        "name: is short, is bad; password: (redacted)",
    ),
    (
        r#"{"error": "insufficient_scope", "error_description": "The request requires higher privileges."}"#,
        "insufficient_scope: The request requires higher privileges.",
    ),
    (
        r#"{"error": "invalid_token", "error_description": "The access token expired"}"#,
        "The access token expired (invalid_token)",
    ),
    (r#"{"error": "unsupported_token_type", "error_description": "hunter2"}"#, "unsupported_token_type: (redacted)"),
    (r#"{"error": "invalid_password", "error_description": "hunter2"}"#, "invalid_password: (redacted)"),
    (r#"{"error": "token", "error_description": "hunter2"}"#, "token: (redacted)"),
    // Kubernetes
    (
        r#"{"kind": "Status", "status": "Failure", "message": "proxies.demo \"a\" already exists", "reason": "AlreadyExists", "details": {"name": "a"}, "code": 409}"#,
        "proxies.demo \"a\" already exists",
    ),
    // Google
    (
        r#"{"error": {"code": 400, "message": "Invalid value for field 'resource.name'.", "errors": [{"message": "other", "domain": "global"}], "status": "INVALID_ARGUMENT"}}"#,
        "Invalid value for field 'resource.name': other",
    ),
    // AWS
    (
        r"<ErrorResponse><Error><Type>Sender</Type><Code>QueueInUse</Code><Message>The queue is in use.</Message></Error><RequestId>1</RequestId></ErrorResponse>",
        "The queue is in use.",
    ),
    (
        r#"<?xml version="1.0" encoding="UTF-8"?><Error><Code>BucketAlreadyExists</Code><Message>The requested bucket name is not available.</Message></Error>"#,
        "The requested bucket name is not available.",
    ),
    (
        r"<Response><Errors><Error><Code>InvalidID</Code><Message>The ID is malformed</Message></Error></Errors><RequestID>1</RequestID></Response>",
        "The ID is malformed",
    ),
    (r#"{"__type": "ResourceInUseException", "Message": "Table already exists: t"}"#, "Table already exists: t"),
    // Azure
    (r#"{"error": {"code": "InvalidName", "message": "The name is not valid."}}"#, "The name is not valid."),
    // Elasticsearch
    (
        r#"{"error": {"root_cause": [{"type": "x", "reason": "index [a] already exists"}], "type": "x", "reason": "index [a] already exists"}, "status": 400}"#,
        "index [a] already exists",
    ),
    // RabbitMQ, Vault, Docker, FastAPI, Cloudflare, Spring
    (r#"{"error": "bad_request", "reason": "inequivalent arg 'durable'"}"#, "bad_request: inequivalent arg 'durable'"),
    (r#"{"errors": ["permission denied", "1 error"]}"#, "permission denied; 1 error"),
    (r#"{"message": "No such image: app:2"}"#, "No such image: app:2"),
    (
        r#"{"detail": [{"loc": ["body", "size"], "msg": "value is not a valid integer", "type": "type_error"}]}"#,
        "size: value is not a valid integer",
    ),
    (
        r#"{"success": false, "errors": [{"code": 1004, "message": "DNS Validation Error"}], "messages": []}"#,
        "DNS Validation Error",
    ),
    (
        r#"{"timestamp": 1, "status": 400, "error": "Bad Request", "message": "ttl must be positive", "path": "/x"}"#,
        "ttl must be positive",
    ),
    // OpenStack
    (
        r#"{"NeutronError": {"type": "IpAddressInUse", "message": "Unable to complete operation", "detail": ""}}"#,
        "Unable to complete operation",
    ),
    (r#"{"conflictingRequest": {"message": "Quota exceeded", "code": 409}}"#, "Quota exceeded"),
    // JSON:API, JSON-RPC, SOAP
    (
        r#"{"errors": [{"status": "422", "title": "Invalid Attribute", "detail": "First name must be long."}]}"#,
        "Invalid Attribute: First name must be long.",
    ),
    (
        r#"{"jsonrpc": "2.0", "id": 1, "error": {"code": -32602, "message": "Invalid params", "data": "x"}}"#,
        "Invalid params",
    ),
    (
        r#"<s:Envelope xmlns:s="http://x"><s:Body><s:Fault><faultcode>c</faultcode><faultstring>No such user</faultstring></s:Fault></s:Body></s:Envelope>"#,
        "No such user",
    ),
    // Django
    (r#"{"name": ["This field must be unique."]}"#, "name: This field must be unique."),
    (r#""just a text""#, "just a text"),
    ("\n  quota exceeded\nat line 3\n", "quota exceeded"),
    ("[error] quota exceeded", "[error] quota exceeded"),
    ("<!DOCTYPE html>\n<html><head><TITLE>502 Bad Gateway &amp; more</TITLE></head></html>", "502 Bad Gateway & more"),
];

#[test]
fn well_known_apis_say_why() {
    for (body, expected) in BODIES.iter().copied() {
        assert_eq!(reason(422, body).as_deref(), Some(expected), "{body}");
    }
}

#[test]
fn what_is_no_sentence_gives_no_reason() {
    let bodies: [&[u8]; 12] = [
        b"",
        b" \n ",
        b"null",
        b"{}",
        b"[]",
        br#"{"message": ""}"#,
        br#"{"id": "x", "name": "y"}"#,
        br#"{"message": "half"#,
        b"<html><body>no title</body></html>",
        b"<a/>",
        b"\x00\x01binary",
        b"[{\"a\": 1, \"secret",
    ];
    for body in bodies {
        assert_eq!(reason(500, body), None, "{body:?}");
    }
    let deep = format!("{}{}{}", r#"{"error": "#.repeat(40), r#""x""#, "}".repeat(40));
    assert_eq!(reason(422, deep), None);
}

#[test]
fn an_accepted_status_shows_only_its_errors() {
    let table = [
        (r#"{"message": "hello Bob", "title": "a", "detail": "b"}"#, None),
        (r#"{"error": {"message": "Invalid params"}}"#, Some("Invalid params")),
        (r#"{"error": "exists", "message": "hello"}"#, Some("exists")),
        (r#"{"error": null, "id": 1}"#, None),
        (r"<Response><Errors><Error><Message>In use</Message></Error></Errors></Response>", Some("In use")),
        ("just a text", None),
        (r#"[{"error": "x"}]"#, None),
    ];
    for (body, expected) in table {
        assert_eq!(reason(200, body).as_deref(), expected, "{body}");
    }
}

#[test]
fn a_reason_is_one_short_line_that_forges_nothing() {
    let long = "x".repeat(300);
    let table = [
        ("No such image: app:2", "No such image: app:2".to_owned()),
        (" a\r\n\tb\u{0}c\u{202e}d\u{1b}[31m ", "a b c d [31m".to_owned()),
        ("unknown keys [a]", "unknown keys [a].".to_owned()),
        ("taken [scope 3f2a9c71]", "taken [scope 3f2a9c71].".to_owned()),
        (&long, format!("{}…", "x".repeat(199))),
        (&"é".repeat(300), format!("{}…", "é".repeat(199))),
    ];
    for (said, expected) in table {
        assert_eq!(text(said, &[]), Some(expected));
    }
    assert_eq!(text("\u{200b}\n", &[]), None);
}

#[test]
fn secrets_and_fields_of_secrets_are_redacted() {
    let table = [
        ("the key a-long-secret-17x is bad", "the key (redacted) is bad"),
        ("the keys a-long-secret-17x and a-long-secret-17xy are bad", "(redacted)"),
        ("the key hunter2 is too short", "(redacted)"),
        ("the key HUNTER2-LONG is bad", "(redacted)"),
        ("the key aHVudGVyMg== is bad", "(redacted)"),
        ("hun\u{200b}ter2-long", "(redacted)"),
        ("spec.password: Invalid value: \"abc\"", "spec.password: (redacted)"),
        ("no row with token=abcdef and b", "no row with token=(redacted) and b"),
        ("cannot reach https://me:abc@h/x", "cannot reach https://(redacted)@h/x"),
        ("-----BEGIN RSA PRIVATE KEY----- MIIE", "(redacted)"),
        ("Bearer abcdef is refused", "Bearer (redacted) is refused"),
    ];
    for (said, expected) in table {
        assert_eq!(text(said, &["hunter2", "hunter2-long", "a-long-secret-17x"]).as_deref(), Some(expected), "{said}");
    }
    assert_eq!(format!("{:?}", ServerText::from("hunter2")), "ServerText");
    let spaced = "the key is\nhunter2 ".repeat(60);
    assert!(!text(&spaced, &["hunter2"]).unwrap().contains("hunter2"));
}

#[test]
fn a_mask_tells_no_guess() {
    let table = [
        ("no zone 0000 0001 0002 0003", &["0002"]),
        ("no database", &["data"]),
        ("no zone hunter2-long hunter3-long", &["hunter2-long"]),
    ];
    for (said, values) in table {
        assert_eq!(text(said, values).as_deref(), Some("(redacted)"), "{said}");
    }
}

#[test]
fn a_token_is_known_by_its_form() {
    let table = [
        ("ghp_16C7e42F292c6912E7710c838347Ae178B4a is rejected", "(redacted)"),
        ("the answer 'glpat-abcdefghij0123456789' is no good", "(redacted)"),
        ("eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxIn0.c2ln has expired", "(redacted)"),
        ("npm_ is a prefix, and eyJ is none", "npm_ is a prefix, and eyJ is none"),
    ];
    for (said, expected) in table {
        assert_eq!(text(said, &[]).as_deref(), Some(expected), "{said}");
    }
}

#[test]
fn a_session_is_redacted_by_its_name() {
    let table = [
        ("bad cookie sid=8f3c for ann", "bad cookie sid=(redacted) for ann"),
        ("the session: 8f3c", "the session: (redacted)"),
        ("PHPSESSID=8f3c;x", "PHPSESSID=(redacted);x"),
        ("{\"auth\": \"8f3c\", \"a\": 1}", "{\"auth\": (redacted), \"a\": 1}"),
        ("Set-Cookie: a=8f3c", "Set-Cookie: (redacted)"),
        ("no side=left of the session", "no side=left of the session"),
    ];
    for (said, expected) in table {
        assert_eq!(text(said, &[]).as_deref(), Some(expected), "{said}");
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(500))]

    #[test]
    fn no_reason_repeats_a_secret(
        secret in SECRETS, before in ".{0,220}", after in "\\PC{0,30}", form in 0..14_usize, status in 200..600_u16, shape in 0..4_u8,
    ) {
        let forms = forms(&secret);
        let said = format!("{before}{}{after}", forms[form]);
        let body = match shape {
            0 => serde_json::json!({"message": said}).to_string(),
            1 => serde_json::json!({"error": {"name": [said]}}).to_string(),
            2 => format!("<html><title>{said}</title>"),
            _ => said,
        };
        let reason = RefusalReason::of_body(status, &body.into_bytes(), &secrets(&[&secret]));
        let shown = reason.map(|reason| reason.to_string()).unwrap_or_default();
        prop_assert_eq!(shown_in(&shown, &forms), None, "{}", &shown);
        prop_assert!(shown.chars().count() <= MAX_REASON_CHARS + 1 && !shown.ends_with(']'), "{}", shown);
        prop_assert!(shown.chars().all(is_printable), "{}", shown);
    }

    #[test]
    fn a_cut_secret_is_redacted(secret in "[A-Za-z0-9]{24,60}", before in "[a-z ]{0,198}", kept in 16..24_usize) {
        let said = format!("{before}'{}…'", &secret[..kept]);
        let shown = RefusalReason::of_text(&said, &secrets(&[&secret])).unwrap().to_string();
        prop_assert!(!shown.contains(&secret[..16]), "{}", shown);
    }
}
