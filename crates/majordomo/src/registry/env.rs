//! Providers from `LLM_*` variables.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use majordomo_llm::Provider;

use super::Registry;
use crate::dsn::{Dsn, DsnError, provider_name};
use crate::nearest::nearest;

/// A variable with an unusable DSN.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DsnProblem {
    /// The variable's name.
    pub variable: String,
    /// The error in its value.
    pub cause: DsnError,
}

/// The variables with unusable DSNs; all others were loaded.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LoadEnvError {
    /// The problems, sorted by variable.
    pub problems: Vec<DsnProblem>,
}

impl fmt::Display for LoadEnvError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (n, problem) in self.problems.iter().enumerate() {
            let separator = if n == 0 { "" } else { "; " };
            write!(f, "{separator}{}: {}", problem.variable, problem.cause)?;
        }
        Ok(())
    }
}

impl std::error::Error for LoadEnvError {}

impl Registry {
    /// Adds a provider for each `LLM_<NAME>` among the variables. Unusable ones are listed in
    /// the error and fail again on use; all others are added.
    pub fn load_env(&self, variables: &BTreeMap<String, String>) -> Result<(), LoadEnvError> {
        let mut problems = Vec::new();
        for (variable, text) in variables {
            let Some(name) = provider_name(variable) else {
                continue;
            };
            match self.provider_from_dsn(&name, text) {
                Ok(provider) => {
                    let mut names = self.write();
                    names.unusable.remove(&name);
                    names.providers.insert(name, provider);
                }
                Err(cause) => {
                    self.write().unusable.insert(name, text.clone().into());
                    problems.push(DsnProblem {
                        variable: variable.clone(),
                        cause,
                    });
                }
            }
        }
        if problems.is_empty() {
            Ok(())
        } else {
            Err(LoadEnvError { problems })
        }
    }

    pub(super) fn provider_from_dsn(
        &self,
        name: &str,
        text: &str,
    ) -> Result<Arc<dyn Provider>, DsnError> {
        let dsn: Dsn = text.parse()?;
        let names = self.read();
        let Some(factory) = names.schemes.get(&dsn.scheme).cloned() else {
            let known = names.schemes.keys().map(String::as_str);
            return Err(DsnError::UnknownScheme {
                nearest: nearest(&dsn.scheme, known).map(str::to_owned),
                scheme: dsn.scheme,
            });
        };
        // The factory is foreign code: it runs without our lock.
        drop(names);
        factory(name, &dsn).map_err(|error| DsnError::Refused {
            reason: error.report(),
        })
    }
}
