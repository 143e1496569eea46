//! References to variables, and literal secrets that become references.

use std::collections::{BTreeMap, BTreeSet};

use crate::tree::Node;

/// A string of the output: `${NAME}`, or a text in which nothing is substituted.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct OutputText(pub(crate) String);

impl OutputText {
    /// A literal text, in which majordomo's `$` is escaped.
    pub(crate) fn literal(text: &str) -> Self {
        let mut out = String::with_capacity(text.len());
        let mut rest = text.chars().peekable();
        while let Some(c) = rest.next() {
            let next = rest.peek().copied().unwrap_or(' ');
            if c == '$' && (next == '{' || next == '_' || next.is_ascii_alphabetic()) {
                out.push('$');
            }
            out.push(c);
        }
        Self(out)
    }

    pub(crate) fn variable(name: &str) -> Self {
        Self(format!("${{{name}}}"))
    }
}

/// The variable that a text refers to: `os.environ/NAME` of LiteLLM, `env.NAME` of
/// Bifrost, `$NAME` and `${NAME}` of claude-code-router.
pub(crate) fn reference(text: &str) -> Option<&str> {
    let text = text.trim();
    let braced = text
        .strip_prefix("${")
        .and_then(|rest| rest.strip_suffix('}'));
    let name = text
        .strip_prefix("os.environ/")
        .or_else(|| text.strip_prefix("env."))
        .or(braced)
        .or_else(|| text.strip_prefix('$'))?;
    is_variable(name).then_some(name)
}

fn is_variable(name: &str) -> bool {
    let first = |c: char| c.is_ascii_alphabetic() || c == '_';
    name.starts_with(first) && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
}

/// Whether a text looks like a key, wherever it is.
pub(crate) fn looks_secret(text: &str) -> bool {
    const PREFIXES: [&str; 16] = [
        "sk-",
        "sk_",
        "gsk_",
        "xai-",
        "aiza",
        "hf_",
        "ghp_",
        "gho_",
        "github_pat_",
        "pplx-",
        "r8_",
        "akia",
        "nvapi-",
        "fw_",
        "tgp_",
        "bearer ",
    ];
    // Credentials or a query of an address may hold a key.
    if text.contains("://") && text.contains(['@', '?']) {
        return true;
    }
    text.split(['/', ',', '"', '\'', '=', '&', '?', '@'])
        .any(|part| {
            let lower = part.trim().to_ascii_lowercase();
            let key = PREFIXES.iter().any(|prefix| lower.starts_with(prefix)) && lower.len() >= 12;
            let token = lower.starts_with("eyj") && lower.matches('.').count() == 2;
            key || token
        })
}

/// Placeholders for the key of a server that needs none.
pub(crate) fn is_no_key(text: &str) -> bool {
    let text = text.trim().to_ascii_lowercase();
    let words = [
        "",
        "none",
        "null",
        "empty",
        "dummy",
        "fake",
        "ollama",
        "lm-studio",
        "lmstudio",
        "vllm",
        "not-needed",
        "not_needed",
        "no-key",
        "no-key-required",
        "na",
        "n/a",
        "x",
        "anything",
    ];
    words.contains(&text.as_str())
}

/// Literal secrets of the input and the variables that replace them.
#[derive(Clone, Debug, Default)]
pub(crate) struct Secrets {
    /// Names that the input uses, or that stand for a secret.
    taken: BTreeSet<String>,
    /// The last number of the variables that wanted one name.
    numbers: BTreeMap<String, u32>,
    /// Variable and path by secret.
    variables: BTreeMap<String, (String, String)>,
}

impl Secrets {
    /// Reserves the names of all variables that the input refers to.
    pub(crate) fn new(root: &Node) -> Self {
        let mut secrets = Self::default();
        secrets.reserve(root);
        secrets
    }

    fn reserve(&mut self, node: &Node) {
        match node {
            Node::Text(text) => self.taken.extend(reference(text).map(str::to_owned)),
            Node::List(items) => items.iter().for_each(|item| self.reserve(item)),
            Node::Map(entries) => entries.iter().for_each(|(_, value)| self.reserve(value)),
            _ => {}
        }
    }

    /// A reference as `${NAME}`; a literal secret as a variable like `wanted`, which must
    /// be set.
    pub(crate) fn text(&mut self, secret: &str, wanted: &str, path: &str) -> OutputText {
        if let Some(name) = reference(secret) {
            return OutputText::variable(name);
        }
        if let Some((variable, _)) = self.variables.get(secret) {
            return OutputText::variable(variable);
        }
        let wanted = variable_name(wanted);
        let first = self.numbers.get(&wanted).copied().unwrap_or(1);
        let mut numbered = (first..).map(|number| match number {
            1 => (number, wanted.clone()),
            _ => (number, format!("{wanted}_{number}")),
        });
        let found = numbered.find(|(_, name)| !self.taken.contains(name));
        let (number, name) = found.unwrap_or((first, wanted.clone()));
        self.numbers.insert(wanted, number);
        self.taken.insert(name.clone());
        let text = OutputText::variable(&name);
        self.variables
            .insert(secret.to_owned(), (name, path.to_owned()));
        text
    }

    pub(crate) fn new_variables(&self) -> Vec<(String, String)> {
        let mut variables: Vec<(String, String)> = self.variables.values().cloned().collect();
        variables.sort();
        variables
    }
}

/// A name in the form of a variable's name.
fn variable_name(name: &str) -> String {
    let upper = name.to_ascii_uppercase();
    let name: String = upper
        .chars()
        .map(|c| if c.is_ascii_alphanumeric() { c } else { '_' })
        .collect();
    match name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_') {
        true => name,
        false => format!("_{name}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn references_of_all_formats_are_recognized() {
        for (text, name) in [
            ("os.environ/A_KEY", Some("A_KEY")),
            ("env.A", Some("A")),
            ("$A", Some("A")),
            ("${A}", Some("A")),
            ("os.environ/", None),
            ("$1", None),
            ("sk-1", None),
        ] {
            assert_eq!(reference(text), name, "{text}");
        }
    }

    #[test]
    fn a_secret_has_one_variable_and_another_secret_another_one() {
        let root = Node::Text("os.environ/A_KEY".to_owned());
        let mut secrets = Secrets::new(&root);
        let first = secrets.text("one", "a-key", "x");
        assert_eq!(first.0, "${A_KEY_2}");
        assert_eq!(secrets.text("one", "other", "y"), first);
        assert_eq!(secrets.text("two", "a-key", "z").0, "${A_KEY_3}");
    }

    #[test]
    fn a_dollar_in_a_literal_is_escaped() {
        for (text, escaped) in [
            ("a$b", "a$$b"),
            ("${A}", "$${A}"),
            ("5$", "5$"),
            ("$5", "$5"),
        ] {
            assert_eq!(OutputText::literal(text).0, escaped);
        }
    }
}
