//! `drift-poller get`: the objects of all targets and what stands on them, from their conditions alone.
//!
//! Thin: rows are made in the core. Nothing is polled; it must not know how.

use std::io::Write as _;
use std::process::ExitCode;

use clap::builder::styling::{AnsiColor, Style};
use drift_cluster::kinds::ResolvedKind;
use drift_cluster::process::clock;
use drift_model::field_paths::FieldPaths;
use drift_target::{Target, to_yaml};
use serde_json::{Value, json};

use crate::commands::cluster::{PlaceSettings, TargetsSettings, block_on, connect, each_object, kind_of, live_targets};
use crate::commands::ending::{CANNOT_TELL, CommandError, DRIFTED};
use crate::commands::kinds::KindWord;
use crate::commands::table::table;
use crate::core::listing::{Row, Summary, Wanted, arrange, heads, summarise};

/// Shown at the end of `--help`.
const EXAMPLES: &str = "Examples:
  drift-poller get -A                     every object of every target
  drift-poller get proxies -n team-a --drifted
  drift-poller get -A -o json | jq '.items[] | select(.paused)'

Exit codes, of what is listed: 0 all in sync, 1 something drifted, 2 cannot tell, 3 bad usage";

/// The column that says whether an object drifted.
const DRIFT_COLUMN: usize = 2;

/// Which objects, and how to say what stands on them.
#[derive(Clone, Debug, clap::Args)]
#[command(after_help = EXAMPLES)]
pub(crate) struct GetSettings {
    /// Only objects of this kind: named as for kubectl, by its kind, plural or short name, with or without .GROUP
    kind: Option<String>,
    #[command(flatten)]
    place: PlaceSettings,
    /// Objects of all namespaces
    #[arg(long, short = 'A', conflicts_with = "namespace")]
    all_namespaces: bool,
    #[command(flatten)]
    targets: TargetsSettings,
    /// Only objects that drifted
    #[arg(long)]
    drifted: bool,
    /// Only objects of which nothing can be said
    #[arg(long)]
    unknown: bool,
    /// How the objects are told
    #[arg(long, short, value_enum, default_value_t)]
    output: GetOutput,
}

/// How objects are told.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, clap::ValueEnum)]
enum GetOutput {
    /// A table
    #[default]
    Table,
    /// A table with the target and the message too
    Wide,
    /// A JSON object whose `items` has an entry for each
    Json,
    /// The same as YAML
    Yaml,
}

/// Lists what stands on the objects.
///
/// # Errors
/// When the targets cannot be read, the kind is nobody's, or nobody takes what is printed.
pub(crate) fn run(settings: &GetSettings) -> Result<ExitCode, CommandError> {
    block_on(async {
        let client = connect(&settings.targets.cluster).await?;
        // A document that is wrong, and a kind that cannot be listed, are said, and make the whole uncertain.
        let (targets, mut whole) = live_targets(&client, &settings.targets.targets_namespace).await?;
        let mut known = Vec::new();
        for target in &targets {
            match kind_of(&client, target).await {
                Ok(kind) => known.push((target, kind)),
                Err(error) => {
                    tracing::warn!("target {}: {error}", target.name);
                    whole = false;
                }
            }
        }
        let meant = match &settings.kind {
            Some(word) => Some(KindWord::look_up(&client, word).await),
            None => None,
        };
        let named = |kind: &ResolvedKind| meant.as_ref().is_none_or(|meant| meant.means(kind));
        if !known.iter().any(|(_, kind)| named(kind)) && whole {
            let kinds: Vec<_> = known.iter().map(|(_, kind)| kind.resource.plural.as_str()).collect();
            let word = settings.kind.as_deref().unwrap_or_default();
            let message = format!("no target is about {word}; there are targets about {}", kinds.join(", "));
            return Err(CommandError::BadUsage(message));
        }
        let mut rows = Vec::new();
        for (target, kind) in known.iter().filter(|(_, kind)| named(kind)) {
            whole &= add_rows(&client, settings, (target, kind), &mut rows).await;
        }
        let rows = arrange(rows, Wanted { drifted: settings.drifted, unknown: settings.unknown });
        if rows.is_empty() {
            let place = if settings.all_namespaces { "any namespace" } else { settings.place.namespace(&client) };
            writeln!(anstream::stderr(), "no objects found in {place} (-A takes all namespaces)")?;
        }
        print(&rows, settings.output)?;
        Ok(match summarise(&rows) {
            Summary::Drifted => ExitCode::from(DRIFTED),
            Summary::InSync if whole => ExitCode::SUCCESS,
            Summary::InSync | Summary::CannotTell => ExitCode::from(CANNOT_TELL),
        })
    })
}

/// Adds the rows of one target; gives whether all its objects were seen.
async fn add_rows(
    client: &kube::Client,
    settings: &GetSettings,
    (target, kind): (&Target, &ResolvedKind),
    rows: &mut Vec<Row>,
) -> bool {
    let namespace = (!settings.all_namespaces).then(|| settings.place.namespace(client));
    let place = (namespace, FieldPaths::default());
    let listed = each_object(client, (target, kind), place, |object| rows.push(Row::of(target, &object))).await;
    if let Err(error) = &listed {
        tracing::warn!("the {} of target {} cannot be listed: {error}", kind.resource.plural, target.name);
    }
    listed.is_ok()
}

fn print(rows: &[Row], output: GetOutput) -> Result<(), CommandError> {
    let items = || json!({"items": rows.iter().map(Row::json).collect::<Vec<Value>>()});
    match output {
        GetOutput::Table | GetOutput::Wide if rows.is_empty() => {}
        GetOutput::Table | GetOutput::Wide => {
            let wide = output == GetOutput::Wide;
            let cells: Vec<_> = rows.iter().map(|row| row.cells(clock::wall(), wide)).collect();
            // It takes the colours out where no terminal shows them, or NO_COLOR is set.
            anstream::stdout().write_all(table(&heads(wide), &cells, paint).as_bytes())?;
        }
        GetOutput::Json => writeln!(anstream::stdout(), "{:#}", items())?,
        GetOutput::Yaml => anstream::stdout().write_all(to_yaml(&items()).as_bytes())?,
    }
    Ok(())
}

/// What drifted is red and what cannot be told yellow; in sync needs nobody's eye.
fn paint(_row: usize, column: usize, cell: String) -> String {
    let colour = match cell.trim_end() {
        "True" => AnsiColor::Red,
        "Unknown" | "-" => AnsiColor::Yellow,
        _ => return cell,
    };
    let style: Style = colour.on_default();
    if column == DRIFT_COLUMN { format!("{style}{cell}{style:#}") } else { cell }
}
