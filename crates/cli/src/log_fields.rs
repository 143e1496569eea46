//! The fields of a log line, written as tracing's own formatter writes them.
//!
//! tracing formats every value with `Debug`, character by character and through several
//! layers, which took a tenth of a small request's instructions. Here plain texts and numbers
//! are copied; all other values are left to tracing.

use std::fmt;

use tracing::field::{Field, Visit};
use tracing_subscriber::field::{RecordFields, VisitOutput};
use tracing_subscriber::fmt::FormatFields;
use tracing_subscriber::fmt::format::{DefaultVisitor, Writer};

/// Formats the fields of a line.
pub(crate) struct LogFields;

impl<'writer> FormatFields<'writer> for LogFields {
    fn format_fields<R: RecordFields>(&self, writer: Writer<'writer>, fields: R) -> fmt::Result {
        let mut line = FieldVisitor {
            writer,
            is_empty: true,
            result: Ok(()),
        };
        fields.record(&mut line);
        line.result
    }
}

struct FieldVisitor<'writer> {
    writer: Writer<'writer>,
    is_empty: bool,
    result: fmt::Result,
}

impl FieldVisitor<'_> {
    /// Writes a field whose value needs no escapes, between `quote`s.
    fn write(&mut self, field: &Field, quote: &str, value: &str) {
        if self.result.is_err() {
            return;
        }
        let space = if self.is_empty { "" } else { " " };
        self.is_empty = false;
        let parts = [space, field.name(), "=", quote, value, quote];
        self.result = parts
            .into_iter()
            .try_for_each(|part| self.writer.write_str(part));
    }

    /// Leaves a field to tracing's formatter, which does not show those of the `log` crate.
    fn by_default(&mut self, field: &Field, record: impl FnOnce(&mut DefaultVisitor<'_>)) {
        if self.result.is_err() || field.name().starts_with("log.") {
            return;
        }
        let mut visitor = DefaultVisitor::new(self.writer.by_ref(), self.is_empty);
        record(&mut visitor);
        self.result = visitor.finish();
        self.is_empty = false;
    }
}

/// The message has no name, and raw names lose their prefix.
fn has_plain_name(field: &Field) -> bool {
    let name = field.name();
    name != "message" && !name.starts_with("r#") && !name.starts_with("log.")
}

impl Visit for FieldVisitor<'_> {
    fn record_str(&mut self, field: &Field, value: &str) {
        let plain = |byte: u8| matches!(byte, b' '..=b'~') && byte != b'"' && byte != b'\\';
        match has_plain_name(field) && value.bytes().all(plain) {
            true => self.write(field, "\"", value),
            false => self.by_default(field, |visitor| visitor.record_str(field, value)),
        }
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if !has_plain_name(field) {
            return self.by_default(field, |visitor| visitor.record_u64(field, value));
        }
        let mut digits = [0; 20];
        let mut start = digits.len();
        let mut rest = value;
        loop {
            start -= 1;
            digits[start] = b'0' + (rest % 10) as u8;
            rest /= 10;
            if rest == 0 {
                break;
            }
        }
        let text = str::from_utf8(&digits[start..]).unwrap_or_default();
        self.write(field, "", text);
    }

    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        self.by_default(field, |visitor| visitor.record_debug(field, value));
    }
}

#[cfg(test)]
mod tests {
    use std::io;
    use std::sync::{Arc, Mutex, PoisonError};

    use tracing_subscriber::fmt::format::DefaultFields;

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl io::Write for Lines {
        fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
            let mut seen = self.0.lock().unwrap_or_else(PoisonError::into_inner);
            seen.extend_from_slice(bytes);
            Ok(bytes.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    fn lines<F>(fields: F) -> String
    where
        F: for<'w> FormatFields<'w> + Send + Sync + 'static,
    {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .without_time()
            .with_ansi(false)
            .fmt_fields(fields)
            .finish();
        tracing::subscriber::with_default(subscriber, || {
            let absent: Option<&str> = None;
            tracing::info!(id = "a-1", n = 0_u64, most = u64::MAX, absent, "served");
            tracing::info!(quoted = "say \"hi\" \\ \n é \u{1b}[1m", empty = "");
            tracing::warn!(status = 200_u16, took = 0.125, ok = true, at = %"x y", "a \u{1b} b");
            tracing::info!(r#type = "t", signed = -3, list = ?[1, 2], some = Some(7_usize));
            tracing::info!("only a message");
        });
        let seen = lines.0.lock().unwrap_or_else(PoisonError::into_inner);
        String::from_utf8(seen.clone()).unwrap()
    }

    #[test]
    fn fields_are_written_as_by_tracing() {
        let ours = lines(LogFields);
        assert_eq!(ours, lines(DefaultFields::new()));
        assert!(
            ours.contains("served id=\"a-1\" n=0 most=18446744073709551615\n"),
            "{ours}"
        );
    }
}
