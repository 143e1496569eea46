//! The versions of Anthropic's API.

use std::str::FromStr;

use majordomo_llm::{Error, ErrorKind, Result};

/// A version of Anthropic's API, in whose rules requests are written.
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
    /// Known by every server of this dialect.
    #[default]
    V2023_06_01,
    /// Has no sampling settings.
    V2026_10_21,
}

impl AnthropicVersion {
    /// All of them.
    pub const ALL: [Self; 2] = [Self::V2023_06_01, Self::V2026_10_21];

    /// As the header says it.
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
            let text =
                format!("there is no version `{text}` of Anthropic's API; known are {known}");
            Error::new(ErrorKind::Spec, text)
        })
    }
}
