//! Diagnostics of a configuration file: position, message, hint.

use std::fmt;
use std::ops::Range;
use std::sync::Arc;

use super::ConfigSource;

/// A byte range of the file.
pub type Span = Range<usize>;

/// Whether a diagnostic makes a file invalid.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The file is not used.
    Error,
    /// The file is used, but may not mean what its author thinks.
    Warning,
}

impl Severity {
    fn label(self) -> &'static str {
        match self {
            Self::Error => "error",
            Self::Warning => "warning",
        }
    }
}

/// One mistake or doubtful setting in a configuration file.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct Diagnostic {
    /// Whether it makes the file invalid.
    pub severity: Severity,
    /// Position in the file.
    pub span: Span,
    /// What is wrong, as one sentence without a full stop.
    pub message: String,
    /// How to fix it.
    pub hint: Option<String>,
}

impl Diagnostic {
    /// Creates an error; an empty hint means none.
    ///
    /// ```
    /// use majordomo_gateway::config::Diagnostic;
    ///
    /// let diagnostic = Diagnostic::at(0..6, "`colour` is no position", "did you mean `model`?");
    /// assert_eq!(diagnostic.hint.as_deref(), Some("did you mean `model`?"));
    /// ```
    pub fn at(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Self {
        let hint = hint.into();
        Self {
            severity: Severity::Error,
            span,
            message: message.into(),
            hint: (!hint.is_empty()).then_some(hint),
        }
    }

    /// Creates a warning, which leaves the file valid.
    ///
    /// ```
    /// use majordomo_gateway::config::{Diagnostic, Severity};
    ///
    /// let diagnostic = Diagnostic::warning(0..4, "`tier` has no effect", "remove it");
    /// assert_eq!(diagnostic.severity, Severity::Warning);
    /// ```
    pub fn warning(span: Span, message: impl Into<String>, hint: impl Into<String>) -> Self {
        Self {
            severity: Severity::Warning,
            ..Self::at(span, message, hint)
        }
    }
}

/// All diagnostics of one file, in file order.
///
/// `Display` prints each with its line and a marker below it. Secrets are masked.
#[derive(Clone, Debug)]
pub struct Diagnostics {
    source: Arc<ConfigSource>,
    list: Vec<Diagnostic>,
}

impl Diagnostics {
    /// Creates the diagnostics of a file, with its secrets masked.
    pub fn new(source: Arc<ConfigSource>, mut list: Vec<Diagnostic>) -> Self {
        for problem in &mut list {
            problem.message = source.scrubbed(&problem.message);
            problem.hint = problem.hint.take().map(|hint| source.scrubbed(&hint));
        }
        list.sort_by_key(|problem| (problem.span.start, problem.span.end));
        list.dedup();
        Self { source, list }
    }

    /// The diagnostics, in file order.
    pub fn list(&self) -> &[Diagnostic] {
        &self.list
    }

    /// The file they belong to.
    pub fn source(&self) -> &ConfigSource {
        &self.source
    }

    /// Line and column of a diagnostic, both counted from 1.
    pub fn place(&self, problem: &Diagnostic) -> (usize, usize) {
        let line = self.source.line_at(problem.span.start);
        (line.number, line.column)
    }

    fn write(&self, problem: &Diagnostic, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let name = self.source.name();
        writeln!(f, "{}: {}", problem.severity.label(), problem.message)?;
        if self.source.is_missing() {
            writeln!(f, "  --> {name}")?;
        } else {
            let line = self.source.line_at(problem.span.start);
            let marks = line.marks(&problem.span);
            let number = line.number.to_string();
            let margin = " ".repeat(number.len());
            writeln!(f, "{margin}--> {name}:{}:{}", line.number, line.column)?;
            writeln!(f, "{margin} |")?;
            writeln!(f, "{number} | {}", line.text)?;
            let indent = line.indent();
            writeln!(f, "{margin} | {indent}{}", "^".repeat(marks))?;
        }
        match &problem.hint {
            Some(hint) => writeln!(f, "  hint: {hint}"),
            None => Ok(()),
        }
    }
}

impl fmt::Display for Diagnostics {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (at, problem) in self.list.iter().enumerate() {
            if at > 0 {
                writeln!(f)?;
            }
            self.write(problem, f)?;
        }
        Ok(())
    }
}

impl std::error::Error for Diagnostics {}
