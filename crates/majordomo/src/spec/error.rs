//! Errors in specs, each with a remedy.

use majordomo_llm::{Error, ErrorKind};

use crate::dsn::DsnError;
use crate::nearest::did_you_mean;

/// Why a spec could not be parsed into a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[non_exhaustive]
pub enum SpecError {
    /// The spec has no element.
    #[error("the model spec is empty: name at least one `provider/model` or alias")]
    Empty,
    /// An element starts with a slash.
    #[error("`{element}` names no provider: write it as `provider/model`")]
    NoProvider {
        /// The element.
        element: String,
    },
    /// An element ends with its first slash.
    #[error("`{element}` names no model: write it as `provider/model`")]
    NoModel {
        /// The element.
        element: String,
    },
    /// An alias where a single target was expected.
    #[error("`{name}` is not a target: write it as `provider/model`")]
    NotATarget {
        /// The alias.
        name: String,
    },
    /// A bare word that is not an alias.
    #[error("there is no alias `{name}`{}", did_you_mean(nearest.as_deref()))]
    UnknownAlias {
        /// The word.
        name: String,
        /// The closest known alias.
        nearest: Option<String>,
    },
    /// A bare word that only a dynamic resolver may know.
    #[error("there is no static alias `{name}`; dynamic aliases need `Registry::resolve`")]
    NeedsResolver {
        /// The word.
        name: String,
    },
    /// A provider that is neither registered nor in the environment.
    #[error(
        "there is no provider `{name}`: none is registered under that name and `{variable}` is not set{}",
        did_you_mean(nearest.as_deref())
    )]
    UnknownProvider {
        /// The provider's name in the spec.
        name: String,
        /// The environment variable that would define it.
        variable: String,
        /// The closest known provider.
        nearest: Option<String>,
    },
    /// A provider with an unusable DSN.
    #[error("the provider `{name}` cannot be used: {cause}")]
    BadDsn {
        /// The provider's name.
        name: String,
        /// The error in its DSN.
        cause: DsnError,
    },
    /// An alias that expands to itself.
    #[error("alias cycle: {}", cycle.join(" → "))]
    AliasCycle {
        /// The cycle; its first name is also its last.
        cycle: Vec<String>,
    },
    /// Aliases that expand to too many elements.
    #[error("the spec expands to more than {limit} elements")]
    TooLong {
        /// The maximum number of elements.
        limit: usize,
    },
    /// An invalid alias name.
    #[error("`{name}` is not a valid alias name: it must be one word without `/` and `,`")]
    BadAliasName {
        /// The name.
        name: String,
    },
    /// A dynamic resolver failed.
    #[error("the alias `{name}` could not be resolved: {reason}")]
    Resolver {
        /// The alias.
        name: String,
        /// The resolver's error.
        reason: String,
    },
    /// The provider rejected the model.
    #[error("{reason}")]
    Model {
        /// The provider's error.
        reason: String,
    },
}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Self::new(ErrorKind::Spec, error.to_string())
    }
}
