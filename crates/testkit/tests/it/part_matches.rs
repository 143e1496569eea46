//! No match on `Part` has a catch-all arm: a new kind of content must be decided everywhere.

use syn::visit::{self, Visit};
use syn::{Arm, ExprMatch, Pat};

use crate::part_selections::{is_part_pattern, sources};

/// The matches on `Part` with a catch-all arm, by line.
#[derive(Default)]
struct CatchAlls {
    matches: usize,
    lines: Vec<usize>,
}

impl<'ast> Visit<'ast> for CatchAlls {
    fn visit_expr_match(&mut self, found: &'ast ExprMatch) {
        let named = |arm: &&Arm| is_part_pattern(&arm.pat);
        if found.arms.iter().any(|arm| named(&arm)) {
            self.matches += 1;
            let unguarded = found.arms.iter().filter(|arm| arm.guard.is_none());
            if unguarded.into_iter().any(|arm| is_catch_all(&arm.pat)) {
                self.lines.push(found.match_token.span.start().line);
            }
        }
        visit::visit_expr_match(self, found);
    }
}

fn is_catch_all(pattern: &Pat) -> bool {
    match pattern {
        Pat::Wild(_) => true,
        Pat::Ident(pattern) => pattern.subpat.is_none(),
        _ => false,
    }
}

fn catch_alls(source: &str) -> CatchAlls {
    let mut found = CatchAlls::default();
    found.visit_file(&syn::parse_file(source).expect("Rust"));
    found
}

#[test]
fn no_match_on_part_has_a_catch_all_arm() {
    let mut matches = 0;
    let mut mistakes = Vec::new();
    for (name, source) in sources() {
        let found = catch_alls(&source);
        matches += found.matches;
        let lines = found.lines.into_iter();
        mistakes.extend(lines.map(|line| format!("{name}:{line}")));
    }
    assert!(matches > 60, "only {matches} matches on `Part` were found");
    assert_eq!(mistakes, [""; 0], "name every kind of `Part` instead");
}

#[test]
fn a_catch_all_arm_is_found() {
    for (arms, expected) in [
        ("Part::Text(_) => 1, _ => 2", 1),
        ("Part::Text(_) => 1, other => 2", 1),
        ("llm::Part::Text(_) | Part::Image(_) => 1, _ => 2", 1),
        (
            "Part::Text(_) => 1, other if good(other) => 2, Part::Image(_) => 3",
            0,
        ),
        (
            "Part::Text(_) => 1, other @ (Part::Image(_) | Part::File(_)) => 2",
            0,
        ),
        ("Some(Part::Text(_)) => 1, _ => 2", 0),
        ("Event::Text(_) => 1, _ => 2", 0),
    ] {
        let source = format!("fn f() {{ match x {{ {arms} }} }}");
        assert_eq!(catch_alls(&source).lines.len(), expected, "{arms}");
    }
}
