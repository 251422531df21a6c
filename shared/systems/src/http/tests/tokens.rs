//! Tokens of projected files, token exchanges and log-ins.

use crate::guard::failure::SystemFailure;
use std::sync::Arc;

use arc_swap::ArcSwap;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::fixtures::target;
use drift_language::{Auth, SecretValues, Source};
use http::Method;

use crate::http::tests::server::{Connection, Server, ok};
use crate::http::tests::{get, plain, request, secrets, send};
use crate::{ExchangeProgress, HttpFailure, HttpOptions, HttpSender, ProjectedTokens};

/// A folder with one projected token.
fn projected(content: &str) -> tempfile::TempDir {
    let folder = tempfile::tempdir().unwrap();
    std::fs::write(folder.path().join("api"), content).unwrap();
    folder
}

pub(super) fn sender(folder: &tempfile::TempDir, store: Arc<ArcSwap<LabelledSecrets>>) -> HttpSender {
    HttpSender::with_projected(ProjectedTokens::new(folder.path()), None, store, "drift-poller")
}

/// The Secrets of a log-in and of a client.
fn store() -> Arc<ArcSwap<LabelledSecrets>> {
    secrets(&[
        ("login", &[("username", "ann"), ("password", "p\"w\ncanary\n")]),
        ("client", &[("clientId", "poller"), ("clientSecret", "canary")]),
    ])
}

/// The `auth` of a document.
pub(super) fn auth(text: &str) -> Auth {
    let document = format!(
        "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  objects: {{apiVersion: g.example/v1, kind: A}}\n  identity: x\n  read: {{http: {{method: POST, url: 'https://h.example', body: {{}}, auth: {text}}}}}\n  compare: {{desired: {{a: 1}}}}\n"
    );
    let Source::Http(read) = &target(&document).read.source else { panic!("another source") };
    Auth::clone(read.auth.as_ref().unwrap().any())
}

fn exchange(server: &Server, more: &str) -> Auth {
    let url = server.url("/token");
    auth(&format!("{{oauth2: {{tokenUrl: '{url}', grant: tokenExchange, serviceAccountToken: {{name: api}}{more}}}}}"))
}

/// A log-in as Keystone takes it.
fn keystone(server: &Server) -> Auth {
    let url = server.url("/v3/auth/tokens");
    auth(&format!(
        "{{login: {{request: {{url: '{url}', body: {{auth: {{identity: {{methods: [password], password: {{user: {{name: '${{secret.username}}', password: '${{secret.password}}'}}}}}}}}}}}}, token: {{header: X-Subject-Token}}, send: {{header: X-Auth-Token}}, ttl: 1h, secretRef: {{name: login}}}}}}"
    ))
}

/// A log-in as Vault takes it, with a form in place of its JSON.
fn form(server: &Server) -> Auth {
    let url = server.url("/login");
    auth(&format!(
        "{{login: {{request: {{method: PUT, url: '{url}', form: {{user: '${{secret.username}}', kind: a b}}, headers: {{x-key: '${{secret.username}}'}}}}, token: {{pointer: /auth/client_token}}, secretRef: {{name: login}}}}}}"
    ))
}

pub(super) async fn status(sender: &HttpSender, server: &Server, auth: &Auth) -> Result<u16, HttpFailure> {
    let options = HttpOptions { auth: Some(auth), ..plain() };
    send(sender, &get(&server.url("/")), &options).await.map(|reply| reply.status.as_u16())
}

/// Answers each request with the next number in place of `N`.
pub(super) async fn counting(answer: &'static str) -> Server {
    let count = Arc::new(std::sync::atomic::AtomicUsize::new(0));
    Server::start(move |mut connection: Connection| {
        let count = count.clone();
        async move {
            while connection.request().await.is_some() {
                let number = count.fetch_add(1, std::sync::atomic::Ordering::SeqCst);
                connection.answer(answer.replace('N', &number.to_string()).as_bytes()).await;
            }
        }
    })
    .await
}

pub(super) fn sent_header<'r>(request: &'r str, name: &str) -> Option<&'r str> {
    request.lines().find_map(|line| line.strip_prefix(name)?.strip_prefix(": "))
}

#[tokio::test]
async fn each_request_has_the_current_projected_token() {
    let (folder, api) = (projected("first\n"), Server::answering(ok("{}")).await);
    let (sender, auth) = (sender(&folder, secrets(&[])), auth("{serviceAccountToken: {name: api}}"));
    for token in ["first", "second"] {
        std::fs::write(folder.path().join("api"), token).unwrap();
        let progress = ExchangeProgress::default();
        let options = HttpOptions { auth: Some(&auth), ..plain() };
        assert!(sender.send(&get(&api.url("/")), &options, &progress).await.is_ok());
        let requests = api.requests();
        assert_eq!(sent_header(requests.last().unwrap(), "authorization"), Some(&*format!("Bearer {token}")));
        assert!(progress.sent().values(|_| SecretValues::default()).occur_in(&token.into()));
    }
}

#[tokio::test]
async fn a_missing_projected_token_sends_nothing() {
    let (folder, api) = (tempfile::tempdir().unwrap(), Server::answering(ok("{}")).await);
    let sender = sender(&folder, store());
    let expected = Err(HttpFailure::System(SystemFailure::CredentialUnavailable(format!(
        "projected token {} does not exist; mount it as a projected volume with a serviceAccountToken",
        folder.path().join("api").display()
    ))));
    for auth in [auth("{serviceAccountToken: {name: api}}"), exchange(&api, "")] {
        let options = HttpOptions { auth: Some(&auth), ..plain() };
        assert_eq!(sender.has_credential(&get(&api.url("/")), &options), expected.clone().map(|_: u16| ()));
        assert_eq!(status(&sender, &api, &auth).await, expected);
    }
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_projected_token_goes_to_no_chosen_host() {
    let (folder, api) = (projected("canary"), Server::answering(ok("{}")).await);
    let sender = sender(&folder, store());
    let mut chosen = request(Method::GET, &api.url("/"));
    chosen.has_chosen_host = true;
    let path = folder.path().join("api");
    let expected = format!("projected token {} is not sent to a host that objects choose", path.display());
    for auth in [auth("{serviceAccountToken: {name: api}}"), exchange(&api, "")] {
        let options = HttpOptions { auth: Some(&auth), ..plain() };
        let failure = send(&sender, &chosen, &options).await.unwrap_err();
        assert_eq!(failure, HttpFailure::System(SystemFailure::CredentialUnavailable(expected.clone())));
    }
    assert!(api.requests().is_empty());
}

#[tokio::test]
async fn a_projected_token_is_exchanged_until_it_is_renewed() {
    let body = r#"{"access_token":"given-N","issued_token_type":"urn:ietf:params:oauth:token-type:access_token","token_type":"Bearer"}"#;
    let answer: &'static str = Box::leak(String::from_utf8(ok(body)).unwrap().into_boxed_str());
    let (folder, identity, api) = (projected("sub/1\n"), counting(answer).await, Server::answering(ok("{}")).await);
    let sender = sender(&folder, store());
    let form = |subject: &str| {
        format!(
            "\r\n\r\ngrant_type=urn%3Aietf%3Aparams%3Aoauth%3Agrant-type%3Atoken-exchange&subject_token={subject}\
             &subject_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Ajwt\
             &requested_token_type=urn%3Aietf%3Aparams%3Aoauth%3Atoken-type%3Aaccess_token&audience=cloud&scope=read"
        )
    };
    let auth = exchange(&identity, ", audience: cloud, scopes: [read]");
    for (subject, expected) in [("sub/1", "Bearer given-0"), ("sub/1", "Bearer given-0"), ("sub2", "Bearer given-1")] {
        std::fs::write(folder.path().join("api"), subject).unwrap();
        assert_eq!(status(&sender, &api, &auth).await, Ok(200));
        assert_eq!(sent_header(api.requests().last().unwrap(), "authorization"), Some(expected));
    }
    let asked = identity.requests();
    assert_eq!(asked.len(), 2);
    assert!(asked[0].ends_with(&form("sub%2F1")) && asked[1].ends_with(&form("sub2")), "{asked:?}");
    assert_eq!(sent_header(&asked[0], "authorization"), None);

    let with_client = exchange(&identity, ", secretRef: {name: client}");
    assert_eq!(status(&sender, &api, &with_client).await, Ok(200));
    // poller:canary
    assert_eq!(sent_header(&identity.requests()[2], "authorization"), Some("Basic cG9sbGVyOmNhbmFyeQ=="));
}

#[tokio::test]
async fn a_projected_token_proves_the_client() {
    let answer = r#"{"access_token": "given", "token_type": "Bearer"}"#;
    let (folder, identity, api) =
        (projected("pro.jec.ted\n"), Server::answering(ok(answer)).await, Server::answering(ok("{}")).await);
    let url = identity.url("/token");
    let auth = auth(&format!(
        "{{oauth2: {{tokenUrl: '{url}', clientId: app, serviceAccountToken: {{name: api}}, scopes: [a/.default]}}}}"
    ));
    assert_eq!(status(&sender(&folder, store()), &api, &auth).await, Ok(200));
    assert_eq!(sent_header(&api.requests().concat(), "authorization"), Some("Bearer given"));
    let asked = identity.requests().concat();
    let form = "\r\n\r\ngrant_type=client_credentials&client_id=app\
                &client_assertion_type=urn%3Aietf%3Aparams%3Aoauth%3Aclient-assertion-type%3Ajwt-bearer\
                &client_assertion=pro.jec.ted&scope=a%2F.default";
    assert!(asked.ends_with(form) && sent_header(&asked, "authorization").is_none(), "{asked}");
}

#[tokio::test]
async fn a_json_log_in_gives_the_token_of_a_header() {
    let created = "HTTP/1.1 201 Created\r\nx-subject-token: gA-N\r\ncontent-length: 2\r\n\r\n{}";
    let (identity, api) = (counting(created).await, Server::answering(ok("{}")).await);
    let (folder, auth) = (tempfile::tempdir().unwrap(), keystone(&identity));
    let sender = sender(&folder, store());
    let options = HttpOptions { auth: Some(&auth), ..plain() };
    let progress = ExchangeProgress::default();
    for _ in 0..3 {
        assert!(sender.send(&get(&api.url("/")), &options, &progress).await.is_ok());
    }
    let asked = identity.requests();
    assert_eq!(asked.len(), 1);
    let body = "{\"auth\":{\"identity\":{\"methods\":[\"password\"],\"password\":{\"user\":{\"name\":\"ann\",\"password\":\"p\\\"w\\ncanary\"}}}}}";
    assert!(asked[0].starts_with("POST /v3/auth/tokens HTTP/1.1\r\n") && asked[0].ends_with(body), "{}", asked[0]);
    assert_eq!(sent_header(&asked[0], "content-type"), Some("application/json"));
    for sent in api.requests() {
        assert_eq!(sent_header(&sent, "x-auth-token"), Some("gA-0"));
        assert_eq!(sent_header(&sent, "authorization"), None);
    }
    assert!(progress.sent().values(|_| SecretValues::default()).occur_in(&"gA-0".into()));
}

#[tokio::test]
async fn a_form_gives_the_token_of_the_body() {
    let body = String::from_utf8(ok(r#"{"auth": {"client_token": "hvs.N"}}"#)).unwrap();
    let (identity, api) = (counting(Box::leak(body.into_boxed_str())).await, Server::answering(ok("{}")).await);
    let folder = tempfile::tempdir().unwrap();
    assert_eq!(status(&sender(&folder, store()), &api, &form(&identity)).await, Ok(200));
    let asked = identity.requests().concat();
    assert!(asked.starts_with("PUT /login HTTP/1.1\r\n") && asked.ends_with("\r\n\r\nuser=ann&kind=a+b"), "{asked}");
    assert_eq!(sent_header(&asked, "x-key"), Some("ann"));
    assert_eq!(sent_header(&api.requests().concat(), "authorization"), Some("Bearer hvs.0"));
}

#[tokio::test]
async fn a_refused_log_in_token_is_replaced_once() {
    let created = "HTTP/1.1 201 Created\r\nx-subject-token: gA-N\r\ncontent-length: 0\r\n\r\n";
    let identity = counting(created).await;
    let api = Server::answering("HTTP/1.1 401 Unauthorized\r\ncontent-length: 0\r\n\r\n").await;
    let (folder, auth) = (tempfile::tempdir().unwrap(), keystone(&identity));
    let sender = sender(&folder, store());
    for _ in 0..3 {
        assert_eq!(status(&sender, &api, &auth).await, Ok(401));
    }
    let tokens: Vec<_> =
        api.requests().iter().map(|sent| sent_header(sent, "x-auth-token").unwrap().to_owned()).collect();
    assert_eq!(tokens, ["gA-0", "gA-1", "gA-1", "gA-1"]);
    assert_eq!(identity.requests().len(), 2);
}

#[tokio::test]
async fn no_failure_of_a_token_server_shows_a_secret() {
    let api = Server::answering(ok("{}")).await;
    let folder = projected("canary");
    let cases = [
        ("401 Unauthorized", "", "credential: the token server refuses the credential with status 401"),
        ("429 Too Many", "retry-after: 7\r\n", "no token: the token server answers with status 429"),
        ("200 OK", "", "no token: the token server's answer holds no "),
        ("204 No Content", "x-subject-token:\r\n", "no token: "),
    ];
    for (line, header, expected) in cases {
        let answer = format!("HTTP/1.1 {line}\r\n{header}content-length: 6\r\n\r\ncanary");
        let identity = Server::answering(answer).await;
        for auth in [exchange(&identity, ", secretRef: {name: client}"), keystone(&identity), form(&identity)] {
            let failure = status(&sender(&folder, store()), &api, &auth).await.unwrap_err();
            assert!(failure.to_string().starts_with(expected), "{line}: {failure}");
            assert!(!format!("{failure} {failure:?} {auth:?}").contains("canary"), "{failure:?}");
        }
    }
    assert!(api.requests().is_empty(), "a request without its token");
}

#[tokio::test]
async fn the_owner_names_who_gets_a_log_in() {
    let created = "HTTP/1.1 201 Created\r\nx-subject-token: gA-N\r\ncontent-length: 0\r\n\r\n";
    let (identity, api) = (counting(created).await, Server::answering(ok("{}")).await);
    let (folder, auth) = (tempfile::tempdir().unwrap(), keystone(&identity));
    let [of_identity, of_api] = [&identity, &api].map(|server| format!("127.0.0.1:{}", server.port()));
    let outcome = async |hosts: &str| {
        let data = ["username", "password"].map(|key| (key.to_owned(), b"x".to_vec()));
        let secrets = [("login".to_owned(), LabelledSecret::new(Some(hosts), data))].into_iter().collect();
        status(&sender(&folder, Arc::new(ArcSwap::from_pointee(secrets))), &api, &auth).await
    };
    let refused = |host: &str| {
        Err(HttpFailure::System(SystemFailure::CredentialUnavailable(format!(
            "Secret login may not be sent to {host}"
        ))))
    };
    assert_eq!(outcome(&of_identity).await, refused(&of_api));
    assert_eq!(outcome(&of_api).await, refused(&of_identity));
    assert!(identity.requests().is_empty());
    assert_eq!(outcome(&format!("{of_identity},{of_api}")).await, Ok(200));
}

#[tokio::test]
async fn keys_of_a_role_that_are_refused_are_replaced_once() {
    let given = "<AssumeRoleWithWebIdentityResponse><AssumeRoleWithWebIdentityResult><Credentials>\
                 <AccessKeyId>id-N</AccessKeyId><SecretAccessKey>key</SecretAccessKey><SessionToken>session-N</SessionToken>\
                 <Expiration>2999-01-01T00:00:00Z</Expiration></Credentials></AssumeRoleWithWebIdentityResult>\
                 </AssumeRoleWithWebIdentityResponse>";
    let given = String::from_utf8(ok(given)).unwrap();
    let sts = counting(Box::leak(given.into_boxed_str())).await;
    let refusing = Server::answering("HTTP/1.1 403 Forbidden\r\ncontent-length: 0\r\n\r\n").await;
    let role =
        format!("{{roleArn: 'arn:aws:iam::1:role/a', serviceAccountToken: {{name: api}}, stsUrl: '{}'}}", sts.url("/"));
    let auth = auth(&format!("{{awsSigV4: {{region: eu-central-1, service: sqs, webIdentity: {role}}}}}"));
    let folder = projected("canary");
    let sender = sender(&folder, store());
    for _ in 0..2 {
        assert_eq!(status(&sender, &refusing, &auth).await, Ok(403));
    }
    assert_eq!(sts.requests().len(), 2, "the first keys, and once others");
    assert!(sts.requests()[0].contains("&RoleSessionName=drift-poller&WebIdentityToken=canary"));
    let sessions = refusing.requests();
    let sessions: Vec<_> = sessions.iter().map(|sent| sent_header(sent, "x-amz-security-token").unwrap()).collect();
    assert_eq!(sessions, ["session-0", "session-1", "session-1"]);
}
