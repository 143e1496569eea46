//! Expands a spec with aliases into a flat list of targets.
//!
//! [`Expansion`] does no lookups: it yields the alias that it needs, and the caller supplies
//! the spec. The same code therefore serves static aliases and resolvers that do I/O.

use std::collections::HashSet;

use super::{Element, SpecError, TargetName};

/// Longest accepted expansion; stops aliases that double at every step.
const MAX_ELEMENTS: usize = 10_000;

/// What an [`Expansion`] needs next.
#[derive(Debug)]
pub(crate) enum ExpansionStep {
    /// The spec of this alias.
    Alias(String),
    /// Nothing more: these are the targets, in order, without duplicates.
    Done(Vec<TargetName>),
}

#[derive(Debug)]
pub(crate) struct Expansion {
    frames: Vec<AliasFrame>,
    targets: Vec<TargetName>,
    seen: HashSet<TargetName>,
    elements: usize,
}

/// An alias being expanded, or the spec itself.
#[derive(Debug)]
struct AliasFrame {
    alias: Option<String>,
    /// Reversed, so that `pop` yields the next element.
    rest: Vec<Element>,
}

impl Expansion {
    pub(crate) fn new(spec: &str) -> Result<Self, SpecError> {
        let mut expansion = Self {
            frames: Vec::new(),
            targets: Vec::new(),
            seen: HashSet::new(),
            elements: 0,
        };
        expansion.enter(None, spec)?;
        Ok(expansion)
    }

    /// Advances until an alias must be looked up or no element is left.
    pub(crate) fn step(&mut self) -> Result<ExpansionStep, SpecError> {
        while let Some(frame) = self.frames.last_mut() {
            match frame.rest.pop() {
                Some(Element::Target(name)) => {
                    if self.seen.insert(name.clone()) {
                        self.targets.push(name);
                    }
                }
                Some(Element::Alias(name)) => {
                    self.refuse_cycle(&name)?;
                    return Ok(ExpansionStep::Alias(name));
                }
                None => {
                    self.frames.pop();
                }
            }
        }
        if self.targets.is_empty() {
            return Err(SpecError::Empty);
        }
        Ok(ExpansionStep::Done(std::mem::take(&mut self.targets)))
    }

    /// Supplies the spec of the requested alias, which is expanded in place.
    pub(crate) fn supply(&mut self, alias: String, spec: &str) -> Result<(), SpecError> {
        self.enter(Some(alias), spec)
    }

    fn enter(&mut self, alias: Option<String>, spec: &str) -> Result<(), SpecError> {
        let mut rest = Element::parse_all(spec)?;
        self.elements += rest.len();
        if self.elements > MAX_ELEMENTS {
            return Err(SpecError::TooLong {
                limit: MAX_ELEMENTS,
            });
        }
        rest.reverse();
        self.frames.push(AliasFrame { alias, rest });
        Ok(())
    }

    fn refuse_cycle(&self, name: &str) -> Result<(), SpecError> {
        let open = |frame: &AliasFrame| frame.alias.as_deref() == Some(name);
        let Some(start) = self.frames.iter().position(open) else {
            return Ok(());
        };
        let mut cycle: Vec<String> = self.frames[start..]
            .iter()
            .filter_map(|frame| frame.alias.clone())
            .collect();
        cycle.push(name.to_owned());
        Err(SpecError::AliasCycle { cycle })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn expand(spec: &str, aliases: &[(&str, &str)]) -> Result<Vec<String>, SpecError> {
        let mut expansion = Expansion::new(spec)?;
        loop {
            match expansion.step()? {
                ExpansionStep::Done(targets) => {
                    return Ok(targets.iter().map(|t| t.to_string()).collect());
                }
                ExpansionStep::Alias(name) => {
                    let known = aliases.iter().find(|(alias, _)| *alias == name);
                    let (_, spec) = known.ok_or(SpecError::UnknownAlias {
                        name: name.clone(),
                        nearest: None,
                    })?;
                    expansion.supply(name, spec)?;
                }
            }
        }
    }

    const ALIASES: &[(&str, &str)] = &[
        ("thinking", "anthropic/opus,ollama-cloud/minimax-m3:cloud"),
        ("best", "thinking,openai/gpt"),
        ("a", "b"),
        ("b", "x/y,c"),
        ("c", "a"),
        ("self", "self"),
        ("blank", " , "),
    ];

    #[test]
    fn aliases_expand_inline_at_head_middle_and_tail() {
        let thinking = ["anthropic/opus", "ollama-cloud/minimax-m3:cloud"];
        let of = |spec| expand(spec, ALIASES).unwrap();
        assert_eq!(of("thinking"), thinking);
        assert_eq!(of("p/x,thinking"), ["p/x", thinking[0], thinking[1]]);
        assert_eq!(of("thinking,p/x"), [thinking[0], thinking[1], "p/x"]);
        assert_eq!(
            of("p/x,best,q/y"),
            ["p/x", thinking[0], thinking[1], "openai/gpt", "q/y"]
        );
    }

    #[test]
    fn duplicates_are_dropped_and_the_first_wins() {
        let targets = expand("anthropic/opus,p/x,thinking,p/x", ALIASES).unwrap();
        assert_eq!(
            targets,
            ["anthropic/opus", "p/x", "ollama-cloud/minimax-m3:cloud"]
        );
    }

    #[test]
    fn a_cycle_is_an_error_that_shows_it() {
        let text = |spec| expand(spec, ALIASES).unwrap_err().to_string();
        assert_eq!(text("a"), "alias cycle: a → b → c → a");
        assert_eq!(text("p/x,self"), "alias cycle: self → self");
    }

    #[test]
    fn nothing_is_an_error() {
        for spec in ["", " ", ",", " , ,", "blank"] {
            assert_eq!(expand(spec, ALIASES), Err(SpecError::Empty), "{spec:?}");
        }
    }

    #[test]
    fn aliases_that_double_at_every_step_end_in_an_error() {
        let names: Vec<(String, String)> = (0..60)
            .map(|n| (format!("n{n}"), format!("n{0},n{0}", n + 1)))
            .collect();
        let mut aliases: Vec<(&str, &str)> = names.iter().map(|(a, b)| (&a[..], &b[..])).collect();
        aliases.push(("n60", "p/x"));
        let error = expand("n0", &aliases).unwrap_err();
        assert_eq!(
            error,
            SpecError::TooLong {
                limit: MAX_ELEMENTS
            }
        );
    }

    proptest! {
        #[test]
        fn no_spec_panics_or_hangs(spec in ".*", meaning in "[a-z/,]{0,12}") {
            let aliases = [("a", meaning.as_str()), ("b", spec.as_str())];
            let _ = expand(&spec, &aliases);
            let _ = expand("a,b", &aliases);
        }
    }
}
