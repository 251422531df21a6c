//! Output of the demonstration: a time beside each step, and colours on a terminal only.

use std::cell::{Cell, RefCell};
use std::io::Write as _;
use std::path::Path;
use std::time::Instant;

use anstyle::{AnsiColor, Style};
use anyhow::Result;

const TIME: Style = Style::new().dimmed();
const STEP: Style = Style::new().bold();
const COMMAND: Style = AnsiColor::Cyan.on_default();
const DRIFTED: Style = AnsiColor::Yellow.on_default().bold();
const WELL: Style = AnsiColor::Green.on_default().bold();
const BAD: Style = AnsiColor::Red.on_default().bold();

/// The width of the time column, which aligns the lines below a step with its text.
const MARGIN: &str = "           ";

/// Standard output with a clock.
#[derive(Debug)]
pub(super) struct Terminal {
    /// The begin of the story; `None` while the set is prepared, which takes minutes the first time.
    began: Cell<Option<Instant>>,
    step: RefCell<String>,
}

impl Terminal {
    /// A terminal whose clock stands still.
    pub(super) fn new() -> Self {
        Self { began: Cell::default(), step: RefCell::default() }
    }

    /// Starts the clock: the story begins.
    pub(super) fn start_clock(&self) {
        self.began.set(Some(Instant::now()));
    }

    /// Begins a step. A failure is reported under its name.
    pub(super) fn step(&self, name: &str) -> Result<()> {
        self.step.replace(name.to_owned());
        self.line(&format!("\n{} {STEP}{name}{STEP:#}", self.time()))
    }

    /// Prints an event with its time.
    pub(super) fn say(&self, text: &str) -> Result<()> {
        self.line(&format!("{} {text}", self.time()))
    }

    /// Prints a success with its time.
    pub(super) fn well(&self, text: &str) -> Result<()> {
        self.line(&format!("{} {WELL}{text}{WELL:#}", self.time()))
    }

    /// Prints the executed command as a user would type it.
    pub(super) fn command(&self, text: &str) -> Result<()> {
        self.line(&format!("{MARGIN}{COMMAND}$ {text}{COMMAND:#}"))
    }

    /// Prints a program's output and highlights drift.
    pub(super) fn note(&self, text: &str) -> Result<()> {
        for line in text.lines() {
            let drifted =
                ["status: \"True\"", "type: driftObserved", "reason: FieldsDiffer", "fields differ", "field differs"];
            match drifted.iter().any(|mark| line.contains(mark)) {
                true => self.line(&format!("{MARGIN}{DRIFTED}{line}{DRIFTED:#}"))?,
                false => self.line(&format!("{MARGIN}{line}"))?,
            }
        }
        Ok(())
    }

    /// Reports the failed step of a demonstration.
    pub(super) fn failed(&self, error: &anyhow::Error, logs: &Path) -> Result<()> {
        self.line(&format!("\n{} {BAD}this step failed: {}{BAD:#}", self.time(), self.step.borrow()))?;
        self.note(&format!("{error:#}"))?;
        self.note(&format!("all logs: {}", logs.display()))
    }

    fn time(&self) -> String {
        match self.began.get() {
            Some(began) => format!("{TIME}[{:>6.2} s]{TIME:#}", began.elapsed().as_secs_f64()),
            None => " ".repeat(MARGIN.len() - 1),
        }
    }

    fn line(&self, text: &str) -> Result<()> {
        // Strips the colours for a pipe, a file or NO_COLOR.
        Ok(writeln!(anstream::stdout().lock(), "{text}")?)
    }
}
