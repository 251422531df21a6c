//! Sessions with misbehaving servers, the keys of the Secret, and responses of any bytes.

use crate::guard::failure::SystemFailure;
use std::time::Duration;

use crate::ldap::result_code::ResultCode;
use drift_api::secrets::labelled_secrets::{LabelledSecret, LabelledSecrets};
use drift_language::ldap::ber::{element, number};
use drift_language::ldap::{Change, Search, SearchScope};
use serde_json::json;
use tokio::io::{AsyncReadExt, AsyncWriteExt};
use tokio::net::TcpListener;

use super::messages::message;
use super::responses::{RESULT_BYTES, Response, SEARCH_VALUES, read_message};
use super::*;
use crate::WriteProgress;
use crate::guard::host_health::HostReply;
use crate::refusal::ServerText;

const REFERRAL: &str = "a part of it is on another server (referral)";

fn parameters(data: &[(&str, &str)], insecure: bool) -> Result<DirectoryParameters, String> {
    let data = data.iter().map(|(key, value)| ((*key).to_owned(), value.as_bytes().to_vec()));
    let allowed = Some("dir:636,dir:389,dir.ldap.svc:389,127.0.0.1,169.254.169.254");
    let secrets: LabelledSecrets = [("s".to_owned(), LabelledSecret::new(allowed, data))].into_iter().collect();
    DirectoryParameters::of("s", &secrets, insecure).map_err(|error| error.to_string())
}

#[test]
fn the_keys_of_the_secret_are_checked() {
    const BOUND: [(&str, &str); 2] = [("bindDn", "cn=canary"), ("password", "canary\n")];
    let url = |url| [&[("url", url)], &BOUND[..]].concat();
    let unencrypted = "Secret s key url is ldap:// for a host that is neither loopback nor a cluster Service: write \
                       ldaps://, startTls: true, or insecure: true in the target";
    let form = "Secret s key url is no URL of a server: write ldaps://HOST or ldaps://HOST:PORT";
    let more = "Secret s key url is a URL with more than a host and a port: write the rest in the target";
    let table = [
        (url("ldaps://DIR"), Ok("dir:636 Tls")),
        (url("ldap://dir.ldap.svc"), Ok("dir.ldap.svc:389 None")),
        (url("ldap://127.0.0.1:3389/"), Ok("127.0.0.1:3389 None")),
        ([url("ldap://dir"), vec![("startTls", "true")]].concat(), Ok("dir:389 StartTls")),
        (url("ldap://dir"), Err(unencrypted)),
        (url("http://dir"), Err(form)),
        (url("ldaps:///"), Err(form)),
        (url("ldaps://dir/dc=canary"), Err(more)),
        (url("ldaps://canary@dir"), Err(more)),
        (url("ldaps://other"), Err("Secret s may not be sent to other:636")),
        (
            [url("ldaps://dir"), vec![("startTls", "true")]].concat(),
            Err("Secret s key startTls is for ldaps, which is encrypted already"),
        ),
        (
            [url("ldap://dir"), vec![("startTls", "yes")]].concat(),
            Err("Secret s key startTls is neither true nor false"),
        ),
        (vec![("url", "ldaps://dir"), BOUND[1]], Err("Secret s has no key bindDn")),
        (vec![("url", "ldaps://dir"), BOUND[0], ("password", "")], Err("Secret s has no key password")),
        (BOUND.to_vec(), Err("Secret s has no key url")),
    ];
    for (data, expected) in table {
        let found = parameters(&data, false).map(|parameters| {
            assert!(!format!("{parameters:?}").contains("canary"));
            format!("{} {:?}", parameters.host_and_port(), parameters.protection)
        });
        assert_eq!(found, expected.map(str::to_owned).map_err(str::to_owned), "{data:?}");
    }
    assert!(parameters(&url("ldap://dir"), true).is_ok());
}

/// An operation with a result code and a diagnostic message.
fn result(tag: u8, code: u32) -> Vec<u8> {
    element(tag, &[element(0x0a, &number(code)), element(4, b""), element(4, b"canary")].concat())
}

fn entry(attributes: &[(&str, &[&[u8]])]) -> Vec<u8> {
    let attribute = |(name, values): &(&str, &[&[u8]])| {
        let values: Vec<u8> = values.iter().flat_map(|value| element(4, value)).collect();
        element(0x30, &[element(4, name.as_bytes()), element(0x31, &values)].concat())
    };
    let attributes: Vec<u8> = attributes.iter().flat_map(attribute).collect();
    element(0x64, &[element(4, b"dc=a"), element(0x30, &attributes)].concat())
}

/// A server that answers the bind with a code, and each further request with the next operations.
#[expect(clippy::disallowed_methods, reason = "a server of a test, whose panics are its own")]
async fn server(bind: u32, answers: Vec<Vec<Vec<u8>>>) -> DirectoryParameters {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let url = format!("ldap://{}", listener.local_addr().unwrap());
    tokio::spawn(async move {
        let (mut stream, _) = listener.accept().await.unwrap();
        read_message(&mut stream, &mut { RESULT_BYTES }).await.unwrap();
        stream.write_all(&message(2, &result(0x61, bind))).await.unwrap();
        for (operations, id) in answers.into_iter().filter(|_| bind == 0).zip(3..) {
            read_message(&mut stream, &mut { RESULT_BYTES }).await.unwrap();
            for operation in operations {
                stream.write_all(&message(id, &operation)).await.unwrap();
            }
        }
        let _ = stream.read_to_end(&mut Vec::new()).await;
    });
    parameters(&[("url", &url), ("bindDn", "cn=a"), ("password", "p")], false).unwrap()
}

/// Searches where the entry above is seen.
async fn search(scope: SearchScope, bind: u32, operations: Vec<Vec<u8>>) -> Result<SearchAnswer, LdapFailure> {
    search_below(scope, bind, (operations, vec![seen(), result(0x65, 0)])).await
}

/// The entry above the one that is searched for.
fn seen() -> Vec<u8> {
    entry(&[("objectClass", &[b"organizationalUnit"])])
}

async fn search_below(
    scope: SearchScope,
    bind: u32,
    (operations, container): (Vec<Vec<u8>>, Vec<Vec<u8>>),
) -> Result<SearchAnswer, LdapFailure> {
    let parameters = server(bind, vec![operations, container]).await;
    let server = DirectoryServer { parameters: &parameters, allow_networks: &[] };
    let attributes = vec!["mail".to_owned(), "cn".to_owned()];
    let (filter, encoded_filter) = ("(a=*)".to_owned(), b"\x87\x01a".to_vec());
    let present = vec!["CN".to_owned(), "objectClass".to_owned()];
    let (secret, base, container) = (Ok("s".to_owned()), "dc=a,dc=b".to_owned(), "dc=b".to_owned());
    let search = Search { secret, base, scope, filter, encoded_filter, attributes, present, container };
    server.search(&search, Duration::from_secs(5)).await
}

#[tokio::test]
async fn only_a_complete_answer_is_an_observation() {
    use SearchScope::{Base, Subtree};
    let found = entry(&[("MAIL", &[b"a", b"b"]), ("mail;lang-de", &[b"c"]), ("cn", &[b"c"]), CLASS]);
    let row = json!({"dn": "dc=a", "mail": ["a", "b"], "cn": ["c"]});
    let entries = |count| Ok(SearchAnswer::Entries(vec![row.clone(); count]));
    let code = |code| Err(LdapFailure::Answered(ResultCode(code), ServerText::from("canary")));
    let partial =
        LdapFailure::System(SystemFailure::Unreadable("an attribute has more values than the server returns at once"));
    let other_name = LdapFailure::System(SystemFailure::Unreadable(
        "an attribute has another name than requested: request that name",
    ));
    let table = [
        (Base, vec![found.clone(), result(0x65, 0)], entries(1)),
        (Base, vec![result(0x65, 0)], entries(0)),
        (Base, vec![result(0x65, 32)], Ok(SearchAnswer::NoBase)),
        (Subtree, vec![result(0x65, 32)], code(32)),
        (Subtree, vec![found.clone(), result(0x65, 4)], code(4)),
        (Subtree, vec![found.clone(), found.clone(), result(0x65, 4)], entries(2)),
        (
            Subtree,
            vec![found.clone(), element(0x73, b"")],
            Err(LdapFailure::System(SystemFailure::Unreadable(REFERRAL))),
        ),
        (Base, vec![result(0x65, 10)], code(10)),
        (Base, vec![result(0x65, 51)], code(51)),
        (Base, vec![entry(&[("mail;range=0-1499", &[b"a"])]), result(0x65, 0)], Err(partial)),
        (Base, vec![entry(&[("rfc822Mailbox", &[b"a"])]), result(0x65, 0)], Err(other_name)),
        (
            Base,
            vec![entry(&[("mail", &[b"\xff"])]), result(0x65, 0)],
            Err(LdapFailure::System(SystemFailure::Unreadable("a value is not UTF-8 text"))),
        ),
    ];
    for (scope, operations, expected) in table {
        assert_eq!(search(scope, 0, operations.clone()).await, expected, "{operations:?}");
    }
    assert_eq!(
        search(Base, 32, Vec::new()).await,
        Err(LdapFailure::NotBound(ResultCode(32), ServerText::from("canary"))),
        "no absence"
    );
}

/// An object class, as every entry has one.
const CLASS: (&str, &[&[u8]]) = ("ObjectClass", &[b"person"]);

#[tokio::test]
async fn an_entry_that_hides_an_attribute_is_no_observation() {
    let (mail, cn): (_, (_, &[&[u8]])) = (("mail", &[b"a" as &[u8]] as &[&[u8]]), ("cn", &[b"c"]));
    for (shown, hidden) in [
        (vec![mail, CLASS], Some("CN")),
        (vec![mail, ("cn", &[]), CLASS], Some("CN")),
        (vec![mail, cn], Some("objectClass")),
        (vec![cn, CLASS], None),
    ] {
        let found = search(SearchScope::Base, 0, vec![entry(&shown), result(0x65, 0)]).await;
        let failure = found.err();
        assert_eq!(failure, hidden.map(|name| LdapFailure::AttributeHidden(name.to_owned())), "{shown:?}");
    }
}

#[tokio::test]
async fn an_absence_needs_a_container_in_sight() {
    let nothing = [vec![result(0x65, 0)], vec![result(0x65, 32)]];
    let code = |code| Err(LdapFailure::Answered(ResultCode(code), ServerText::from("canary")));
    let table = [
        (vec![seen(), result(0x65, 0)], Ok(())),
        (vec![result(0x65, 0)], Err(LdapFailure::ContainerHidden)),
        (vec![result(0x65, 32)], Err(LdapFailure::ContainerHidden)),
        (vec![entry(&[]), result(0x65, 0)], Err(LdapFailure::ContainerHidden)),
        (vec![result(0x65, 50)], code(50)),
        (vec![result(0x65, 51)], code(51)),
    ];
    for (container, expected) in table {
        for nothing in &nothing {
            let found = search_below(SearchScope::Base, 0, (nothing.clone(), container.clone())).await;
            assert_eq!(found.map(|found| assert!(found.is_empty())), expected, "{container:?}");
        }
        let found = search_below(SearchScope::Subtree, 0, (vec![result(0x65, 0)], container.clone())).await;
        assert_eq!(found.map(|found| assert!(found.is_empty())), expected, "{container:?}");
    }
}

#[tokio::test]
async fn a_server_that_sends_too_much_is_cut_off() {
    let large = entry(&[("mail", &[&vec![b'a'; 700_000]]), ("cn", &[b"c"]), CLASS]);
    let found = search(SearchScope::Subtree, 0, vec![large.clone(), large]).await;
    assert_eq!(found, Err(LdapFailure::System(SystemFailure::Unreadable("larger than 1 MiB"))));
    // Empty values and empty entries take more memory than bytes on the wire.
    let hollow = entry(&[("mail", &vec![&b""[..]; 100_000]), ("cn", &[b"c"]), CLASS]);
    let found = search(SearchScope::Subtree, 0, vec![hollow]).await;
    assert_eq!(found, Err(LdapFailure::System(SystemFailure::Unreadable("more than 100,000 values"))));
    let bare = entry(&[("cn", &[b"c"]), CLASS]);
    let found = search(SearchScope::Subtree, 0, vec![bare; 3]).await;
    assert!(matches!(found, Ok(SearchAnswer::Entries(entries)) if entries.len() == 2));
    // Elements within elements, more than a stack has frames.
    let deep = (0..20_000).fold(Vec::new(), |mut deep: Vec<u8>, _| {
        // The length reaches to the end, as written from the inside out.
        let inside = deep.len();
        deep.extend(u32::try_from(inside).unwrap().to_le_bytes());
        deep.extend([0x84, 0x30]);
        deep
    });
    let deep: Vec<u8> = deep.into_iter().rev().collect();
    let found = search(SearchScope::Base, 0, vec![element(0x64, &deep)]).await;
    assert_eq!(found, Err(LdapFailure::System(SystemFailure::Unreachable("the answer is not LDAP"))));
}

#[tokio::test]
async fn a_metadata_server_is_not_dialled() {
    let parameters =
        parameters(&[("url", "ldaps://169.254.169.254"), ("bindDn", "cn=a"), ("password", "p")], false).unwrap();
    let server = DirectoryServer { parameters: &parameters, allow_networks: &[] };
    let done = server.change(&Change::Delete { dn: "dc=a".to_owned() }, &WriteProgress::default()).await;
    assert_eq!(
        done,
        Err(LdapFailure::System(SystemFailure::AddressRefused { host: "169.254.169.254:636".to_owned() }))
    );
}

#[tokio::test]
async fn a_refused_bind_sends_no_change() {
    for (bind, is_sent) in [(49, false), (51, false), (0, true)] {
        let parameters = server(bind, vec![vec![result(0x6b, 80)]]).await;
        let (server, progress) =
            (DirectoryServer { parameters: &parameters, allow_networks: &[] }, WriteProgress::default());
        assert!(server.change(&Change::Delete { dn: "dc=a".to_owned() }, &progress).await.is_err());
        assert_eq!(progress.has_begun(), is_sent, "{bind}");
    }
}

#[test]
fn an_outage_pauses_the_host() {
    for (failure, expected) in [
        (
            LdapFailure::Answered(ResultCode::BUSY, ServerText::default()),
            Some(HostReply::AskedToWait(crate::PAUSE_WHEN_NOT_TOLD)),
        ),
        (
            LdapFailure::NotBound(ResultCode::UNAVAILABLE, ServerText::default()),
            Some(HostReply::AskedToWait(crate::PAUSE_WHEN_NOT_TOLD)),
        ),
        (LdapFailure::Answered(ResultCode::NO_SUCH_OBJECT, ServerText::default()), Some(HostReply::Answer)),
        (LdapFailure::System(SystemFailure::Unreachable("lost")), Some(HostReply::Unreachable)),
        (LdapFailure::System(SystemFailure::CredentialUnavailable("s".to_owned())), None),
    ] {
        assert_eq!(failure.heard(), expected, "{failure}");
    }
}

#[test]
fn no_text_of_a_failure_shows_what_the_server_says() {
    for failure in [LdapFailure::Answered, LdapFailure::NotBound] {
        let failure = failure(ResultCode(65), ServerText::from("canary"));
        assert!(!format!("{failure} {failure:?}").contains("canary"), "{failure}");
    }
}

proptest::proptest! {
    #[test]
    fn no_response_breaks_the_parser(bytes in proptest::collection::vec(proptest::prelude::any::<u8>(), 0..80)) {
        let framed = [b"\x02\x01\x03\x64".to_vec(), bytes.clone()].concat();
        for message in [bytes, framed] {
            if let Ok(Response::Entry(entry)) = Response::parse(&message, 3) {
                let _ = entry.to_json(&["a".to_owned()], &mut { SEARCH_VALUES });
            }
        }
    }
}
