//! The doctor's findings.

use std::fmt;

use anstyle::{AnsiColor, Style};
use serde_json::{Value, json};

/// One subject and its state.
#[derive(Clone, Debug)]
pub(super) struct Finding {
    state: State,
    subject: String,
    text: String,
    remedy: Option<String>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    Ok,
    Skipped,
    Warning,
    Broken,
}

impl State {
    const fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Skipped => "skipped",
            Self::Warning => "warning",
            Self::Broken => "broken",
        }
    }

    const fn style(self) -> Style {
        match self {
            Self::Ok => AnsiColor::Green.on_default(),
            Self::Skipped => Style::new().dimmed(),
            Self::Warning => AnsiColor::Yellow.on_default().bold(),
            Self::Broken => AnsiColor::Red.on_default().bold(),
        }
    }
}

impl Finding {
    pub(super) fn json(&self) -> Value {
        json!({
            "state": self.state.name(),
            "subject": self.subject,
            "text": self.text,
            "remedy": self.remedy,
        })
    }
}

/// All findings, in the order of the checks.
#[derive(Debug, Default)]
pub(super) struct Findings(Vec<Finding>);

impl Findings {
    pub(super) fn ok(&mut self, subject: &str, text: impl Into<String>) {
        self.add(State::Ok, subject, text.into(), None);
    }

    pub(super) fn skip(&mut self, subject: &str, text: impl Into<String>) {
        self.add(State::Skipped, subject, text.into(), None);
    }

    pub(super) fn warn(
        &mut self,
        subject: &str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(State::Warning, subject, text.into(), Some(remedy.into()));
    }

    pub(super) fn broken(
        &mut self,
        subject: &str,
        text: impl Into<String>,
        remedy: impl Into<String>,
    ) {
        self.add(State::Broken, subject, text.into(), Some(remedy.into()));
    }

    fn add(&mut self, state: State, subject: &str, text: String, remedy: Option<String>) {
        self.0.push(Finding {
            state,
            subject: subject.to_owned(),
            text: text.trim_end().to_owned(),
            remedy,
        });
    }

    pub(super) fn extend(&mut self, others: Self) {
        self.0.extend(others.0);
    }

    pub(super) fn list(&self) -> &[Finding] {
        &self.0
    }

    pub(super) fn broken_count(&self) -> usize {
        self.count(State::Broken)
    }

    fn count(&self, state: State) -> usize {
        self.0
            .iter()
            .filter(|finding| finding.state == state)
            .count()
    }
}

impl fmt::Display for Findings {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let width = self
            .0
            .iter()
            .map(|finding| finding.subject.chars().count())
            .max();
        let width = width.unwrap_or_default();
        for finding in &self.0 {
            let style = finding.state.style();
            let mut lines = finding.text.lines();
            let first = lines.next().unwrap_or_default();
            let (state, subject) = (finding.state.name(), &finding.subject);
            writeln!(f, "{style}{state:<7}{style:#}  {subject:<width$}  {first}")?;
            let indent = " ".repeat(width + 11);
            for line in lines {
                writeln!(f, "{indent}{line}")?;
            }
            if let Some(remedy) = &finding.remedy {
                writeln!(f, "{indent}→ {remedy}")?;
            }
        }
        match (self.count(State::Broken), self.count(State::Warning)) {
            (0, 0) => writeln!(f, "nothing is wrong"),
            (broken, warnings) => writeln!(f, "{broken} broken, {warnings} to look at"),
        }
    }
}
