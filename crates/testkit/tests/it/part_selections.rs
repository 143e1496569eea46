//! The files that select single kinds of `Part` and in which a new kind compiles everywhere.
//!
//! `if let`, `let … else`, `matches!` and matches on something that contains parts ignore the
//! kinds that they do not name. If the same file also matches on `Part` itself, the compiler
//! leads the author of a new kind there; to all other files, this list does.

use std::path::Path;

use majordomo_testkit::files;
use syn::parse::{Parse, ParseStream};
use syn::visit::{self, Visit};
use syn::{Arm, Expr, ExprLet, ExprMatch, ItemMod, Local, Macro, Pat, Path as SynPath, Token};

/// The files, and why they may ignore a new kind.
const SELECTIONS: &[(&str, &str)] = &[
    ("agent/src/agent/call_ids.rs", "only calls have ids"),
    (
        "gateway/src/fetch/fetch_all.rs",
        "only remote images are fetched; the walk over images is exhaustive",
    ),
    (
        "gateway/src/operator/captured_images.rs",
        "every other part is asked for its images by the walk",
    ),
    (
        "gateway/src/shapes/remote_images.rs",
        "only remote images are fetched; the walk over images is exhaustive",
    ),
    (
        "media/src/images.rs",
        "only attached images are fitted; `attached_images` is exhaustive",
    ),
    (
        "providers/src/anthropic/thinking.rs",
        "the rules are about reasoning",
    ),
    (
        "vision/src/describer.rs",
        "a refusal is not a description; the text decides about everything else",
    ),
    ("wire/src/arguments.rs", "only calls have arguments"),
    (
        "wire/src/emulated_call.rs",
        "the text of an emulated call becomes the call; other parts stay",
    ),
    (
        "wire/src/gemini/read_request.rs",
        "other parts of the system instruction are kept as they are",
    ),
    (
        "wire/src/gemini/stream_writer.rs",
        "calls are buffered; `write_response_part`, which is exhaustive, writes all other parts",
    ),
    (
        "wire/src/ollama/generate.rs",
        "a prompt of other parts goes to the chat endpoint",
    ),
    (
        "wire/src/openai_responses/read_request.rs",
        "identifies the block that declares tools",
    ),
    (
        "wire/src/openai_responses/stream_output.rs",
        "only texts and refusals grow",
    ),
];

/// How often a file selects single kinds, and how often it matches on parts exhaustively.
#[derive(Default)]
struct Selections {
    single: usize,
    exhaustive: usize,
}

impl Selections {
    fn of(source: &str) -> Self {
        let mut found = Self::default();
        found.visit_file(&syn::parse_file(source).expect("Rust"));
        found
    }

    fn add(&mut self, pattern: &Pat) {
        self.single += usize::from(mentions_part(pattern));
    }
}

impl<'ast> Visit<'ast> for Selections {
    fn visit_expr_let(&mut self, found: &'ast ExprLet) {
        self.add(&found.pat);
        visit::visit_expr_let(self, found);
    }

    fn visit_local(&mut self, found: &'ast Local) {
        self.add(&found.pat);
        visit::visit_local(self, found);
    }

    fn visit_macro(&mut self, found: &'ast Macro) {
        if found.path.is_ident("matches") {
            let arguments: Matches = found.parse_body().expect("an expression and a pattern");
            self.add(&arguments.pattern);
        }
        visit::visit_macro(self, found);
    }

    fn visit_expr_match(&mut self, found: &'ast ExprMatch) {
        // A match on a part itself has no catch-all arm, see `part_matches`.
        let whole = |arm: &Arm| is_part_pattern(&arm.pat);
        match found.arms.iter().any(whole) {
            true => self.exhaustive += 1,
            false => found.arms.iter().for_each(|arm| self.add(&arm.pat)),
        }
        visit::visit_expr_match(self, found);
    }

    fn visit_item_mod(&mut self, found: &'ast ItemMod) {
        if found.ident != "tests" {
            visit::visit_item_mod(self, found);
        }
    }
}

/// The arguments of `matches!`.
struct Matches {
    pattern: Pat,
}

impl Parse for Matches {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        input.parse::<Expr>()?;
        input.parse::<Token![,]>()?;
        let pattern = Pat::parse_multi_with_leading_vert(input)?;
        if input.parse::<Option<Token![if]>>()?.is_some() {
            input.parse::<Expr>()?;
        }
        input.parse::<Option<Token![,]>>()?;
        Ok(Self { pattern })
    }
}

/// Whether a pattern is one of variants of `Part` itself.
pub(crate) fn is_part_pattern(pattern: &Pat) -> bool {
    match pattern {
        Pat::TupleStruct(pattern) => names_variant(&pattern.path),
        Pat::Struct(pattern) => names_variant(&pattern.path),
        Pat::Or(pattern) => pattern.cases.iter().any(is_part_pattern),
        Pat::Paren(pattern) => is_part_pattern(&pattern.pat),
        Pat::Ident(pattern) => {
            let inner = pattern.subpat.as_ref();
            inner.is_some_and(|(_, inner)| is_part_pattern(inner))
        }
        _ => false,
    }
}

/// Whether a variant of `Part` occurs anywhere in a pattern.
fn mentions_part(pattern: &Pat) -> bool {
    struct Mentions(bool);
    impl<'ast> Visit<'ast> for Mentions {
        fn visit_path(&mut self, path: &'ast SynPath) {
            self.0 |= names_variant(path);
        }
    }
    let mut found = Mentions(false);
    found.visit_pat(pattern);
    found.0
}

fn names_variant(path: &SynPath) -> bool {
    let mut names = path.segments.iter().rev().skip(1);
    names.next().is_some_and(|name| name.ident == "Part")
}

/// The files of the crates' own code, below `crates`.
pub(crate) fn sources() -> impl Iterator<Item = (String, String)> {
    let crates = Path::new(env!("CARGO_MANIFEST_DIR")).join("..");
    files(&crates).into_iter().filter_map(move |file| {
        let name = file.strip_prefix(&crates).expect("a file of the crates");
        let name = name.to_string_lossy().replace('\\', "/");
        let is_test = name.contains("/tests/") || name.ends_with("/tests.rs");
        let is_ours = name.contains("/src/") && name.ends_with(".rs") && !is_test;
        is_ours.then(|| (name, std::fs::read_to_string(&file).expect("a source")))
    })
}

#[test]
fn every_file_that_only_selects_single_kinds_is_listed() {
    let found = sources().filter_map(|(name, source)| {
        let found = Selections::of(&source);
        (found.single > 0 && found.exhaustive == 0).then_some(name)
    });
    let listed = SELECTIONS.iter().map(|(file, _)| *file);
    assert_eq!(
        found.collect::<Vec<_>>(),
        listed.collect::<Vec<_>>(),
        "use an exhaustive match or `Part::as_…`, or list the file"
    );
}

#[test]
fn a_selection_is_found() {
    for (body, expected) in [
        ("if let Part::Text(text) = part {}", 1),
        ("if let Some(Part::Text(text)) = parts.first() {}", 1),
        ("let llm::Part::ToolCall(call) = part else { return };", 1),
        ("while let [Part::Text(_), ..] = parts {}", 1),
        (
            "let is = matches!(part, Part::Image(_) | Part::File(_) if good);",
            1,
        ),
        (
            "match parts.first() { Some(Part::Text(_)) => 1, _ => 2 };",
            1,
        ),
        ("match part { Part::Text(_) => 1, Part::Image(_) => 2 };", 0),
        ("let part = Part::text(text);", 0),
        ("if let Event::Text(text) = event {}", 0),
    ] {
        let source = format!("fn f() {{ {body} }}");
        assert_eq!(Selections::of(&source).single, expected, "{body}");
    }
}
