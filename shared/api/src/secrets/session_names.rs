//! Names of session credentials in requests and answers, such as the cookie of a log-in step.

use crate::secrets::secret_names::looks_secret;

/// Words of names whose values are sessions: those of headers, and the cookies of Java, PHP and Django.
const SESSION_WORDS: [&str; 8] =
    ["auth", "cookie", "cookies", "jsessionid", "phpsessid", "session", "sessionid", "sid"];

/// Returns true if the value of this header, query key or field is hidden.
#[must_use]
pub fn names_credential(name: &str) -> bool {
    looks_secret(name) || has_session_word(name)
}

/// Returns true if a line sets a session: `sid=…`, `"session": …`.
#[must_use]
pub fn sets_session(line: &str) -> bool {
    line.match_indices(['=', ':']).any(|(at, sign)| {
        let (before, value) = (line[..at].trim_end().trim_end_matches(['"', '\'']), &line[at + 1..]);
        let name = before.rsplit(|letter: char| !letter.is_alphanumeric() && !"_-".contains(letter)).next();
        (sign == "=" || value.starts_with(' ')) && !value.trim().is_empty() && name.is_some_and(has_session_word)
    })
}

/// Returns true if one of the words is a session's. Words end at punctuation and before capitals: `x-auth`, `sessionId`.
fn has_session_word(name: &str) -> bool {
    let mut words = String::new();
    let mut letters = name.chars().peekable();
    let mut previous = ' ';
    while let Some(letter) = letters.next() {
        let ends_word = !previous.is_uppercase() || letters.peek().is_some_and(|next| next.is_lowercase());
        if letter.is_uppercase() && ends_word {
            words.push(' ');
        }
        words.push(if letter.is_alphanumeric() { letter.to_ascii_lowercase() } else { ' ' });
        previous = letter;
    }
    words.split(' ').any(|word| SESSION_WORDS.contains(&word))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_sessions_name_credentials() {
        for name in ["cookie", "Set-Cookie", "x-auth", "sid", "my_sid", "sessionId", "XAuth", "JSESSIONID", "apiToken"]
        {
            assert!(names_credential(name), "{name}");
        }
        for name in ["author", "x-authored-by", "side", "obsession", "residual", "id", ""] {
            assert!(!names_credential(name), "{name}");
        }
    }

    #[test]
    fn lines_that_set_a_session_are_found() {
        for line in ["sid=x", "a=1&sid=x", "session: x", "{'auth': 'x'", "<a sid='x'/>"] {
            assert!(sets_session(line), "{line}");
        }
        for line in ["author=x", "sid=", "http://session:80/", "a session"] {
            assert!(!sets_session(line), "{line}");
        }
    }
}
