//! Words that only the cluster knows: kinds of targets, names of their objects, names of targets, and namespaces.

use std::collections::BTreeSet;
use std::time::Duration;

use clap::{Arg, Command};
use drift_api::object::SeenObject;
use drift_api::printable::is_printable;
use drift_kube::client::{CALL_DEADLINE, within};
use k8s_openapi::api::core::v1::Namespace;
use kube::api::ListParams;

use super::candidates::follow;
use crate::cluster::{TargetsSettings, block_on, is_selected};
use crate::ending::CommandError;
use crate::kinds::KindWord;
use crate::targets::collections::{Asked, list};
use crate::targets::session::Session;
use crate::targets::{KnownKind, known_kinds};

/// Time that a person waits for an answer to a press of the tab key.
const PATIENCE: Duration = Duration::from_secs(2);
/// Bound of the offered names: more do not fit on a screen.
const MOST_NAMES: usize = 500;

/// Commands whose words name a target.
const OF_TARGETS: [&str; 3] = ["suspend", "unsuspend", "forget"];
/// Commands whose words name objects.
const OF_OBJECTS: [&str; 9] = ["get", "explain", "approve", "pause", "resume", "poll", "retry", "give-up", "adopt"];

/// The words to ask the cluster for.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Sought {
    Targets,
    Namespaces,
    Kinds,
    /// Names of objects of this kind; true if each is written as KIND/NAME.
    Objects(String, bool),
}

/// The place to ask at, by the flags of the command line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Place {
    namespace: Option<String>,
    all_namespaces: bool,
}

/// Returns what the cluster has for the next word; nothing if it does not answer soon.
pub(super) fn cluster_words(command: &Command, words: &[String], begun: &str) -> Vec<String> {
    let Some(sought) = sought(command, words, begun) else { return Vec::new() };
    let (settings, place) = (settings(words, &sought), place(words));
    let asked = block_on(async {
        let asked = tokio::time::timeout(PATIENCE, ask(&settings, &sought, &place)).await;
        asked.unwrap_or_else(|_| Ok(BTreeSet::new()))
    });
    let safe =
        |word: &String| word.starts_with(begun) && word.chars().all(|letter| is_printable(letter) && letter != '\t');
    asked.unwrap_or_default().into_iter().filter(safe).take(MOST_NAMES).collect()
}

/// Returns what the next word may name; `None` if it is a flag, a flag's value, or another command's word.
fn sought(command: &Command, words: &[String], begun: &str) -> Option<Sought> {
    let (current, open) = follow(command, words);
    let name = current.get_name();
    if let Some(flag) = open {
        return sought_by_flag(flag);
    }
    if begun.starts_with('-') {
        return None;
    }
    let given = operands(command, words);
    if OF_TARGETS.contains(&name) {
        return given.is_empty().then_some(Sought::Targets);
    }
    if !OF_OBJECTS.contains(&name) {
        return None;
    }
    match (begun.split_once('/'), given.first()) {
        (Some((kind, _)), _) => Some(Sought::Objects(kind.to_owned(), true)),
        (None, None) => Some(Sought::Kinds),
        (None, Some(kind)) if !kind.contains('/') => Some(Sought::Objects(kind.clone(), false)),
        (None, Some(_)) => None,
    }
}

/// Returns what the value of a flag may name.
fn sought_by_flag(flag: &Arg) -> Option<Sought> {
    match flag.get_long()? {
        "namespace" | "targets-namespace" => Some(Sought::Namespaces),
        "target" => Some(Sought::Targets),
        _ => None,
    }
}

/// The words that are neither flags, nor their values, nor the command itself.
fn operands(command: &Command, words: &[String]) -> Vec<String> {
    let is_operand = |(place, word): &(usize, &String)| {
        let (_, open) = follow(command, &words[..*place]);
        open.is_none() && !word.starts_with('-')
    };
    words.iter().enumerate().filter(is_operand).map(|(_, word)| word.clone()).skip(1).collect()
}

/// The value of a flag among the words: `--name value`, `--name=value`, or `-n value`.
fn flag<'w>(words: &'w [String], names: &[&str]) -> Option<&'w str> {
    let valued = words.iter().zip(words.iter().skip(1)).filter(|(name, _)| names.contains(&name.as_str()));
    let joined = words.iter().filter_map(|word| word.split_once('=')).filter(|(name, _)| names.contains(name));
    valued.map(|(_, value)| value.as_str()).chain(joined.map(|(_, value)| value)).last()
}

fn place(words: &[String]) -> Place {
    let all_namespaces = words.iter().any(|word| word == "-A" || word == "--all-namespaces");
    Place { namespace: flag(words, &["-n", "--namespace"]).map(str::to_owned), all_namespaces }
}

fn settings(words: &[String], sought: &Sought) -> TargetsSettings {
    let mut settings = TargetsSettings::default();
    let home = match sought {
        Sought::Targets => flag(words, &["-n", "--namespace", "--targets-namespace"]),
        _ => flag(words, &["--targets-namespace"]),
    };
    if let Some(home) = home {
        home.clone_into(&mut settings.targets_namespace);
    }
    settings.cluster.kubeconfig = flag(words, &["--kubeconfig"]).map(Into::into);
    settings.cluster.context = flag(words, &["--context"]).map(str::to_owned);
    settings
}

async fn ask(settings: &TargetsSettings, sought: &Sought, place: &Place) -> Result<BTreeSet<String>, CommandError> {
    let session = Session::open(settings).await?;
    let client = &session.client;
    if *sought == Sought::Namespaces {
        return Ok(namespaces(client).await);
    }
    let live = session.live_targets().await?;
    let (kind, is_pair) = match sought {
        Sought::Namespaces => return Ok(BTreeSet::new()),
        Sought::Targets => return Ok(live.good.iter().map(|target| target.name.clone()).collect()),
        Sought::Kinds => {
            let (known, _) = known_kinds(client, &live).await?;
            return Ok(known.into_iter().map(|one| one.kind.resource.plural).collect());
        }
        Sought::Objects(kind, is_pair) => (kind, *is_pair),
    };
    let meant = KindWord::look_up(client, kind).await;
    let mut known = known_kinds(client, &live).await?.0;
    known.retain(|one| meant.means(&one.kind));
    let namespace = place.namespace.as_deref().unwrap_or_else(|| client.default_namespace());
    let namespace = (!place.all_namespaces).then_some(namespace);
    let listed = list(client, &known, &Asked { namespace, ..Asked::default() }).await;
    // Names of one collection are better than none.
    let objects = listed.iter().filter_map(|one| Some((&one.collection.of, one.objects.as_ref().ok()?)));
    let names = objects.flat_map(|(of, objects)| {
        let is_of = |seen: &SeenObject, number: &usize| {
            known.get(*number).is_some_and(|one: &KnownKind| is_selected(&one.objects, seen))
        };
        objects.iter().filter(move |seen| of.iter().any(|number| is_of(seen, number)))
    });
    let names = names.map(|seen| &seen.object.id.name);
    Ok(names.map(|name| if is_pair { format!("{kind}/{name}") } else { name.to_string() }).collect())
}

/// The names of all namespaces; none if the user may not list them.
async fn namespaces(client: &kube::Client) -> BTreeSet<String> {
    let api: kube::Api<Namespace> = kube::Api::all(client.clone());
    let listed = within(CALL_DEADLINE, api.list_metadata(&ListParams::default())).await;
    listed.into_iter().flatten().filter_map(|namespace| namespace.metadata.name).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::command_line::CommandLine;
    use clap::CommandFactory as _;

    fn words(text: &str) -> Vec<String> {
        text.split_whitespace().map(str::to_owned).collect()
    }

    #[test]
    fn the_cluster_is_asked_for_what_may_follow() {
        let mut command = CommandLine::command();
        command.build();
        let objects = |is_pair| Some(Sought::Objects("proxies".to_owned(), is_pair));
        for (text, begun, expected) in [
            ("get", "", Some(Sought::Kinds)),
            ("get -A -o json", "pro", Some(Sought::Kinds)),
            ("get -n team-a proxies", "", objects(false)),
            ("--log-level info explain", "proxies/", objects(true)),
            ("pause proxies/web", "proxies/c", objects(true)),
            ("pause proxies/web", "", None),
            ("suspend", "", Some(Sought::Targets)),
            ("suspend flags", "", None),
            ("suspend --targets-namespace drift", "", Some(Sought::Targets)),
            ("get", "--dri", None),
            ("get -n", "", Some(Sought::Namespaces)),
            ("get -A --target", "d", Some(Sought::Targets)),
            ("check --targets-namespace", "", Some(Sought::Namespaces)),
            ("suspend -n", "", Some(Sought::Namespaces)),
            ("get -o", "", None),
            ("check", "", None),
            ("", "", None),
        ] {
            assert_eq!(sought(&command, &words(text), begun), expected, "{text} {begun}");
        }
    }

    #[test]
    fn flags_say_where_to_ask() {
        let (text, kinds) =
            (words("get -n team-a --targets-namespace=drift --context b --kubeconfig k"), Sought::Kinds);
        assert_eq!(place(&text), Place { namespace: Some("team-a".to_owned()), all_namespaces: false });
        let given = settings(&text, &kinds);
        assert_eq!((given.targets_namespace.as_str(), given.cluster.context.as_deref()), ("drift", Some("b")));
        assert_eq!(given.cluster.kubeconfig, Some("k".into()));
        let none = settings(&words("get -A"), &kinds);
        assert_eq!((none.targets_namespace.as_str(), place(&words("get -A")).all_namespaces), ("drift-system", true));
        assert_eq!(settings(&words("suspend -n drift"), &Sought::Targets).targets_namespace, "drift");
    }
}
