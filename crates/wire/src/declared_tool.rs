//! Tools that a client declared in a form that the contract carries as a function.
//!
//! A custom tool becomes a function with one string, and a tool inside a namespace gets
//! the namespace as a prefix of its name. The declaration stays in the tool's native
//! fields, so that its own dialect gets it back and calls of it are written as the client
//! expects them:
//!
//! - `field`: `custom` or `function`.
//! - `field.name`, `field.namespace`: the name as declared.
//! - `field.item`: declared inside the conversation.
//!
//! Uses `loss` only.

use std::collections::HashMap;

use majordomo_llm::{Dialect, Native, Tool};

use crate::loss::{LossVerb, Losses};

/// Longest name that every provider accepts.
const MAX_NAME: usize = 64;

/// Separates a namespace from the name.
const SEPARATOR: &str = "__";

/// Returns the name of a tool for dialects without namespaces.
///
/// It depends only on the two names, so it is the same in every request of a session. A name
/// that is too long ends with a hash.
pub(crate) fn flat_name(namespace: Option<&str>, name: &str) -> String {
    let Some(namespace) = namespace.filter(|namespace| !namespace.is_empty()) else {
        return name.to_owned();
    };
    let mut flat = format!("{namespace}{SEPARATOR}{name}");
    if flat.len() > MAX_NAME {
        let hash = fnv1a(flat.as_bytes());
        let mut end = MAX_NAME - 9;
        while !flat.is_char_boundary(end) {
            end -= 1;
        }
        flat.truncate(end);
        flat.push_str(&format!("_{hash:08x}"));
    }
    flat
}

/// FNV-1a, 32 bits: stable across versions and processes.
fn fnv1a(bytes: &[u8]) -> u32 {
    bytes.iter().fold(0x811c_9dc5, |hash, byte| {
        (hash ^ u32::from(*byte)).wrapping_mul(0x0100_0193)
    })
}

/// A tool or call as the client declares it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct DeclaredTool {
    pub(crate) name: String,
    pub(crate) namespace: Option<String>,
    /// The input is a text.
    pub(crate) is_custom: bool,
}

impl DeclaredTool {
    /// Returns the declaration; `None` for a plain function.
    pub(crate) fn of(tool: &Tool) -> Option<Self> {
        let native = tool.native.as_deref()?;
        let kind = text(native, "field")?;
        Some(Self {
            name: text(native, "field.name").unwrap_or_else(|| tool.name.clone()),
            namespace: text(native, "field.namespace"),
            is_custom: kind == "custom",
        })
    }
}

/// Returns a native field that is a string.
pub(crate) fn text(native: &Native, name: &str) -> Option<String> {
    native.get(name)?.to().ok()
}

/// The declarations of one request, by the name that models see.
#[derive(Clone, Debug, Default)]
pub(crate) struct DeclaredTools(HashMap<String, DeclaredTool>);

impl DeclaredTools {
    pub(crate) fn of(tools: &[Tool]) -> Self {
        let declared = tools
            .iter()
            .filter_map(|tool| Some((tool.name.clone(), DeclaredTool::of(tool)?)));
        Self(declared.collect())
    }

    pub(crate) fn get(&self, name: &str) -> Option<&DeclaredTool> {
        self.0.get(name)
    }
}

/// Returns the native fields of a tool that belong to `dialect`; otherwise records the changes
/// of the conversion to a function.
pub(crate) fn own_fields<'t>(
    tool: &'t Tool,
    dialect: &Dialect,
    losses: &mut Losses,
) -> Option<&'t Native> {
    let native = losses.own(tool.native.as_deref(), dialect);
    let foreign = tool.native.as_deref().filter(|_| native.is_none());
    if let (Some(foreign), Some(declared)) = (foreign, DeclaredTool::of(tool)) {
        if declared.is_custom {
            let why = "written as a function with one string, `input`";
            losses.record(LossVerb::Converted, "tools.custom", why);
        }
        if declared.namespace.is_some() {
            let why = "the namespace is a prefix of the name";
            losses.record(LossVerb::Converted, "tools.namespace", why);
        }
        if foreign.get("field.item").is_some() {
            let why = "declared in the conversation, written with the other tools";
            losses.record(LossVerb::Moved, "additional_tools", why);
        }
    }
    native
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn flat_names_are_distinct_and_fit_every_provider() {
        assert_eq!(flat_name(None, "look"), "look");
        assert_eq!(flat_name(Some(""), "look"), "look");
        assert_eq!(flat_name(Some("eyes"), "look"), "eyes__look");
        let long = "é".repeat(40);
        let (a, b) = (flat_name(Some(&long), "a"), flat_name(Some(&long), "b"));
        assert_ne!(a, b);
        assert!(a.len() <= MAX_NAME && b.len() <= MAX_NAME);
    }
}
