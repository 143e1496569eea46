//! What can be wrong with a spec, in words that say what to do.

use majordomo_llm::{Error, ErrorKind};

use crate::dsn::DsnError;
use crate::nearest::did_you_mean;

/// Why a spec could not be turned into a chain.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SpecError {
    /// There is no element in it.
    #[error("the model spec is empty: name at least one `provider/model` or alias")]
    Empty,
    /// An element begins with a slash.
    #[error("`{element}` names no provider: write it as `provider/model`")]
    NoProvider {
        /// The element.
        element: String,
    },
    /// An element ends with its slash.
    #[error("`{element}` names no model: write it as `provider/model`")]
    NoModel {
        /// The element.
        element: String,
    },
    /// A single target was expected, an alias came.
    #[error("`{name}` is not a target: write it as `provider/model`")]
    NotATarget {
        /// What came.
        name: String,
    },
    /// A bare word that is no alias.
    #[error("there is no alias `{name}`{}", did_you_mean(nearest.as_deref()))]
    UnknownAlias {
        /// The word.
        name: String,
        /// The known alias that is closest to it.
        nearest: Option<String>,
    },
    /// A bare word that only a dynamic resolver may know.
    #[error("there is no static alias `{name}`; dynamic ones need `Registry::resolve`")]
    NeedsResolver {
        /// The word.
        name: String,
    },
    /// A provider that is nowhere.
    #[error(
        "there is no provider `{name}`: none is registered under that name and `{variable}` is not set{}",
        did_you_mean(nearest.as_deref())
    )]
    UnknownProvider {
        /// The provider's name in the spec.
        name: String,
        /// The environment variable that was looked at.
        variable: String,
        /// The known provider that is closest to it.
        nearest: Option<String>,
    },
    /// A provider whose DSN cannot be read.
    #[error("the provider `{name}` cannot be used: {cause}")]
    BadDsn {
        /// The provider's name.
        name: String,
        /// What is wrong with its DSN.
        cause: DsnError,
    },
    /// An alias that leads back to itself.
    #[error("the aliases go in a circle: {}", cycle.join(" → "))]
    AliasCycle {
        /// The circle; its first name is also its last.
        cycle: Vec<String>,
    },
    /// Aliases that multiply beyond reason.
    #[error("the spec grows beyond {limit} elements when its aliases are expanded")]
    TooLong {
        /// The most elements that are looked at.
        limit: usize,
    },
    /// An alias name that could never be used in a spec.
    #[error("`{name}` cannot be an alias: it must be one word without `/` and `,`")]
    BadAliasName {
        /// The name.
        name: String,
    },
    /// A dynamic resolver failed.
    #[error("the alias `{name}` could not be resolved: {reason}")]
    Resolver {
        /// The alias.
        name: String,
        /// What the resolver said.
        reason: String,
    },
    /// The provider refused to make the model.
    #[error("{reason}")]
    Model {
        /// What the provider said.
        reason: String,
    },
}

impl From<SpecError> for Error {
    fn from(error: SpecError) -> Self {
        Self::new(ErrorKind::Spec, error.to_string())
    }
}
