//! The files in .github parse, and the workflows call scripts that exist and actions of a stated version.

use std::fs;
use std::path::PathBuf;

use serde_json::Value;

use crate::root;

/// The YAML files below .github.
fn files() -> Vec<(PathBuf, Value)> {
    let (mut folders, mut files) = (vec![root().join(".github")], Vec::new());
    while let Some(folder) = folders.pop() {
        for path in fs::read_dir(folder).unwrap().map(|entry| entry.unwrap().path()) {
            if path.is_dir() {
                folders.push(path);
            } else if path.extension().is_some_and(|extension| extension == "yaml" || extension == "yml") {
                let parsed = serde_saphyr::from_str(&fs::read_to_string(&path).unwrap());
                files.push((path.clone(), parsed.unwrap_or_else(|error| panic!("{}: {error}", path.display()))));
            }
        }
    }
    files
}

#[test]
fn workflows_call_scripts_and_versions_that_exist() {
    let mut scripts = Vec::new();
    for (path, workflow) in files() {
        for job in workflow["jobs"].as_object().into_iter().flat_map(|jobs| jobs.values()) {
            for step in job["steps"].as_array().unwrap() {
                let (run, uses) = (step["run"].as_str(), step["uses"].as_str());
                assert!(run.is_some() != uses.is_some(), "{}: {step}", path.display());
                let version = uses.and_then(|uses| uses.split_once("@v")).map(|(_, version)| version);
                let is_version = |version: &str| version.starts_with(|first: char| first.is_ascii_digit());
                assert!(uses.is_none() || version.is_some_and(is_version), "{}: {step}", path.display());
                let words = run.unwrap_or_default().split_whitespace();
                scripts.extend(words.filter(|word| word.starts_with(".ci/")).map(str::to_owned));
            }
        }
    }
    scripts.sort();
    assert_eq!(scripts, [".ci/release", ".ci/run"]);
    assert!(scripts.iter().all(|script| root().join(script).exists()));
}

#[test]
fn dependabot_looks_at_folders_that_exist() {
    let files = files();
    let (_, settings) = files.iter().find(|(path, _)| path.ends_with("dependabot.yml")).unwrap();
    for update in settings["updates"].as_array().unwrap() {
        let several = update["directories"].as_array().cloned().unwrap_or_else(|| vec![update["directory"].clone()]);
        let file = match update["package-ecosystem"].as_str().unwrap() {
            "cargo" => "Cargo.toml",
            "docker" => "Dockerfile.poller",
            "gomod" => "go.mod",
            _ => ".github/workflows",
        };
        for folder in several {
            let path = root().join(folder.as_str().unwrap().trim_start_matches('/')).join(file);
            assert!(path.exists(), "{}", path.display());
        }
    }
}
