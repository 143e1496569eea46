//! Colours, and tables; both only as far as the reader can see them. The streams
//! drop colours that are written to anything but a terminal.

use std::io::Write;

use anstyle::{AnsiColor, Style};

use crate::failure::Failure;

const ERROR: Style = AnsiColor::Red.on_default().bold();
const HEADING: Style = Style::new().bold();
const QUIET: Style = Style::new().dimmed();

/// Tells why the command failed.
pub(crate) fn error(text: &str) {
    // When stderr is gone the exit code still says it.
    let _ = writeln!(anstream::stderr(), "{ERROR}error{ERROR:#}: {text}");
}

/// Tells everything that is wrong with a file. Each mistake begins with `error:`.
pub(crate) fn errors(problems: &str) {
    let mut stderr = anstream::stderr();
    for line in problems.lines() {
        let written = match line.strip_prefix("error: ") {
            Some(text) => writeln!(stderr, "{ERROR}error{ERROR:#}: {text}"),
            None => writeln!(stderr, "{line}"),
        };
        // When stderr is gone the exit code still says it.
        if written.is_err() {
            return;
        }
    }
}

/// Tells something beside the answer.
pub(crate) fn note(text: &str) {
    // A note that nobody can read is no reason to stop.
    let _ = writeln!(anstream::stderr(), "{QUIET}{text}{QUIET:#}");
}

/// Asks for the next turn of a conversation.
pub(crate) fn invite() {
    let mut stderr = anstream::stderr();
    let _ = write!(stderr, "{HEADING}>{HEADING:#} ").and_then(|()| stderr.flush());
}

/// Prints rows below a heading, each column as wide as its widest cell.
pub(crate) fn table<const N: usize>(
    heading: [&str; N],
    rows: &[[String; N]],
) -> Result<(), Failure> {
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
