//! Terminal output: errors, notes and tables. `anstream` strips colors for anything but a
//! terminal.

use std::io::Write;

use anstyle::{AnsiColor, Style};

use crate::error::CliError;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const WARNING: Style = AnsiColor::Yellow.on_default().bold();
const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();

/// Prints why the command failed.
pub(crate) fn error(text: &str) {
    // Without stderr the exit code still reports it.
    let _ = writeln!(anstream::stderr(), "{ERROR}error{ERROR:#}: {text}");
}

/// Prints the diagnostics of a file, each of which starts with `error:` or `warning:`.
pub(crate) fn diagnostics(problems: &str) {
    let mut stderr = anstream::stderr();
    for line in problems.lines() {
        let written = match line.split_once(": ") {
            Some(("error", text)) => writeln!(stderr, "{ERROR}error{ERROR:#}: {text}"),
            Some(("warning", text)) => writeln!(stderr, "{WARNING}warning{WARNING:#}: {text}"),
            _ => writeln!(stderr, "{line}"),
        };
        // Without stderr the exit code still reports them.
        if written.is_err() {
            return;
        }
    }
}

/// Prints a remark to stderr.
pub(crate) fn note(text: &str) {
    // A remark that cannot be printed is no failure.
    let _ = writeln!(anstream::stderr(), "{QUIET}{text}{QUIET:#}");
}

/// Prompts for the next turn of a conversation.
pub(crate) fn prompt() {
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{HEADING}>{HEADING:#} ").and_then(|()| stderr.flush());
}

/// Prints aligned rows below a heading.
pub(crate) fn table<const N: usize>(
    heading: [&str; N],
    rows: &[[String; N]],
) -> Result<(), CliError> {
    let heading = heading.map(str::to_owned);
    let mut widths = [0; N];
    for row in rows.iter().chain([&heading]) {
        for (width, cell) in widths.iter_mut().zip(row) {
            *width = (*width).max(cell.chars().count());
        }
    }
    let line = |row: &[String; N]| {
        let mut line = String::new();
        for (width, cell) in widths.iter().zip(row) {
            line.push_str(&format!("{cell:<width$}  "));
        }
        line.trim_end().to_owned()
    };
    let mut stdout = anstream::stdout().lock();
    writeln!(stdout, "{HEADING}{}{HEADING:#}", line(&heading))?;
    for row in rows {
        writeln!(stdout, "{}", line(row))?;
    }
    Ok(())
}
