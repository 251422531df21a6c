//! Secrets in the tags and elements of XML and HTML.

use drift_api::secrets::secret_texts::REDACTED;
use drift_api::secrets::session_names::names_credential;

/// Replaces the content of XML elements whose names look like a secret's.
pub(super) fn without_secret_elements(text: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('<') {
        shown.push_str(before);
        shown.push('<');
        let name =
            after.split(|letter: char| letter.is_whitespace() || "/>".contains(letter)).next().unwrap_or_default();
        let Some((tag, content)) = after.split_once('>').filter(|_| names_credential(name)) else {
            rest = after;
            continue;
        };
        shown.push_str(&format!("{tag}>"));
        rest = content;
        if !tag.ends_with('/') {
            shown.push_str(REDACTED);
            rest = content
                .split_once(&format!("</{name}"))
                .map_or("", |(_, end)| &content[content.len() - end.len() - name.len() - 2..]);
        }
    }
    shown.push_str(rest);
    shown
}

/// The text with the tags of HTML as their names alone: attributes may hold the token of a form.
pub(super) fn without_attributes(text: &str) -> String {
    let (mut shown, mut rest) = (String::with_capacity(text.len()), text);
    while let Some((before, after)) = rest.split_once('<') {
        let (tag, behind) = after.split_once('>').unwrap_or((after, ""));
        let name = tag.split(char::is_whitespace).next().unwrap_or_default();
        shown.push_str(before);
        shown.push_str(&format!("<{name}>"));
        rest = behind;
    }
    shown.push_str(rest);
    shown
}
