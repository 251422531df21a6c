use crate::cel::{Scope, Site, Variables};
use crate::systems::sql::{Connection, Dialect, SqlTemplate};
use proptest::prelude::*;
use serde_json::{Value, json};

fn parse(text: &str) -> Result<SqlTemplate, String> {
    let said = |errors: Vec<crate::cel::TemplateError>| {
        errors.iter().map(|error| format!("{} {}", error.offset, error.message)).collect::<Vec<_>>().join("; ")
    };
    SqlTemplate::parse(Dialect::Postgres, text, &Site::new("sql", Scope::Object)).map_err(said)
}

fn statement(text: &str, object: &Value) -> Result<String, String> {
    parse(text)?.statement(&Variables::of_object(object)).map_err(|error| error.to_string())
}

#[test]
fn values_stand_as_literals_and_as_parameters() {
    let object = json!({"s": r"it's \x", "n": -5, "f": 1.5, "t": true, "z": null, "l": ["a\"b", null, 1, "c\\"], "m": {"k": "v'"}});
    let table = [
        ("SELECT ${self.s}", r"SELECT E'it''s \\x'"),
        ("SELECT ${self.n}, ${self.f}, ${self.t}", "SELECT -5, 1.5, true"),
        ("SELECT (${self.z})::text;", "SELECT (NULL)::text"),
        ("SELECT 1 -- first\r + ${self.n}", "SELECT 1 -- first\r + -5"),
        ("SELECT ${self.l}", r#"SELECT E'{"a\\"b",NULL,1,"c\\\\"}'"#),
        ("SELECT ${self.m}", r#"SELECT E'{"k":"v''"}'"#),
        ("DROP ROLE ${ident(self.s)}", r#"DROP ROLE "it's \x""#),
        ("GRANT ${idents(['a', 'b\"'])} TO x", r#"GRANT "a", "b""" TO x"#),
        ("ALTER ROLE x ${sql(self.t ? 'LOGIN' : 'NOLOGIN')}", "ALTER ROLE x LOGIN"),
        ("ALTER ROLE x ${sql({'a': 'LOGIN'}['a'] + ' INHERIT')}", "ALTER ROLE x LOGIN INHERIT"),
        ("SELECT * FROM ${ident(self.s)}.${ident('t')}", r#"SELECT * FROM "it's \x"."t""#),
    ];
    for (text, expected) in table {
        assert_eq!(statement(text, &object).unwrap(), expected, "{text}");
    }
    let query = parse("SELECT 1 WHERE a = ${self.s} AND b = ANY(${self.l}) AND c = ${self.z} -- end\n;").unwrap();
    let query = query
        .query(Ok(Connection { dialect: Dialect::Postgres, secret: "s".to_owned() }), &Variables::of_object(&object))
        .unwrap();
    assert_eq!(&*query.text, "SELECT 1 WHERE a = $1 AND b = ANY($2) AND c = $3 -- end\n");
    assert_eq!(query.parameters, [Some(r"it's \x".to_owned()), Some(r#"{"a\"b",NULL,1,"c\\"}"#.to_owned()), None]);
}

#[test]
fn an_expression_stands_only_between_words() {
    let quotes = "no ${…} inside quotes: without them its value is quoted by itself";
    let apart = "${…} has to stand apart from what is beside it: write a space";
    let one = "one statement is one entry: nothing may follow on its `;`";
    let table = [
        ("SELECT '${self.s}'", 8, quotes),
        ("SELECT E'\\'${self.s}'", 11, quotes),
        ("SELECT E'a'\n'\\'${self.s}'", 15, quotes),
        ("SELECT \"${self.s}\"", 8, quotes),
        ("SELECT $$ ${self.s} $$", 10, quotes),
        ("SELECT $a$ $$ ${self.s} $a$", 14, quotes),
        ("SELECT 1 -- ${self.s}", 12, "no ${…} in a comment"),
        ("SELECT 1 /* /* */ ${self.s} */", 18, "no ${…} in a comment"),
        ("SELECT a${self.s}", 8, apart),
        ("SELECT -${self.s}", 8, apart),
        ("SELECT ${self.s}b", 7, apart),
        ("SELECT ${self.s}${self.s}", 7, apart),
        ("SELECT ''${self.s}", 9, apart),
        ("SELECT 1; DROP ${self.s}", 10, one),
        ("SELECT 1; SELECT 2", 10, one),
        ("SELECT $1", 7, "a parameter is written as ${…}"),
        ("SELECT 'a", 0, "a quote has no end"),
        ("SELECT /* a", 0, "a comment has no end"),
        (" ; ", 0, "the statement is empty"),
        (
            "SELECT ${sql(self.s)}",
            9,
            "sql takes texts that are written here: 'LOGIN', a choice between such, or one of a map or list of them",
        ),
        ("SELECT ${ident(self.s, 1)}", 9, "ident takes one argument"),
    ];
    for (text, offset, mistake) in table {
        assert_eq!(parse(text).unwrap_err(), format!("{offset} {mistake}"), "{text}");
    }
    for text in [
        "SELECT 'it''s', ${self.s}",
        "SELECT E'\\\\', ${self.s}",
        "SELECT '\\', ${self.s}",
        "SELECT a$b$c, ${self.s}",
        "SELECT 1 - -${1}",
    ] {
        assert_eq!(parse(text).is_ok(), !text.ends_with("-${1}"), "{text}");
    }
}

#[test]
fn what_postgresql_cannot_take_is_refused() {
    let long = "é".repeat(32);
    let object = json!({"long": long, "nul": "a\0b", "n": 1, "none": [], "deep": {"a": ["\0"]}});
    let table = [
        ("DROP ROLE ${ident(self.long)}", "sql: the name is longer than 63 bytes, which is all that PostgreSQL keeps"),
        ("DROP ROLE ${ident('')}", "sql: the name is empty"),
        ("DROP ROLE ${ident(self.n)}", "sql: ident takes a text"),
        ("GRANT ${idents(self.none)} TO x", "sql: the list of names is empty; skip the statement with `when`"),
        ("SELECT ${self.nul}", "sql: the value holds a NUL character, which PostgreSQL cannot take"),
        ("SELECT ${self.deep}", "sql: the value holds a NUL character, which PostgreSQL cannot take"),
        ("SELECT ${self.?none2}", "sql: an optional without value cannot stand in a statement; write .orValue(null)"),
    ];
    for (text, expected) in table {
        assert_eq!(statement(text, &object).unwrap_err(), expected, "{text}");
    }
}

/// The text of a statement's only literal, as PostgreSQL reads it. `None` if there is not exactly one.
fn read_back(literal: &str) -> Option<String> {
    let inner = literal.strip_prefix("E'")?.strip_suffix('\'')?;
    let mut letters = inner.chars();
    let mut text = String::new();
    while let Some(letter) = letters.next() {
        match letter {
            '\\' if letters.next() == Some('\\') => text.push('\\'),
            '\'' if letters.next() == Some('\'') => text.push('\''),
            '\\' | '\'' => return None,
            letter => text.push(letter),
        }
    }
    Some(text)
}

proptest! {
    #[test]
    fn no_text_leaves_its_literal(text in r#"[a'"\\;$\-/*\n{},é ]{0,40}"#) {
        let rendered = statement("SELECT ${self.s}", &json!({"s": text})).unwrap();
        prop_assert_eq!(read_back(rendered.strip_prefix("SELECT ").unwrap()), Some(text.clone()));
        let rendered = statement("DROP ROLE ${ident('x' + self.s)}", &json!({"s": text})).unwrap();
        let name = rendered.strip_prefix("DROP ROLE \"").and_then(|rest| rest.strip_suffix('"')).unwrap();
        prop_assert_eq!(name.replace("\"\"", "\u{1}").replace('"', "!").replace('\u{1}', "\""), format!("x{text}"));
    }

    #[test]
    fn no_statement_breaks_the_scanner(text in r#"[aE$'"\\;\-/*\n{}${self.s} ]{0,40}"#) {
        let _ = parse(&text);
    }
}
