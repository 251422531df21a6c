//! The versions of Kubernetes that the tests run on, each pinned by a go.mod.

use anyhow::{Context, Result, bail};

use super::{Tool, build};

/// The environment variable that chooses the version.
const VARIABLE: &str = "E2E_KUBERNETES";

/// A version of Kubernetes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kubernetes {
    /// The lowest supported one, with an API server and a kubectl of its own.
    Oldest,
    /// The one of all tests. The other versions use its other programs.
    Usual,
    /// The newest one, with an API server and a kubectl of its own.
    Newest,
}

impl Kubernetes {
    /// Every version, the oldest first.
    pub const ALL: [Self; 3] = [Self::Oldest, Self::Usual, Self::Newest];

    /// Returns the version that `E2E_KUBERNETES` names. Without it, the one of all tests.
    ///
    /// # Errors
    /// Fails if it names another one.
    pub fn chosen() -> Result<Self> {
        let Some(wanted) = std::env::var_os(VARIABLE).filter(|wanted| !wanted.is_empty()) else {
            return Ok(Self::Usual);
        };
        let wanted = wanted.to_string_lossy();
        let mut known = Vec::new();
        for version in Self::ALL {
            let minor = version.minor()?;
            if *wanted == *minor {
                return Ok(version);
            }
            known.push(minor);
        }
        bail!("{VARIABLE} is {wanted}; known: {}", known.join(", "))
    }

    /// Returns the version that a tool is built from.
    pub(super) const fn of_tool(self, tool: Tool) -> Self {
        if matches!(tool, Tool::ApiServer | Tool::Kubectl) { self } else { Self::Usual }
    }

    /// Returns the folder with go.mod and go.sum.
    pub(super) const fn module(self) -> &'static str {
        match self {
            Self::Oldest => "control-plane-1.33",
            Self::Usual => "control-plane",
            Self::Newest => "control-plane-1.37",
        }
    }

    /// Returns the version that go.mod pins, as `v1.36.3`.
    ///
    /// # Errors
    /// Fails if go.mod pins none.
    pub fn version(self) -> Result<String> {
        let file = build::folder(self.module()).join("go.mod");
        let path = file.display();
        let text = std::fs::read_to_string(&file).with_context(|| format!("reading {path}"))?;
        let pinned =
            text.lines().find_map(|line| line.trim().trim_start_matches("require ").strip_prefix("k8s.io/kubernetes "));
        let version = pinned.and_then(|pinned| pinned.split(' ').next());
        Ok(version.with_context(|| format!("{path} pins no k8s.io/kubernetes"))?.to_owned())
    }

    /// Returns the version without its patch, as `1.36`.
    ///
    /// # Errors
    /// Fails if go.mod pins none.
    pub fn minor(self) -> Result<String> {
        let version = self.version()?;
        let minor = version.trim_start_matches('v').rsplit_once('.').map(|(minor, _)| minor.to_owned());
        minor.with_context(|| format!("{version} is no version"))
    }

    /// Returns the linker's flags for the version that the programs report. Without it they report v0.0.0 and refuse
    /// clients.
    pub(super) fn stamps(self) -> Result<String> {
        const PACKAGE: &str = "k8s.io/component-base/version";
        let (version, minor) = (self.version()?, self.minor()?);
        let (major, minor) = minor.split_once('.').with_context(|| format!("{minor} is no version"))?;
        Ok(format!(
            "-s -w -X {PACKAGE}.gitVersion={version} -X {PACKAGE}.gitMajor={major} -X {PACKAGE}.gitMinor={minor}"
        ))
    }
}
