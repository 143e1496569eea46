//! `[log]`: the format and the level of the log.

use tracing::level_filters::LevelFilter;

use super::reader::Section;

/// The log on standard error. The command applies it: a program that embeds the gateway sets
/// its own subscriber.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub struct LogSettings {
    /// The format of the lines.
    pub format: LogFormat,
    /// Lines below this level are not written. `RUST_LOG` overrides it.
    pub level: LevelFilter,
}

/// The format of log lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogFormat {
    /// Time, level, message and `name=value` fields, for people.
    Text,
    /// One JSON object per line, for programs that collect logs.
    Json,
}

impl Default for LogSettings {
    fn default() -> Self {
        Self {
            format: LogFormat::Text,
            level: LevelFilter::INFO,
        }
    }
}

pub(super) fn read_log(mut section: Section<'_>) -> LogSettings {
    let mut log = LogSettings::default();
    let formats = [("text", LogFormat::Text), ("json", LogFormat::Json)];
    if let Some(format) = section.take("format").and_then(|f| f.choice(&formats)) {
        log.format = format;
    }
    let levels = [
        ("off", LevelFilter::OFF),
        ("error", LevelFilter::ERROR),
        ("warn", LevelFilter::WARN),
        ("info", LevelFilter::INFO),
        ("debug", LevelFilter::DEBUG),
        ("trace", LevelFilter::TRACE),
    ];
    if let Some(level) = section.take("level").and_then(|f| f.choice(&levels)) {
        log.level = level;
    }
    section.finish();
    log
}
