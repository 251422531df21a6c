//! Nothing that is said and kept of an answer shows a secret, whatever a server says back and in whatever form.
#![allow(clippy::unwrap_used, clippy::panic)]

use std::sync::Arc;

use base64::Engine as _;
use base64::engine::general_purpose::{STANDARD, URL_SAFE_NO_PAD};
use drift_model::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_outside::{HttpReply, ReplyBody};
use drift_target::Target;
use http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use percent_encoding::{NON_ALPHANUMERIC, utf8_percent_encode};
use proptest::prelude::*;
use serde_json::{Value, json};

use super::Rendering;
use crate::core::claim::Action;
use crate::core::fixtures::{bare_object, correction};
use crate::core::secrets::{Known, ObjectSecrets};

/// How a correction says who it is, and what its Secret `s` has: `SECRET` stands for what nobody else may know.
const AUTHS: [(&str, &[(&str, &str)]); 8] = [
    ("auth: {bearer: {secretRef: {name: s, key: username}}}", &[("username", "SECRET\n")]),
    ("auth: {basic: {secretRef: {name: s}}}", &[("username", "ann"), ("password", "SECRET")]),
    ("auth: {header: {name: x-key, secretRef: {name: s, key: k}}}", &[("k", "SECRET")]),
    (
        "auth: {oauth2: {tokenUrl: 'https://id/t', grant: clientCredentials, secretRef: {name: s}}}",
        &[("clientId", "ann"), ("clientSecret", "SECRET")],
    ),
    (
        "auth: {oauth2: {tokenUrl: 'https://id/t', grant: password, secretRef: {name: s}}}",
        &[("username", "ann"), ("password", "SECRET")],
    ),
    ("auth: {challenge: {secretRef: {name: s}}}", &[("username", "ann"), ("password", "SECRET\n")]),
    ("tls: {certificateSecretRef: {name: s}}", &[("tls.crt", "public"), ("tls.key", "SECRET")]),
    ("", &[("declared", "SECRET")]),
];

/// What of an answer people are told, and what is kept of it.
const TAKEN: [(&str, &str); 5] = [
    ("${response.body.?error}", "${response.body.id}"),
    ("${response.text}", "${response.body}"),
    ("${response.headers.?etag}", "${response.headers.etag}"),
    ("${json.text(response.body)}", "${json.text(response.body)}"),
    ("${response.body[response.text]}", "${int(response.body.id)}"),
];

fn target(auth: usize, (because, store): (&str, &str), refused_when: &str) -> Arc<Target> {
    let text = format!(
        r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.driftpoller.dev/v1, kind: Proxy}}
  identity: x
  secrets: {{sent: {{secretRef: {{name: s, key: declared}}}}}}
  read: {{http: {{url: https://h/x}}}}
  compare: {{desired: {{a: 1}}}}
  correct:
    mode: Correct
    http:
      {}
      update:
      - {{name: one, method: PUT, url: https://h/x, because: "{because}", store: {{kept: "{store}"}}, refusedWhen: "{refused_when}"}}
      - {{method: PUT, url: "https://h/${{steps.one.body.id}}", text: "${{steps.one.body[steps.one.body.id]}} ${{secrets.sent}}"}}
"#,
        AUTHS[auth].0
    );
    Arc::new(drift_target::fixtures::target(&text))
}

/// An update that is about to be sent, with that secret.
fn rendering(target: &Arc<Target>, auth: usize, secret: &str) -> Rendering {
    let data = AUTHS[auth].1.iter().map(|(key, value)| ((*key).to_owned(), value.replace("SECRET", secret).into()));
    let declared = ("declared".to_owned(), b"another-one-entirely".to_vec());
    let own: LabelledSecrets =
        [("s".to_owned(), LabelledSecret::new(None, [declared].into_iter().chain(data)))].into_iter().collect();
    let object = bare_object();
    let secrets = ObjectSecrets::of(target, &object, Known { own: &own, beside: &LabelledSecrets::default() });
    Rendering::new(target, &object, &correction(Action::Update), secrets).unwrap_or_else(|error| panic!("{error}"))
}

/// A secret as it is, and as requests and answers carry it.
fn forms(secret: &str) -> [String; 6] {
    let pair = format!("ann:{secret}");
    let escaped = Value::from(secret).to_string();
    [
        secret.to_owned(),
        utf8_percent_encode(secret, NON_ALPHANUMERIC).to_string(),
        STANDARD.encode(secret),
        URL_SAFE_NO_PAD.encode(secret),
        STANDARD.encode(pair),
        escaped[1..escaped.len() - 1].to_owned(),
    ]
}

fn answer(status: u16, body: &Value, header: &str) -> HttpReply {
    let etag = HeaderValue::from_bytes(header.as_bytes()).ok();
    let headers: HeaderMap = etag.map(|etag| (HeaderName::from_static("etag"), etag)).into_iter().collect();
    let body = body.as_str().map_or_else(|| body.to_string(), str::to_owned);
    HttpReply { status: StatusCode::from_u16(status).unwrap(), headers, body: ReplyBody::Whole(body.into_bytes()) }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(1_000))]

    #[test]
    fn no_answer_repeats_a_secret_to_people(
        secret in "[A-Z0-9]{6}[A-Za-z0-9 \"\\\\/+%&=:é-]{4,24}[A-Z0-9]{4}",
        auth in 0..AUTHS.len(),
        taken in 0..TAKEN.len(),
        refused_when in prop_oneof![Just("${false}"), Just("${true}"), Just("${response.body[response.text] == 1}")],
        status in prop_oneof![3 => Just(200_u16), 3 => Just(422), 1 => 200..600_u16],
        (error, id, header) in (0..6_usize, 0..6_usize, 0..6_usize),
        shape in 0..4_u8,
    ) {
        let forms = forms(&secret);
        let body = match shape {
            0 => json!({"error": format!("bad key '{}' of ann", forms[error]), "id": forms[id]}),
            1 => json!({"error": forms[error], "id": {"a": [forms[id]], &forms[error]: 1}}),
            2 => json!(format!("no such key: {}", forms[error])),
            _ => json!([forms[error], {"id": forms[id]}]),
        };
        let target = target(auth, TAKEN[taken], refused_when);
        let mut rendering = rendering(&target, auth, &secret);
        let outcome = rendering.take_answer(0, &answer(status, &body, &forms[header]), None);
        let kept = rendering.take_stored().put_on(&json!({}));
        let next = rendering.request(1).map(|_| ());
        let text = format!("{outcome:?} {kept} {next:?}");
        let shown = forms.iter().find(|form| text.contains(form.as_str()) || text.contains(&form.escape_debug().to_string()));
        prop_assert_eq!(shown, None, "{}", text);
    }
}
