//! Secrets in lines of target documents, answers and refusals, which the name before a value or the scheme of a header
//! shows.

use std::ops::Range;

use crate::secrets::secret_names::looks_secret;
use crate::secrets::secret_texts::REDACTED;
use crate::secrets::session_names::names_credential;

/// Keys of `auth` that take a reference to a Secret, and under which people write the secret itself.
const KEYS_OF_AUTH: [&str; 2] = ["bearer", "basic"];
/// Ends of names whose values name a secret or its place, and are none.
const NAMING: [&str; 5] = ["name", "ref", "url", "uri", "path"];
/// Variables of expressions that people write as the value of a key.
const VARIABLES: [&str; 5] = ["desired", "item", "secrets", "self", "steps"];
/// Words before a credential in a header.
const SCHEMES: [&str; 2] = ["Bearer ", "Basic "];

/// The line without its secrets, and the column as it is then. 1-based, in characters.
#[must_use]
pub fn redacted(line: &str, column: usize) -> (String, usize) {
    masked(line, column, is_secret)
}

/// The line of a server without its secrets and sessions.
#[must_use]
pub fn without_credentials(line: &str) -> String {
    masked(line, 1, |name| is_secret(name) || (names_credential(name) && !names_place(name))).0
}

/// The line without the values of these names and the secrets that need no name, and the column as it is then.
fn masked(line: &str, column: usize, hides: fn(&str) -> bool) -> (String, usize) {
    let place = line.char_indices().nth(column.saturating_sub(1)).map_or(line.len(), |(place, _)| place);
    let (mut text, mut moved, mut end) = (String::with_capacity(line.len()), column, 0);
    for secret in secrets(line, hides) {
        text.push_str(&line[end..secret.start]);
        let shown = text.chars().count();
        text.push_str(REDACTED);
        if secret.contains(&place) {
            moved = shown + 1;
        } else if place >= secret.end {
            moved = (moved + REDACTED.chars().count()).saturating_sub(line[secret.clone()].chars().count());
        }
        end = secret.end;
    }
    text.push_str(&line[end..]);
    (text, moved)
}

/// The bytes of the secrets in a line, in order and apart.
fn secrets(line: &str, hides: fn(&str) -> bool) -> Vec<Range<usize>> {
    let mut found: Vec<Range<usize>> =
        values(line, hides).chain(assignments(line, hides)).chain(credentials(line)).collect();
    found.sort_by_key(|range| (range.start, std::cmp::Reverse(range.end)));
    let mut end = 0;
    found.retain(|range| {
        let is_apart = range.start >= end && !range.is_empty();
        end = end.max(range.end);
        is_apart
    });
    found
}

/// Values of keys with the name of a secret: `password: hunter2`. In block style the value takes the rest of the line. A
/// template holds none: its values come from elsewhere.
fn values(line: &str, hides: fn(&str) -> bool) -> impl Iterator<Item = Range<usize>> {
    line.match_indices(':').filter_map(move |(colon, _)| {
        let key = line[..colon].trim_end().rsplit([' ', '{', ',']).next()?;
        let is_pair = line[colon + 1..].starts_with(' ') || key.ends_with(['"', '\'']);
        if !is_pair || !hides(key.trim_matches(['"', '\''])) {
            return None;
        }
        let start = line.len() - line[colon + 1..].trim_start().len();
        let value = &line[start..];
        let is_flow = line[..colon].contains(['{', '[']);
        let end = match value.chars().next()? {
            '{' | '[' | '|' | '>' | '#' => return None,
            _ if !is_flow => value.len(),
            quote @ ('"' | '\'') => quoted(value, quote),
            _ => value.find([',', '}', ']']).unwrap_or(value.len()),
        };
        let value = &value[..end];
        (!is_template(value) && !is_selection(value) && !is_answer(value)).then_some(start..start + end)
    })
}

/// The bytes of a quoted scalar at the start of a text, with its quotes. All of it if the scalar does not end.
fn quoted(text: &str, quote: char) -> usize {
    let mut letters = text.char_indices().skip(1).peekable();
    while let Some((at, letter)) = letters.next() {
        let is_doubled = quote == '\'' && letter == quote && letters.peek().is_some_and(|(_, next)| *next == quote);
        if is_doubled || (quote == '"' && letter == '\\') {
            letters.next();
        } else if letter == quote {
            return at + 1;
        }
    }
    text.len()
}

/// Returns true if the value is one template and has no text beside it.
fn is_template(value: &str) -> bool {
    let value = value.trim().trim_matches(['"', '\'']);
    value.starts_with("${") && value.ends_with('}')
}

/// Returns true if the value says if there is a secret, as in MySQL's `(using password: YES)`.
fn is_answer(value: &str) -> bool {
    let value = value.trim().trim_end_matches([')', '.', ',', ';']);
    ["yes", "no", "true", "false"].iter().any(|answer| value.eq_ignore_ascii_case(answer))
}

/// Returns true if the value names a field of a variable, as `secrets.apiKey` does in an expression.
fn is_selection(value: &str) -> bool {
    let name = value.trim_end().trim_end_matches([')', '}', '"', '\'']);
    let is_name = |letter: char| letter.is_ascii_alphanumeric() || "_.?".contains(letter);
    VARIABLES.iter().any(|variable| name.strip_prefix(variable).is_some_and(|rest| rest.starts_with('.')))
        && name.chars().all(is_name)
}

/// Values behind `=` after the name of a secret, as in the query of a URL.
fn assignments(line: &str, hides: fn(&str) -> bool) -> impl Iterator<Item = Range<usize>> {
    line.match_indices('=').filter_map(move |(sign, _)| {
        let name = line[..sign]
            .trim_end()
            .rsplit(|letter: char| !letter.is_alphanumeric() && !"_-".contains(letter))
            .next()?;
        let start = line.len() - line[sign + 1..].trim_start().len();
        let is_quoted = line[start..].starts_with(['"', '\'']);
        let value = hides(name).then(|| if is_quoted { start..line.len() } else { word_after(line, start) })?;
        (!line[value.clone()].starts_with(['$', '='])).then_some(value)
    })
}

/// Credentials behind the scheme of a header, and users with passwords in URLs.
fn credentials(line: &str) -> impl Iterator<Item = Range<usize>> {
    let of_scheme = SCHEMES.iter().flat_map(|scheme| line.match_indices(scheme).map(|(at, _)| at + scheme.len()));
    let of_header = of_scheme.map(|start| word_after(line, start)).filter(|word| !line[word.clone()].starts_with('$'));
    let of_url = line.match_indices("://").filter_map(|(at, _)| {
        // A password may contain characters that end a word.
        let (start, is_end) = (at + 3, |letter: char| letter.is_whitespace() || "\"'/?#".contains(letter));
        let authority = line[start..].split(is_end).next()?;
        let user = authority.rsplit_once('@')?.0;
        Some(start..start + user.len()).filter(|_| !is_template(user))
    });
    of_header.chain(of_url)
}

fn is_secret(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    let is_auth = KEYS_OF_AUTH.contains(&lower.as_str());
    is_auth || (looks_secret(name) && !names_place(name))
}

fn names_place(name: &str) -> bool {
    let lower = name.to_ascii_lowercase();
    NAMING.iter().any(|end| lower.ends_with(end))
}

fn word_after(line: &str, start: usize) -> Range<usize> {
    let rest = &line[start..];
    let is_end = |letter: char| letter.is_whitespace() || "\"'&;,}]".contains(letter);
    start..start + rest.find(is_end).unwrap_or(rest.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_in_clear_is_not_shown() {
        for (line, expected) in [
            ("auth: {bearer: hunter2}", "auth: {bearer: (redacted)}"),
            ("auth: {bearer: {token: hunter2}}", "auth: {bearer: {token: (redacted)}}"),
            ("auth: {bearer: {token: 'hunter2, x'}, a: b}", "auth: {bearer: {token: (redacted)}, a: b}"),
            ("  password: hunter2 # mine", "  password: (redacted)"),
            ("  password: hun,ter2}", "  password: (redacted)"),
            (r#"  password: "a\"hunter2""#, "  password: (redacted)"),
            (r#"{password: "a\"hunter2", a: b}"#, "{password: (redacted), a: b}"),
            ("{password: 'it''s', a: b}", "{password: (redacted), a: b}"),
            ("  password: \"hunter2-${self.x}\"", "  password: (redacted)"),
            ("  dsn: password=\"hunter2\"", "  dsn: password=(redacted)"),
            ("  dsn: password = hunter2 x", "  dsn: password = (redacted) x"),
            ("  url: https://me:hun,ter2@h/x", "  url: https://(redacted)@h/x"),
            ("  \"api-token\": hunter2", "  \"api-token\": (redacted)"),
            ("  authorization: \"Bearer hunter2\"", "  authorization: (redacted)"),
            ("  x-auth: \"Bearer hunter2\"", "  x-auth: \"Bearer (redacted)\""),
            ("{\"password\":\"hunter2\",\"a\"", "{\"password\":(redacted),\"a\""),
            ("url: https://h/x?a=b&token=hunter2&c=d", "url: https://h/x?a=b&token=(redacted)&c=d"),
            ("url: 'https://me:hunter2@h/x'", "url: 'https://(redacted)@h/x'"),
            ("  body: \"${{'apiKey': 'hunter2'}}\"", "  body: \"${{'apiKey': (redacted)}}\""),
            ("  body: \"${{'apiKey': secrets.a + 'hunter2'}}\"", "  body: \"${{'apiKey': (redacted)}}\""),
            ("  token: secretsauce.x", "  token: (redacted)"),
        ] {
            assert_eq!(redacted(line, 1).0, expected, "{line}");
        }
    }

    #[test]
    fn names_of_secrets_and_templates_are_shown() {
        for line in [
            "auth: {bearer: {secretRef: {name: reader, key: token}}}",
            "  secretName: reader",
            "  tokenUrl: https://id.example/token",
            "  password: \"${self.spec.pasword}\"",
            "  when: \"${self.spec.token == 'x'}\"",
            "Access denied for user 'a'@'h' (using password: YES)",
            "  body: \"${merge(desired, {'apiKey': secrets.apiKey, 'token': steps.login.body.token})}\"",
            "  'apiKey': secrets.apiKey})}\"",
            "  url: \"https://h/${self.spec.name}?token=${self.spec.token}\"",
        ] {
            assert_eq!(redacted(line, 3), (line.to_owned(), 3));
        }
    }

    #[test]
    fn the_column_follows_what_is_left_out() {
        let line = "{token: hunter2hunter2, maap: 1}";
        for (column, expected) in [(2, 2), (9, 9), (12, 9), (25, 21)] {
            let (text, moved) = redacted(line, column);
            assert_eq!((text.as_str(), moved), ("{token: (redacted), maap: 1}", expected), "{column}");
        }
    }
}
