//! Imports the configuration of another gateway: text in, TOML and a report out.
//!
//! | module | content |
//! |---|---|
//! | `tree` | YAML and JSON as one bounded tree |
//! | `source` | a cursor over the tree that accounts for every field |
//! | `report` | the outcome of each field |
//! | `secret` | references to variables, and literal secrets that become references |
//! | `credentials` | keys, headers and windows of budgets, which all formats have |
//! | `built_in` | the properties of majordomo's own providers |
//! | `draft`, `write` | majordomo's configuration, and its text |
//! | `litellm`, `claude_code_router`, `bifrost` | one format each |
//!
//! Every scalar of the input is mapped, approximated with a note, or reported as not imported:
//! the final sweep of `source` reports every field that a format's code does not mention. No
//! secret of the input is in the output. Does no I/O and uses no other crate of the workspace;
//! the command's tests validate the output.

mod bifrost;
mod built_in;
mod claude_code_router;
mod credentials;
mod draft;
mod litellm;
mod report;
mod secret;
mod source;
mod tree;
mod write;

use std::fmt;

pub use report::{FieldOutcome, FieldReport, ImportReport};

use draft::Draft;
use source::Source;
use tree::Node;

/// A format that can be imported.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ImportFormat {
    /// LiteLLM's `config.yaml`.
    LiteLlm,
    /// claude-code-router's `config.json`.
    ClaudeCodeRouter,
    /// Bifrost's `config.json`.
    Bifrost,
}

impl ImportFormat {
    /// The product's name.
    pub const fn name(self) -> &'static str {
        match self {
            Self::LiteLlm => "LiteLLM",
            Self::ClaudeCodeRouter => "claude-code-router",
            Self::Bifrost => "Bifrost",
        }
    }

    /// Recognizes a format by its top-level keys.
    fn detect(root: &Node) -> Option<Self> {
        let has = |key: &str| root.get(key).is_some();
        if litellm::SECTIONS.iter().any(|key| has(key)) {
            Some(Self::LiteLlm)
        } else if has("Providers") || has("Router") {
            Some(Self::ClaudeCodeRouter)
        } else if bifrost::is_its_own(root) {
            Some(Self::Bifrost)
        } else {
            None
        }
    }
}

/// The built-in providers that the importer knows: name, kind, address unless it is the
/// kind's own, and usual variable.
pub const BUILT_IN: &[(&str, &str, Option<&str>, Option<&str>)] = &built_in::BUILT_IN;

/// An imported configuration.
#[derive(Clone, Debug)]
#[non_exhaustive]
pub struct Imported {
    /// The format of the input.
    pub format: ImportFormat,
    /// A configuration of majordomo, with comments.
    pub toml: String,
    /// The outcome of every field.
    pub report: ImportReport,
}

/// Why a text cannot be imported; never quotes it.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum ImportError {
    /// Neither YAML nor JSON.
    Syntax {
        /// What the parser expected.
        reason: String,
        /// The line, from 1; 0 if unknown.
        line: usize,
    },
    /// Larger, deeper or more repetitive than a configuration can be.
    TooLarge,
    /// Not a known format.
    UnknownFormat,
}

impl fmt::Display for ImportError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Syntax { reason, line: 0 } => write!(f, "it is neither YAML nor JSON: {reason}"),
            Self::Syntax { reason, line } => {
                write!(f, "line {line} is neither YAML nor JSON: {reason}")
            }
            Self::TooLarge => {
                f.write_str("it is too large for a configuration, or its aliases repeat too much")
            }
            Self::UnknownFormat => f.write_str(
                "it is not a configuration of LiteLLM (`model_list`), claude-code-router \
                 (`Providers`) or Bifrost (`providers`)",
            ),
        }
    }
}

impl std::error::Error for ImportError {}

/// Imports a configuration.
///
/// ```
/// let yaml = "model_list:\n  - model_name: fast\n    litellm_params:\n      model: groq/llama-4-scout\n";
/// let imported = majordomo_import::import(yaml).unwrap();
/// assert!(imported.toml.contains("services = [ { spec = \"groq/llama-4-scout\" } ]"));
/// ```
///
/// # Errors
///
/// Fails if the text is neither YAML nor JSON, has no known format, or is too large.
pub fn import(text: &str) -> Result<Imported, ImportError> {
    let root = tree::parse(text)?;
    let format = ImportFormat::detect(&root).ok_or(ImportError::UnknownFormat)?;
    let source = Source::new(&root);
    let mut draft = Draft::new(&root);
    match format {
        ImportFormat::LiteLlm => litellm::import(&source, &mut draft),
        ImportFormat::ClaudeCodeRouter => claude_code_router::import(&source, &mut draft),
        ImportFormat::Bifrost => bifrost::import(&source, &mut draft),
    }
    let report = source.finish(&draft);
    let toml = write::write(format, &draft, &report);
    Ok(Imported {
        format,
        toml,
        report,
    })
}
