//! Common mistakes in target documents, and what `kubectl drift check` says of them.

use std::path::Path;

use super::{ended, run_in};

const TARGET: &str = "apiVersion: driftpoller.dev/v1alpha1
kind: PollTarget
metadata:
  name: flags
spec:
  objects: {apiVersion: flags.example/v1, kind: Flag}
  identity: \"${self.spec.name}\"
  interval: 30s
  read:
    http:
      url: \"https://flags.example/flags/${self.spec.name}\"
      auth: {bearer: {secretRef: {name: reader, key: token}}}
  compare:
    desired:
      percent: \"${self.spec.percent}\"
";

/// The exit code, and what is said of a text on standard input.
fn checked(text: &str) -> (i32, String) {
    let (code, _, said) = ended(run_in(Path::new("."), &["check", "-"], text));
    (code, said)
}

#[test]
fn common_mistakes_come_with_their_remedy() {
    let indented = TARGET.replace("  compare:", "    compare:").replace("    desired:", "      desired:");
    let indented = indented.replace("      percent", "        percent");
    let (in_compare, above) = ("    correct: {mode: Correct}\n", "indent it one level less");
    for (text, expected) in [
        (indented, format!("unknown key `compare` in read: it belongs to spec; {above}")),
        (format!("{TARGET}{in_compare}"), format!("unknown key `correct` in compare: it belongs to spec; {above}")),
        (
            TARGET.replace("percent}", "percent.orDefault(3)}"),
            "unknown function `orDefault`: did you mean `orValue`?".to_owned(),
        ),
    ] {
        let (code, said) = checked(&text);
        assert!(code == 3 && said.contains(&expected), "{expected}: {code} {said}");
    }
}

#[test]
fn a_token_in_clear_is_not_printed() {
    let reference = "{bearer: {secretRef: {name: reader, key: token}}}";
    for (written, expected) in [
        ("{bearer: {token: hunter2}}", "{bearer: {token: (redacted)}}"),
        ("{bearer: hunter2}", "{bearer: (redacted)}"),
        ("{basic: {password: hunter2}}", "{basic: {password: (redacted)}}"),
    ] {
        let (code, said) = checked(&TARGET.replace(reference, written));
        assert!(code == 3 && said.contains(expected) && !said.contains("hunter2"), "{written}: {code} {said}");
    }
}

#[test]
fn a_missing_label_is_told_where_it_belongs() {
    let inside: String = TARGET.lines().map(|line| format!("    {line}\n")).collect();
    for (labels, code, expected) in [
        ("", 0, ["warning: ConfigMap drift-targets holds a target and lacks the label", "--> stdin:5:1"]),
        (
            "  labels:\n    driftpoller.dev/targets: true\n",
            3,
            ["error: the API server refuses ConfigMap drift-targets: a label is a text", "--> stdin:8:30"],
        ),
        ("  labels:\n    driftpoller.dev/targets: \"yes\"\n", 0, ["lacks the label", "--> stdin:8:5"]),
    ] {
        let head = "apiVersion: v1\nkind: Service\n---\nkind: ConfigMap\nmetadata:\n  name: drift-targets\n";
        let (ended, said) = checked(&format!("{head}{labels}data:\n  flags.yaml: |\n{inside}"));
        assert!(ended == code && expected.iter().all(|text| said.contains(text)), "{labels}: {ended} {said}");
    }
}
