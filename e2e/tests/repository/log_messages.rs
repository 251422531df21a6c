//! The messages of both programs' log lines are constant, so that a log store groups by them. Values are fields.

use std::fs;
use std::path::{Path, PathBuf};

use crate::root;

/// The sources of the programs. The plugin prints its lines for a person.
const SOURCES: [&str; 6] =
    ["poller/src", "controller/src", "shared/api/src", "shared/kube/src", "shared/language/src", "shared/systems/src"];

/// Lines of debug builds that tests count.
const OF_TESTS: &str = "kill_point.rs";

fn sources(folder: &Path, found: &mut Vec<PathBuf>) {
    for entry in fs::read_dir(folder).unwrap() {
        let path = entry.unwrap().path();
        let is_source = path.extension().is_some_and(|ending| ending == "rs") && !path.ends_with(OF_TESTS);
        if path.is_dir() {
            sources(&path, found);
        } else if is_source {
            found.push(path);
        }
    }
}

/// The arguments of every macro of `tracing` that writes a line.
fn lines_of_log(text: &str) -> Vec<&str> {
    let calls = text.split("tracing::").skip(1).filter_map(|call| {
        let (name, arguments) = call.split_once("!(")?;
        let is_level = ["trace", "debug", "info", "warn", "error", "event", "$level"].contains(&name);
        is_level.then_some(arguments)
    });
    calls.map(|arguments| &arguments[..end(arguments)]).collect()
}

/// The place of the bracket that ends the arguments.
fn end(arguments: &str) -> usize {
    let (mut depth, mut in_text, mut is_escaped) = (0_u32, false, false);
    for (at, letter) in arguments.char_indices() {
        match letter {
            _ if is_escaped => is_escaped = false,
            '\\' if in_text => is_escaped = true,
            '"' => in_text = !in_text,
            _ if in_text => {}
            '(' => depth += 1,
            ')' if depth == 0 => return at,
            ')' => depth -= 1,
            _ => {}
        }
    }
    arguments.len()
}

/// Returns true if the last argument is a text without placeholders.
fn is_constant(arguments: &str) -> bool {
    let arguments = arguments.trim().trim_end_matches(',');
    let before = arguments.strip_suffix('"').and_then(|rest| rest.rsplit_once('"'));
    before.is_some_and(|(_, message)| !message.is_empty() && !message.contains(['{', '}']))
}

#[test]
fn every_message_of_the_log_is_constant() {
    let mut files = Vec::new();
    SOURCES.iter().for_each(|folder| sources(&root().join(folder), &mut files));
    let (mut count, mut wrong) = (0, Vec::new());
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let lines = lines_of_log(&text);
        count += lines.len();
        wrong.extend(lines.iter().filter(|line| !is_constant(line)).map(|line| format!("{}: {line}", file.display())));
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 80, "only {count} lines were found");
}

/// The sources of lines about single requests of corrections.
const REQUESTS: &str = "controller/src/run/requests";

/// The keys of a line that are names alone or have a value.
fn has_key(line: &str, key: &str) -> bool {
    let keys = line.split([',', '\n']).map(|part| part.split('=').next().unwrap().trim());
    keys.map(|part| part.trim_start_matches(['%', '?'])).any(|part| part == key)
}

#[test]
fn every_line_about_an_object_has_its_keys() {
    let mut files = Vec::new();
    SOURCES.iter().for_each(|folder| sources(&root().join(folder), &mut files));
    let (mut count, mut wrong) = (0, Vec::new());
    for file in &files {
        let text = fs::read_to_string(file).unwrap();
        let program = text.split("#[cfg(test)]").next().unwrap();
        let of_request = file.starts_with(root().join(REQUESTS));
        for line in lines_of_log(program).into_iter().filter(|line| of_request || has_key(line, "namespace")) {
            let needed: &[&str] = match of_request {
                true => &["target", "kind", "namespace", "name", "uid", "correction"],
                false => &["uid"],
            };
            let missing: Vec<_> = needed.iter().filter(|key| !has_key(line, key)).collect();
            let is_about_one = of_request || has_key(line, "name");
            count += usize::from(is_about_one);
            wrong.extend((is_about_one && !missing.is_empty()).then(|| format!("{}: {line}", file.display())));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(count > 20, "only {count} lines were found");
}

#[test]
fn a_message_with_a_value_is_found() {
    let text = "tracing::warn!(target, cause = f(\"x)\"), \"reads fail\");\n tracing::info!(\"{text}\");\n\
        tracing::debug!(a, \"not read: {error}\",);\n tracing::$level!(\n a,\n \"done\"\n)";
    let found: Vec<_> = lines_of_log(text).into_iter().map(is_constant).collect();
    assert_eq!(found, [true, false, false, true]);
}
