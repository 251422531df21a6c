use super::template::{Form, LdapTemplate};
use super::*;
use crate::cel::{Scope, Site, Variables};
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(text: &str, form: Form) -> Result<LdapTemplate, String> {
    let said = |errors: Vec<crate::cel::TemplateError>| {
        errors.iter().map(|error| format!("{} {}", error.offset, error.message)).collect::<Vec<_>>().join("; ")
    };
    LdapTemplate::parse(text, &Site::new("ldap", Scope::Object), form).map_err(said)
}

fn render(text: &str, form: Form, object: &Value) -> Result<String, String> {
    parse(text, form)?.render(&Variables::of_object(object)).map_err(|error| error.to_string())
}

#[test]
fn values_are_escaped_by_their_place() {
    let object = json!({"s": "a,ou=x", "p": " #a+b;<\"> ", "f": "*)(uid=*\\", "n": 5, "d": "dc=y"});
    let table = [
        (Form::Name, "uid=${self.s},dc=x", "uid=a\\2Cou\\3Dx,dc=x"),
        (Form::Name, "uid=a-${self.n}+cn=${self.p},dc=x", "uid=a-5+cn=\\20\\23a\\2Bb\\3B\\3C\\22\\3E\\20,dc=x"),
        (Form::Name, "cn=a\\, b,dc=${self.n}", "cn=a\\, b,dc=5"),
        (Form::Filter, "(uid=${self.f})", "(uid=\\2A\\29\\28uid=\\2A\\5C)"),
        (Form::Filter, "(&(a=${self.n})(!(b>=${self.s})))", "(&(a=5)(!(b>=a,ou=x)))"),
        (Form::Filter, "(a=x*${self.n}*)", "(a=x*5*)"),
        (Form::Filter, "(memberOf:1.2.840.113556.1.4.1941:=${self.d})", "(memberOf:1.2.840.113556.1.4.1941:=dc=y)"),
    ];
    for (form, text, expected) in table {
        assert_eq!(render(text, form, &object).unwrap(), expected, "{text}");
    }
}

#[test]
fn an_expression_is_only_a_value_of_an_attribute() {
    let place = "${…} has to be the value of an attribute: uid=${…}";
    let table = [
        (Form::Name, "${self.s}", format!("0 {place}")),
        (Form::Name, "uid=a,${self.s}", format!("6 {place}")),
        (Form::Name, "uid=a,${self.s}=b", format!("6 {place}")),
        (Form::Name, "uid=a\\${self.s}", format!("6 {place}")),
        (Form::Name, "uid=#${self.s}", format!("5 {place}")),
        (Form::Name, "uid", "0 a DN has pairs of an attribute and its value: uid=a,ou=people,dc=example,dc=org".into()),
        (
            Form::Name,
            "u id=a,dc=b",
            "0 a DN has pairs of an attribute and its value: uid=a,ou=people,dc=example,dc=org".into(),
        ),
        (Form::Name, "uid=,dc=x", "0 an attribute of the DN has no value".into()),
        (Form::Name, "uid=a\\x", "0 a backslash in a DN needs a special character or two hexadecimal digits".into()),
        (Form::Filter, "${self.s}", format!("0 {place}")),
        (Form::Filter, "(${self.s}=a)", format!("1 {place}")),
        (Form::Filter, "(uid=a)${self.s}", format!("7 {place}")),
        (Form::Filter, "(uid=\\2${self.s})", format!("7 {place}")),
        (Form::Filter, "uid=a", "0 a filter begins with `(`".into()),
        (Form::Filter, "(uid=a", "0 a `)` is missing".into()),
        (Form::Filter, "(uid=a)(b=c)", "0 text follows the end of the filter".into()),
        (Form::Filter, "(uid)", "0 a filter compares an attribute: (uid=a)".into()),
        (Form::Filter, "(u id=a)", "0 the filter has a wrong name of an attribute".into()),
        (Form::Filter, "(uid=\\zz)", "0 a backslash in a filter needs two hexadecimal digits".into()),
    ];
    for (form, text, mistake) in table {
        assert_eq!(parse(text, form).unwrap_err(), mistake, "{text}");
    }
    let deep = format!("{}(a=b){}", "(!".repeat(20), ")".repeat(20));
    assert_eq!(parse(&deep, Form::Filter).unwrap_err(), "0 the filter is nested too deeply");
}

#[test]
fn an_empty_or_structured_value_is_refused() {
    let object = json!({"empty": "", "none": null, "list": ["a"], "truth": true});
    for (field, mistake) in [
        ("empty", "ldap: the value is empty"),
        ("none", "ldap: the value has to be a text or a number"),
        ("list", "ldap: the value has to be a text or a number"),
        ("truth", "ldap: the value has to be a text or a number"),
    ] {
        let text = format!("(cn=${{self.{field}}}*)");
        assert_eq!(render(&text, Form::Filter, &object).unwrap_err(), mistake, "{field}");
    }
}

#[test]
fn filters_are_encoded_as_the_protocol_wants() {
    let table: [(&str, &[u8]); 6] = [
        ("(a=b)", b"\xa3\x06\x04\x01a\x04\x01b"),
        ("(a=*)", b"\x87\x01a"),
        ("(!(a>=\\2a))", b"\xa2\x08\xa5\x06\x04\x01a\x04\x01*"),
        ("(|(a=b)(c<=d))", b"\xa1\x10\xa3\x06\x04\x01a\x04\x01b\xa6\x06\x04\x01c\x04\x01d"),
        ("(a=b*c*d)", b"\xa4\x0e\x04\x01a\x30\x09\x80\x01b\x81\x01c\x82\x01d"),
        ("(a:dn:1.2:=b)", b"\xa9\x0e\x81\x031.2\x82\x01a\x83\x01b\x84\x01\xff"),
    ];
    for (text, expected) in table {
        assert_eq!(filter::encode(text).unwrap(), expected, "{text}");
    }
}

/// The bytes of an escaped value as a server reads them.
fn read_back(value: &str) -> Vec<u8> {
    let mut bytes = Vec::new();
    let mut rest = value.as_bytes();
    while let [first, behind @ ..] = rest {
        if *first == b'\\' {
            bytes.push(u8::from_str_radix(std::str::from_utf8(&behind[..2]).unwrap(), 16).unwrap());
            rest = &behind[2..];
        } else {
            bytes.push(*first);
            rest = behind;
        }
    }
    bytes
}

proptest! {
    #[test]
    fn no_value_leaves_its_place(text in r#"[ a,+"\\<>;=#*()é\x00]{1,20}"#) {
        let object = json!({"s": text});
        let name = render("uid=${self.s},dc=x", Form::Name, &object).unwrap();
        let value = name.strip_prefix("uid=").unwrap().strip_suffix(",dc=x").unwrap();
        prop_assert!(!value.contains([',', '+', '"', ';', '<', '>', '=', '\0']) && !value.starts_with([' ', '#']));
        prop_assert!(name::check(&name).is_ok() && read_back(value) == text.as_bytes(), "{}", name);
        let written = render("(uid=${self.s})", Form::Filter, &object).unwrap();
        let value = written.strip_prefix("(uid=").unwrap().strip_suffix(')').unwrap();
        prop_assert!(!value.contains(['*', '(', ')', '\0']) && read_back(value) == text.as_bytes());
        let encoded = filter::encode(&written).unwrap();
        prop_assert!(encoded[0] == 0xa3 && encoded.ends_with(text.as_bytes()), "one equality");
    }

    #[test]
    fn no_filter_breaks_the_parser(text in r"[ab=*()&|!<>~:\\2.]{0,40}") {
        let _ = filter::encode(&text);
        let _ = name::check(&text);
    }
}

#[test]
fn an_absence_is_proved_by_the_entry_above() {
    for (dn, parent) in [
        ("uid=a,ou=people,dc=x", "ou=people,dc=x"),
        ("uid=a\\, b,dc=x", "dc=x"),
        ("uid=a\\2Cb, dc=x", "dc=x"),
        ("uid=a\\\\,dc=x", "dc=x"),
        ("uid=a+cn=b,dc=x", "dc=x"),
        ("dc=x", ""),
    ] {
        assert_eq!(super::name::parent_of(dn), parent, "{dn}");
    }
    let read = |more: &str| {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: demo.example/v1, kind: Person}}
  identity: "${{self.metadata.name}}"
  read: {{ldap: {{secretRef: {{name: s}}, base: "uid=${{self.metadata.name}},dc=x", attributes: [mail]{more}}}}}
  compare: {{desired: {{mail: [a]}}}}
"#
        );
        let target = crate::fixtures::target(&text);
        let crate::Source::Ldap(read) = &target.read.source else { panic!("no search") };
        let search = read.render(&json!({"metadata": {"name": "a,b"}})).unwrap();
        (search.present.join(" "), search.container)
    };
    let said = |present: &str, container: &str| (present.to_owned(), container.to_owned());
    assert_eq!(read(""), said("objectClass", "dc=x"));
    assert_eq!(read(", scope: one, present: [objectClass, member]"), said("objectClass member", "uid=a\\2Cb,dc=x"));
}
