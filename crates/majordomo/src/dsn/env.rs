//! The environment that DSNs come from, and the mapping of variables to provider names.

use std::collections::BTreeMap;

const PREFIX: &str = "LLM_";

/// The process's environment, or a fixed one for tests.
#[derive(Clone, Debug, Default)]
pub(crate) enum Environment {
    #[default]
    Process,
    Fixed(BTreeMap<String, String>),
}

impl Environment {
    pub(crate) fn get(&self, variable: &str) -> Option<String> {
        match self {
            Self::Process => std::env::var(variable).ok(),
            Self::Fixed(map) => map.get(variable).cloned(),
        }
    }

    /// Every variable that is valid UTF-8, sorted by name.
    pub(crate) fn all(&self) -> BTreeMap<String, String> {
        match self {
            Self::Process => std::env::vars_os()
                .filter_map(|(name, value)| {
                    Some((name.into_string().ok()?, value.into_string().ok()?))
                })
                .collect(),
            Self::Fixed(map) => map.clone(),
        }
    }
}

/// `LLM_MY_BOX` → `my_box`; underscores stay.
pub(crate) fn provider_name(variable: &str) -> Option<String> {
    let name = variable.strip_prefix(PREFIX)?;
    (!name.is_empty()).then(|| name.to_lowercase())
}

/// `my-box` → `LLM_MY_BOX`.
pub(crate) fn variable_name(provider: &str) -> String {
    format!("{PREFIX}{}", provider.to_uppercase().replace('-', "_"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_map_both_ways() {
        assert_eq!(provider_name("LLM_MY_BOX").as_deref(), Some("my_box"));
        assert_eq!(provider_name("LLM_"), None);
        assert_eq!(provider_name("PATH"), None);
        assert_eq!(variable_name("my-prov"), "LLM_MY_PROV");
        assert_eq!(variable_name("my_box"), "LLM_MY_BOX");
    }
}
