//! The spec grammar: a model, an alias, or a chain of them.
//!
//! ```text
//! spec    := element ("," element)*
//! element := provider "/" model | alias
//! ```
//!
//! The first slash splits; the model is everything after it up to the next comma,
//! verbatim, so ids with slashes, colons and tags need no escaping. Whitespace
//! around elements and empty elements are ignored. Uses no other module of the crate
//! but `dsn` and `nearest`, for its errors.

mod error;
mod expand;

use std::fmt;

pub use error::SpecError;
pub(crate) use expand::{Expansion, ExpansionStep};

/// The name of a target, `provider/model`.
///
/// ```
/// use majordomo::spec::TargetName;
///
/// let name: TargetName = "m1/acme/qwen3:30b".parse().unwrap();
/// assert_eq!((name.provider(), name.model()), ("m1", "acme/qwen3:30b"));
/// ```
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TargetName {
    full: String,
    slash: usize,
}

impl TargetName {
    /// The provider's name in the registry.
    pub fn provider(&self) -> &str {
        &self.full[..self.slash]
    }

    /// The model id as the provider knows it, verbatim.
    pub fn model(&self) -> &str {
        &self.full[self.slash + 1..]
    }

    /// `provider/model`.
    pub fn as_str(&self) -> &str {
        &self.full
    }
}

impl fmt::Display for TargetName {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.full)
    }
}

impl std::str::FromStr for TargetName {
    type Err = SpecError;

    fn from_str(text: &str) -> Result<Self, SpecError> {
        match Element::parse(text.trim())? {
            Element::Target(name) => Ok(name),
            Element::Alias(name) => Err(SpecError::NotATarget { name }),
        }
    }
}

/// An element of a spec.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Element {
    Target(TargetName),
    Alias(String),
}

impl Element {
    fn parse(text: &str) -> Result<Self, SpecError> {
        let Some(slash) = text.find('/') else {
            return Ok(Self::Alias(text.to_owned()));
        };
        let name = TargetName {
            full: text.to_owned(),
            slash,
        };
        if name.provider().trim().is_empty() {
            return Err(SpecError::NoProvider {
                element: text.to_owned(),
            });
        }
        if name.model().trim().is_empty() {
            return Err(SpecError::NoModel {
                element: text.to_owned(),
            });
        }
        Ok(Self::Target(name))
    }

    /// Parses the elements of a spec, skipping empty ones.
    pub(crate) fn parse_all(spec: &str) -> Result<Vec<Self>, SpecError> {
        spec.split(',')
            .map(str::trim)
            .filter(|element| !element.is_empty())
            .map(Self::parse)
            .collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn target(text: &str) -> Element {
        Element::Target(text.parse().unwrap())
    }

    #[test]
    fn the_first_slash_splits_and_the_model_stays_verbatim() {
        for (text, provider, model) in [
            (
                "ollama-cloud/minimax-m3:cloud",
                "ollama-cloud",
                "minimax-m3:cloud",
            ),
            ("m1/richardyoung/x:y", "m1", "richardyoung/x:y"),
            ("p//x", "p", "/x"),
            ("p/a b", "p", "a b"),
        ] {
            let name: TargetName = text.parse().unwrap();
            assert_eq!((name.provider(), name.model()), (provider, model));
            assert_eq!(name.to_string(), text);
        }
    }

    #[test]
    fn a_spec_is_a_list_of_targets_and_aliases() {
        let elements = Element::parse_all(" m5/qwen3:30b , thinking,,a/b/c ,").unwrap();
        let alias = Element::Alias("thinking".into());
        assert_eq!(elements, [target("m5/qwen3:30b"), alias, target("a/b/c")]);
    }

    #[test]
    fn half_a_target_is_an_error_that_says_which_half() {
        let error = |spec| Element::parse_all(spec).unwrap_err().to_string();
        assert_eq!(
            error("a/b,/x"),
            "`/x` names no provider: write it as `provider/model`"
        );
        assert_eq!(
            error("openai/"),
            "`openai/` names no model: write it as `provider/model`"
        );
        assert!("thinking".parse::<TargetName>().is_err());
    }
}
