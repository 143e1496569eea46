//! Versions of the Anthropic API.

use std::str::FromStr;

use majordomo_llm::{Error, ErrorKind, Result};

/// A version of the Anthropic API, sent as `anthropic-version`.
///
/// ```
/// use majordomo_providers::AnthropicVersion;
///
/// let newest: AnthropicVersion = "2026-10-21".parse().unwrap();
/// assert_eq!(newest.as_str(), "2026-10-21");
/// assert_eq!(AnthropicVersion::default().as_str(), "2023-06-01");
/// assert!("2031-01-01".parse::<AnthropicVersion>().is_err());
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum AnthropicVersion {
    /// Supported by every server of this dialect.
    #[default]
    V2023_06_01,
    /// Without sampling parameters.
    V2026_10_21,
}

impl AnthropicVersion {
    /// All versions.
    pub const ALL: [Self; 2] = [Self::V2023_06_01, Self::V2026_10_21];

    /// The value of the header.
    pub const fn as_str(self) -> &'static str {
        match self {
            Self::V2023_06_01 => "2023-06-01",
            Self::V2026_10_21 => "2026-10-21",
        }
    }
}

impl FromStr for AnthropicVersion {
    type Err = Error;

    fn from_str(text: &str) -> Result<Self> {
        let found = Self::ALL.into_iter().find(|it| it.as_str() == text);
        found.ok_or_else(|| {
            let known = Self::ALL.map(Self::as_str).join(" and ");
            let text = format!("unknown Anthropic API version `{text}`; known are {known}");
            Error::new(ErrorKind::Spec, text)
        })
    }
}
