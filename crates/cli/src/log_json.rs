//! Log lines as JSON: one flat object per line.
//!
//! Every line has `timestamp`, `level` and `message`; the event's own fields follow under
//! their names. `docs/guide/operations.md` lists them.

use std::fmt;

use serde::Serialize;
use tracing::field::{Field, Visit};
use tracing::{Event, Subscriber};
use tracing_subscriber::fmt::FmtContext;
use tracing_subscriber::fmt::format::{FormatEvent, FormatFields, Writer};
use tracing_subscriber::fmt::time::{FormatTime, SystemTime};
use tracing_subscriber::registry::LookupSpan;

/// Formats events as JSON.
pub(crate) struct JsonFormat;

impl<S, N> FormatEvent<S, N> for JsonFormat
where
    S: Subscriber + for<'a> LookupSpan<'a>,
    N: for<'a> FormatFields<'a> + 'static,
{
    fn format_event(
        &self,
        _context: &FmtContext<'_, S, N>,
        mut writer: Writer<'_>,
        event: &Event<'_>,
    ) -> fmt::Result {
        let mut line = JsonLine::new(event.metadata().level().as_str());
        event.record(&mut line);
        writer.write_str(&line.finish())
    }
}

/// A line with only a message, for text that does not come from an event.
pub(crate) fn message(level: &str, text: &str) -> String {
    let mut line = JsonLine::new(level);
    line.add("message", text);
    line.finish()
}

/// An object that is being written.
struct JsonLine(String);

impl JsonLine {
    fn new(level: &str) -> Self {
        let mut time = String::new();
        // Writing to a string cannot fail.
        let _ = SystemTime.format_time(&mut Writer::new(&mut time));
        let mut line = Self(String::with_capacity(512));
        line.0.push('{');
        line.add("timestamp", time);
        line.add("level", level);
        line
    }

    fn add(&mut self, name: &str, value: impl Serialize) {
        let Ok(value) = serde_json::to_string(&value) else {
            return;
        };
        if !self.0.ends_with('{') {
            self.0.push(',');
        }
        // Names are Rust identifiers, perhaps with dots.
        self.0.push('"');
        self.0.push_str(name);
        self.0.push_str("\":");
        self.0.push_str(&value);
    }

    fn finish(mut self) -> String {
        self.0.push_str("}\n");
        self.0
    }
}

impl Visit for JsonLine {
    fn record_debug(&mut self, field: &Field, value: &dyn fmt::Debug) {
        // The origin of a record of the `log` crate.
        if !field.name().starts_with("log.") {
            self.add(field.name(), format!("{value:?}"));
        }
    }

    fn record_str(&mut self, field: &Field, value: &str) {
        if !field.name().starts_with("log.") {
            self.add(field.name(), value);
        }
    }

    fn record_f64(&mut self, field: &Field, value: f64) {
        self.add(field.name(), value);
    }

    fn record_i64(&mut self, field: &Field, value: i64) {
        self.add(field.name(), value);
    }

    fn record_u64(&mut self, field: &Field, value: u64) {
        if !field.name().starts_with("log.") {
            self.add(field.name(), value);
        }
    }

    fn record_bool(&mut self, field: &Field, value: bool) {
        self.add(field.name(), value);
    }

    fn record_error(&mut self, field: &Field, value: &(dyn std::error::Error + 'static)) {
        self.add(field.name(), value.to_string());
    }
}

#[cfg(test)]
mod tests {
    use std::io::{self, Write};
    use std::sync::{Arc, Mutex};

    use serde_json::{Value, json};

    use super::*;

    #[derive(Clone, Default)]
    struct Lines(Arc<Mutex<Vec<u8>>>);

    impl Write for Lines {
        fn write(&mut self, line: &[u8]) -> io::Result<usize> {
            self.0.lock().unwrap().extend_from_slice(line);
            Ok(line.len())
        }

        fn flush(&mut self) -> io::Result<()> {
            Ok(())
        }
    }

    #[test]
    fn an_event_is_one_line_whatever_its_fields_hold() {
        let lines = Lines::default();
        let writer = lines.clone();
        let subscriber = tracing_subscriber::fmt()
            .with_writer(move || writer.clone())
            .event_format(JsonFormat);
        tracing::subscriber::with_default(subscriber.finish(), || {
            tracing::callsite::rebuild_interest_cache();
            tracing::warn!(
                text = "a \"quoted\"\nname\u{1b}",
                shown = %"x,y",
                count = 3_u64,
                time = 1.5,
                endless = f64::NAN,
                yes = true,
                absent = None::<&str>,
                "two\nlines"
            );
        });
        let text = String::from_utf8(lines.0.lock().unwrap().clone()).unwrap();
        assert_eq!(text.matches('\n').count(), 1, "{text}");
        let mut line: Value = serde_json::from_str(&text).unwrap();
        let object = line.as_object_mut().unwrap();
        let timestamp = object.remove("timestamp").unwrap();
        assert!(timestamp.as_str().unwrap().ends_with('Z'), "{timestamp}");
        let expected = json!({
            "level": "WARN",
            "message": "two\nlines",
            "text": "a \"quoted\"\nname\u{1b}",
            "shown": "x,y",
            "count": 3,
            "time": 1.5,
            "endless": null,
            "yes": true,
        });
        assert_eq!(line, expected);
    }
}
