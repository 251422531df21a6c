//! Warns of an identity that tells apart two notations which `compare` takes for one value.
//!
//! If names are compared without case, `Bob` and `bob` are one resource of the external system. If the identity keeps
//! the case, two objects own that resource, and correct and delete it against each other.

use serde_json::{Value, json};

use crate::cel::{Expressions as _, Node as Template, Variables};
use crate::compare::{Form, RulePlace};
use crate::target::Target;
use crate::yaml::{Node, Reader};
use drift_api::object::field_paths::FieldPaths;

/// Two notations that are the same in a form, and the function that makes one of them.
struct Notations {
    form: Form,
    texts: [&'static str; 2],
    /// The expression to write, with `{}` in place of the field.
    remedy: &'static str,
}

/// The forms of names. Quantities and times identify no resource, and no function makes one notation of them.
const NOTATIONS: [Notations; 3] = [
    Notations { form: Form::CaseInsensitive, texts: ["bob", "BOB"], remedy: "{}.lowerAscii()" },
    Notations { form: Form::Ip, texts: ["2001:db8::a", "2001:0DB8::000A"], remedy: "ip({})" },
    Notations { form: Form::Cidr, texts: ["10.0.0.0/8", "10.0.0.1/8"], remedy: "cidr({}).masked()" },
];

/// Warns of each field whose notations are one value to `compare` and two resources by the identity. Two objects that
/// differ only in the notation of that field are tried.
pub(crate) fn warn_of_notations(reader: &mut Reader<'_>, spec: &Node, target: &Target) {
    let fields = target.identity.fields();
    if !target.correct.writes_outside() || names_object(&fields) {
        return;
    }
    // Kubernetes permits one notation of names.
    for field in fields.iter().filter(|field| field.first().is_some_and(|first| first == "spec")) {
        // Without a rule, no value is rendered to compare its notations.
        let used = NOTATIONS.iter().filter(|notations| target.compare.rules.any_form(notations.form));
        for notations in used {
            let objects = notations.texts.map(|text| object(target, field, [notations.texts[0], text]));
            if is_kept_apart(target, &objects) && is_one_value(target, notations.form, &objects) {
                let at = spec.get("identity").map_or(spec.at, |identity| identity.at);
                reader.doubt(at, warning(field, notations));
            }
        }
    }
}

/// Returns true if two objects never have one identity, whatever the notation of other fields.
fn names_object(identity: &FieldPaths) -> bool {
    let has = |name: &str| identity.iter().any(|path| path == ["metadata", name]);
    has("uid") || has("name") && has("namespace")
}

fn warning(field: &[String], Notations { form, texts: [one, other], remedy }: &Notations) -> String {
    let name = format!("self.{}", field.join("."));
    format!(
        "identity: it tells `{one}` and `{other}` in `{name}` apart, and compare.rules does not ({}): two objects would \
         own one resource; write ${{{}}}",
        form.rule(),
        remedy.replace("{}", &name)
    )
}

/// Returns an object that has a text in every field that the target reads of it, and another one in this field.
fn object(target: &Target, field: &[String], [text, of_field]: [&str; 2]) -> Value {
    let mut read = target.identity.fields();
    read.extend(&target.compare.desired.fields());
    target.require.iter().for_each(|requirement| read.extend(requirement.that.fields()));
    let mut object = json!({});
    // A path comes before those below it.
    read.iter().for_each(|path| set(&mut object, path, text));
    set(&mut object, field, of_field);
    object
}

fn set(value: &mut Value, path: &[String], text: &str) {
    let Some((name, below)) = path.split_first() else { return };
    if !value.is_object() {
        *value = json!({});
    }
    let place = &mut value[name.as_str()];
    if below.is_empty() { *place = json!(text) } else { set(place, below, text) }
}

/// Returns true if both objects have identities, which differ, and no requirement permits only the first one.
fn is_kept_apart(target: &Target, objects: &[Value; 2]) -> bool {
    let [one, other] = objects.each_ref().map(|object| target.identity_of(object).ok());
    let is_met = |that: &crate::cel::Expression| {
        objects.each_ref().map(|object| that.evaluate_bool(&Variables::of_object(object)).ok())
    };
    let permits_one = target.require.iter().any(|rule| is_met(&rule.that) == [Some(true), Some(false)]);
    one.is_some() && other.is_some() && one != other && !permits_one
}

/// Returns true if a value of the desired states differs only in the form.
fn is_one_value(target: &Target, form: Form, objects: &[Value; 2]) -> bool {
    is_one_at(target.compare.rules.root(), form, target.compare.desired.root(), objects)
}

fn is_one_at(place: RulePlace<'_>, form: Form, desired: &Template, objects: &[Value; 2]) -> bool {
    let variables = objects.each_ref().map(Variables::of_object);
    match desired {
        Template::Constant(_) => false,
        Template::Map(entries) => {
            entries.iter().any(|(name, field)| is_one_at(place.field(name), form, field, objects))
        }
        Template::List(items) => items.iter().any(|item| is_one_at(place.any_item(), form, item, objects)),
        Template::Expression(expression) => {
            let values = variables.map(|variables| expression.evaluate(&variables).ok().flatten());
            matches!(values, [Some(one), Some(other)] if differs_in_form(place, form, &one, &other))
        }
        Template::Text(text) => {
            let values = variables.map(|variables| text.render(&variables).ok().map(Value::from));
            matches!(values, [Some(one), Some(other)] if differs_in_form(place, form, &one, &other))
        }
    }
}

fn differs_in_form(place: RulePlace<'_>, form: Form, one: &Value, other: &Value) -> bool {
    match (one, other) {
        (Value::Object(fields), Value::Object(others)) => fields.iter().any(|(name, field)| {
            others.get(name).is_some_and(|other| differs_in_form(place.field(name), form, field, other))
        }),
        (Value::Array(items), Value::Array(others)) => {
            let mut pairs = items.iter().zip(others);
            pairs.any(|(one, other)| differs_in_form(place.any_item(), form, one, other))
        }
        _ => one != other && place.form() == Some(form) && place.is_same(one, other),
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used)]
mod tests {
    use crate::{Catalogue, Texts};

    fn warnings(identity: &str, desired: &str, rules: &str, more: &str) -> Vec<String> {
        let text = format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: t}}\nspec:\n  \
             objects: {{apiVersion: demo.driftpoller.dev/v1, kind: User}}\n  identity: \"{identity}\"\n  \
             base: https://h.example\n  read: {{http: {{url: /users}}}}\n  \
             compare: {{desired: {desired}, rules: [{rules}]}}\n{more}"
        );
        let texts = Texts::from([("c".to_owned(), [("k".to_owned(), text)].into())]);
        let catalogue = Catalogue::default().update(&texts);
        assert!(catalogue.problems().is_empty(), "{:?}", catalogue.problems());
        catalogue
            .doubts()
            .into_iter()
            .map(|doubt| format!("{}:{} {}", doubt.line, doubt.column, doubt.message))
            .collect()
    }

    const CORRECT: &str = "  correct: {http: {update: [{method: PUT, url: /users, body: \"${desired}\"}]}}\n";
    const NAME: &str = "{name: '${self.spec.name}', size: '${self.spec.size + 1}'}";
    const RULE: &str = "{path: /name, as: caseInsensitive}";

    #[test]
    fn an_identity_keeps_the_case_that_compare_ignores() {
        let expected =
            ["6:13 identity: it tells `bob` and `BOB` in `self.spec.name` apart, and compare.rules does not (as: \
             caseInsensitive): two objects would own one resource; write ${self.spec.name.lowerAscii()}"];
        let desired = [
            (NAME, RULE),
            ("{name: 'user ${self.spec.name}'}", RULE),
            (
                "{name: '${self.spec.name.lowerAscii()}', alias: '${self.spec.name}'}",
                "{path: /alias, as: caseInsensitive}",
            ),
            ("'${self.spec}'", RULE),
            ("{users: ['${self.spec.name}']}", "{path: /users, list: set, as: caseInsensitive}"),
        ];
        for (desired, rule) in desired {
            assert_eq!(warnings("${self.spec.name}", desired, rule, CORRECT), expected, "{desired}");
        }
        for identity in
            ["${self.spec.zone}/${self.spec.name}", "${self.spec.zone + '/' + self.spec.?name.orValue('x')}"]
        {
            assert_eq!(warnings(identity, NAME, RULE, CORRECT), expected, "{identity}");
        }
    }

    #[test]
    fn one_notation_in_the_identity_is_no_doubt() {
        let lower = "  require: [{that: \"${self.spec.name.matches('^[a-z]+$')}\", else: lower case}]\n";
        let silent = [
            ("${self.spec.name.lowerAscii()}", NAME, RULE, CORRECT.to_owned()),
            ("${self.spec.zone + self.spec.name.upperAscii()}", NAME, RULE, CORRECT.to_owned()),
            ("${self.metadata.name}", NAME, RULE, CORRECT.to_owned()),
            ("${self.spec.name}", NAME, "{path: /size, as: caseInsensitive}", CORRECT.to_owned()),
            ("${self.spec.name}", NAME, "{path: /name, as: number}", CORRECT.to_owned()),
            ("${self.spec.name}", NAME, RULE, format!("{CORRECT}{lower}")),
            ("${self.spec.name}", NAME, RULE, String::new()),
        ];
        for (identity, desired, rule, more) in silent {
            assert_eq!(warnings(identity, desired, rule, &more), [""; 0], "{identity} {rule} {more}");
        }
    }

    #[test]
    fn an_identity_keeps_notations_of_addresses() {
        let address = warnings("${self.spec.a}", "{a: '${self.spec.a}'}", "{path: /a, as: ip}", CORRECT);
        assert!(address.concat().ends_with("write ${ip(self.spec.a)}"), "{address:?}");
        let network = warnings("${self.spec.a}", "{a: '${self.spec.a}'}", "{path: /a, as: cidr}", CORRECT);
        assert!(network.concat().ends_with("write ${cidr(self.spec.a).masked()}"), "{network:?}");
        for (identity, rule) in [("${ip(self.spec.a)}", "as: ip"), ("${cidr(self.spec.a).masked()}", "as: cidr")] {
            let silent = warnings(identity, "{a: '${self.spec.a}'}", &format!("{{path: /a, {rule}}}"), CORRECT);
            assert_eq!(silent, [""; 0], "{identity}");
        }
    }

    #[test]
    fn an_identity_with_namespace_and_name_is_of_one_object() {
        let identity = "${self.metadata.namespace}/${self.metadata.name}/${self.spec.name}";
        assert!(warnings(identity, NAME, RULE, CORRECT).is_empty());
        assert_eq!(warnings("${self.metadata.name}/${self.spec.name}", NAME, RULE, CORRECT).len(), 1);
    }
}
