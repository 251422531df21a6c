//! `explain --answer`: targets, objects and answers that all stand in files.

use super::{ended, run_in};

#[test]
fn answers_are_tried_without_a_cluster() {
    let folder = tempfile::tempdir().unwrap();
    let write = |name: &str, text: &str| std::fs::write(folder.path().join(name), text).unwrap();
    let target = |read: &str| {
        format!(
            "apiVersion: driftpoller.dev/v1alpha1\nkind: PollTarget\nmetadata: {{name: records}}\nspec:\n  \
             objects: {{apiVersion: dns.example/v1, kind: Record}}\n  identity: \"${{self.spec.name}}\"\n  \
             read: {{http: {{{read}}}}}\n  compare: {{desired: {{ttl: \"${{self.spec.ttl}}\"}}}}\n---\n\
             apiVersion: dns.example/v1\nkind: Record\nmetadata: {{name: www, namespace: team-a}}\nspec: {{name: www, ttl: 300}}\n"
        )
    };
    write("one.yaml", &target("url: \"https://dns.example/${self.spec.name}\""));
    let pages = "url: https://dns.example/all, each: \"${response.body.items}\", next: \"${response.body.?next}\", \
                 key: {item: \"${item.name}\"}, observed: \"${item}\"";
    write("all.yaml", &target(pages));
    write("same.json", r#"{"ttl": 300}"#);
    write("other.json", r#"{"ttl": 60}"#);
    write("none.json", r#"{"error": "no such record"}"#);
    write("first.json", r#"{"items": [{"name": "mail", "ttl": 5}], "next": "/all?page=2"}"#);
    write("last.json", r#"{"items": [{"name": "www", "ttl": 60}]}"#);
    let table: [(&str, &[&str], i32, &str); 11] = [
        ("one.yaml", &["same.json"], 0, "driftObserved False/InSync"),
        ("one.yaml", &["200=other.json"], 1, "/ttl desired 300, observed 60"),
        ("one.yaml", &["404=none.json"], 1, "driftObserved True/NotCreated"),
        ("one.yaml", &["none.json"], 2, "none of desired's fields"),
        ("one.yaml", &["503=none.json"], 2, "Unknown/ExternalError"),
        ("all.yaml", &["first.json", "last.json"], 1, "/ttl desired 300, observed 60"),
        ("all.yaml", &["first.json"], 3, "the read goes on with GET https://dns.example/all?page=2"),
        ("one.yaml", &["same.json", "other.json"], 3, "the read ended after 1 answer, and 2 were given"),
        ("all.yaml", &["first.json", "last.json", "same.json"], 3, "the read ended after 2 answers, and 3 were given"),
        ("all.yaml", &["503=none.json", "last.json"], 2, "Unknown/ExternalError"),
        ("one.yaml", &["missing.json"], 3, "missing.json: "),
    ];
    for (file, answers, expected, text) in table {
        let answers: Vec<&str> = answers.iter().flat_map(|answer| ["--answer", answer]).collect();
        let (code, printed, said) =
            ended(run_in(folder.path(), &[&["explain", "record/www", "-f", file], &*answers].concat(), ""));
        assert!(code == expected && format!("{printed}{said}").contains(text), "{answers:?} {code}: {printed}{said}");
    }
    let (code, _, said) =
        ended(run_in(folder.path(), &["explain", "record/other", "-f", "one.yaml", "--answer", "same.json"], ""));
    assert!(code == 3 && said.contains("no manifest of Record other"), "{said}");
}
