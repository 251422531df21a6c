use crate::cel::{Scope, Site, TemplateError, Variables};
use crate::systems::sql::{Connection, Dialect, SqlTemplate};
use crate::systems::steps::Role;
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(text: &str) -> Result<SqlTemplate, String> {
    let said = |errors: Vec<TemplateError>| {
        errors.iter().map(|error| format!("{} {}", error.offset, error.message)).collect::<Vec<_>>().join("; ")
    };
    SqlTemplate::parse(Dialect::Mysql, text, &Site::new("sql", Scope::Object)).map_err(said)
}

fn statement(text: &str, object: &Value) -> Result<String, String> {
    parse(text)?.statement(&Variables::of_object(object)).map_err(|error| error.to_string())
}

#[test]
fn values_are_literals_names_and_accounts() {
    let object = json!({"s": r"it's \x", "n": -5, "f": 1.5, "t": true, "z": null, "l": ["a\"b", 1], "m": {"k": "v'"},
        "u": "a'b@evil@10.0.0.%"});
    let table = [
        ("SELECT ${self.s}", r"SELECT 'it''s \\x'"),
        ("SELECT ${self.n}, ${self.f}, ${self.t}", "SELECT -5, 1.5, 1"),
        ("SELECT (${self.z});", "SELECT (NULL)"),
        ("SELECT ${self.l}", r#"SELECT '["a\\"b",1]'"#),
        ("SELECT ${self.m}", r#"SELECT '{"k":"v''"}'"#),
        ("DROP TABLE ${ident(self.s + '`')}", r"DROP TABLE `it's \x```"),
        ("GRANT ${idents(['a', 'b`'])} TO x", "GRANT `a`, `b``` TO x"),
        ("GRANT SELECT ON ${ident('d')}.* TO ${account('u@%')}", "GRANT SELECT ON `d`.* TO 'u'@'%'"),
        ("ALTER USER ${account(self.u)} ACCOUNT LOCK", "ALTER USER 'a''b@evil'@'10.0.0.%' ACCOUNT LOCK"),
        ("CREATE USER ${account('a@h')} IDENTIFIED BY ${self.s}", r"CREATE USER 'a'@'h' IDENTIFIED BY 'it''s \\x'"),
        ("SELECT `a``'b`, 'a\\'', \"\\\"'\", ${self.n}", "SELECT `a``'b`, 'a\\'', \"\\\"'\", -5"),
        ("SELECT /* ' /* */ ${self.n} -- '\n + 1 # '", "SELECT /* ' /* */ -5 -- '\n + 1 # '"),
    ];
    for (text, expected) in table {
        assert_eq!(statement(text, &object).unwrap(), expected, "{text}");
    }
}

#[test]
fn a_query_binds_its_values() {
    let object = json!({"s": r"it's \x", "n": 9_007_199_254_740_993_i64, "f": 1.5, "t": false, "z": null, "l": ["a"]});
    let query = parse(
        "SELECT 1 WHERE a = ${self.s} AND b = ${self.n} AND c = ${self.f} AND d IN (${self.t}, ${self.z}, ${self.l})",
    );
    let query = query
        .unwrap()
        .query(Ok(Connection { dialect: Dialect::Mysql, secret: "s".to_owned() }), &Variables::of_object(&object))
        .unwrap();
    assert_eq!(&*query.text, "SELECT 1 WHERE a = ? AND b = CAST(? AS SIGNED) AND c = ? AND d IN (?, ?, ?)");
    let bound = [Some(r"it's \x"), Some("9007199254740993"), Some("1.5"), Some("0"), None, Some(r#"["a"]"#)];
    assert_eq!(query.parameters, bound.map(|text| text.map(str::to_owned)));
}

#[test]
fn mysql_reads_other_quotes_and_comments() {
    let quotes = "no ${…} inside quotes: without them its value is quoted by itself";
    let executed = "MySQL executes this comment: write its content without the comment";
    let table = [
        ("SELECT '\\'${self.s}'", 10, quotes),
        ("SELECT \"\\\"${self.s}\"", 10, quotes),
        ("SELECT `${self.s}`", 8, quotes),
        ("SELECT 1 # ${self.s}", 11, "no ${…} in a comment"),
        ("SELECT 1 -- \r${self.s}", 13, "no ${…} in a comment"),
        ("SELECT 1 --${self.s}", 11, "no ${…} in a comment"),
        ("SELECT 1 --'\n, ${self.s} -- '", 9, "a comment begins with `-- `: write a space"),
        ("SELECT 1 /*!80000 , ${self.s} */", 9, executed),
        ("SELECT 1 /*M! , ${self.s} */", 9, executed),
        ("SELECT ?", 7, "a parameter is written as ${…}"),
        ("SELECT 1; DROP TABLE a", 10, "one statement is one entry: nothing may follow on its `;`"),
        ("SELECT ${account('a@b', 'c')}", 9, "account takes one argument"),
    ];
    for (text, offset, mistake) in table {
        assert_eq!(parse(text).unwrap_err(), format!("{offset} {mistake}"), "{text}");
    }
    let site = Site::new("sql", Scope::Object);
    assert!(SqlTemplate::parse(Dialect::Postgres, "DROP USER ${account('a@b')}", &site).is_err());
}

#[test]
fn names_that_mysql_would_change_are_refused() {
    let object = json!({"nul": "a\0b", "far": "a\u{1f600}", "n": 1, "none": []});
    let table = [
        ("DROP TABLE ${ident('')}", "sql: the name is empty"),
        ("DROP TABLE ${ident(self.n)}", "sql: ident takes a text"),
        ("DROP TABLE ${ident(self.far)}", "sql: the name holds a character beyond U+FFFF, which MySQL does not keep"),
        ("DROP USER ${account('a')}", "sql: account takes a text such as user@host or user@%"),
        ("DROP USER ${account('@%')}", "sql: account takes a text such as user@host or user@%"),
        (
            "DROP USER ${account(self.far + '@%')}",
            "sql: the name holds a character beyond U+FFFF, which MySQL does not keep",
        ),
        ("GRANT ${idents(self.none)} TO x", "sql: the list of names is empty; skip the statement with `when`"),
        ("SELECT ${self.nul}", "sql: the value holds a NUL character, which MySQL does not take in a name or a text"),
    ];
    for (text, expected) in table {
        assert_eq!(statement(text, &object).unwrap_err(), expected, "{text}");
    }
}

#[test]
fn the_account_is_what_a_statement_changes() {
    let roles = |text: &str| {
        let mut roles = Vec::new();
        parse(text).unwrap().visit_parts(&mut |role, _| roles.push(role));
        roles
    };
    assert_eq!(roles("DROP USER ${account(self.a)}"), [Role::Address]);
    assert_eq!(roles("ALTER USER ${account(self.a)} IDENTIFIED BY ${self.b}"), [Role::Address, Role::Body]);
    assert_eq!(roles("# a\nGRANT ${ident(self.r)} TO ${account(self.a)}"), [Role::Grant, Role::Body]);
}

/// The text of a literal, as MySQL reads it. `None` if it ends early.
fn read_back(literal: &str) -> Option<String> {
    let mut letters = literal.strip_prefix('\'')?.strip_suffix('\'')?.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' | '\'' => text.push(letters.next().filter(|next| *next == letter)?),
            letter => text.push(letter),
        }
    }
    Some(text)
}

proptest! {
    #[test]
    fn no_text_leaves_its_literal(text in r#"[a'"\\;`$\-/*\n{},é ]{1,40}"#) {
        let rendered = statement("SELECT ${self.s}", &json!({"s": text})).unwrap();
        prop_assert_eq!(read_back(rendered.strip_prefix("SELECT ").unwrap()), Some(text.clone()));
        let rendered = statement("DROP USER ${account(self.s + '@h')}", &json!({"s": text})).unwrap();
        let user = rendered.strip_prefix("DROP USER ").and_then(|rest| rest.strip_suffix("@'h'")).unwrap();
        prop_assert_eq!(read_back(user), Some(text.clone()));
        let rendered = statement("DROP TABLE ${ident(self.s)}", &json!({"s": text})).unwrap();
        let name = rendered.strip_prefix("DROP TABLE `").and_then(|rest| rest.strip_suffix('`')).unwrap();
        prop_assert_eq!(name.replace("``", "\u{1}").replace('`', "!").replace('\u{1}', "`"), text);
    }
}

#[test]
fn a_section_explains_what_mysql_lacks() {
    let problems = |query: &str, correct: &str| {
        let text = format!(
            r#"
apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata: {{name: t}}
spec:
  objects: {{apiVersion: g.example/v1, kind: A}}
  identity: "${{self.spec.name}}"
  read: {{mysql: {{connection: {{secretRef: {{name: r}}}}, query: "{query}"}}}}
  compare: {{desired: {{a: 1}}}}
  correct: {{mode: Correct, mysql: {{connection: {{secretRef: {{name: w}}}}, {correct}}}}}
"#
        );
        let name = crate::DocumentName { config_map: "targets".to_owned(), key: "t.yaml".to_owned() };
        let found = crate::parse_document(&name, &text).err().unwrap_or_default();
        found.into_iter().map(|problem| problem.message).collect::<Vec<_>>()
    };
    let query = "SELECT 1 AS a WHERE b = ${self.spec.name}";
    let update = "update: ['ALTER USER ${account(self.spec.name)} ACCOUNT LOCK']";
    assert_eq!(problems(query, update), [""; 0]);
    let table = [
        (
            query,
            "update: [SELECT 1], transaction: true",
            "MySQL commits each statement that defines an account or a table",
        ),
        (query, "update: [START TRANSACTION]", "the controller begins and ends the transaction itself"),
        (query, "update: [\"SET SESSION sql_mode = ''\"]", "the controller sets how the server reads texts"),
        (query, "update: [SET NAMES gbk]", "the controller sets how the server reads texts"),
        (&format!("{query} INTO OUTFILE 'a'"), update, "a query writes no file and no variable: leave INTO out"),
        ("SHOW GRANTS", update, "a query begins with SELECT, WITH, VALUES or TABLE"),
    ];
    for (query, correct, expected) in table {
        let found = problems(query, correct);
        assert!(found.iter().any(|message| message.contains(expected)), "{query} {correct}: {found:?}");
    }
}
