//! The rows: every element that a request can repeat, and how often.

use crate::gateway::Eyes;
use crate::shape::{Call, Piece, Shape, ShapeTurn, Who, schema};

/// One row of the table.
pub(crate) struct Row {
    pub(crate) name: &'static str,
    /// The largest permitted count, or what fits into a minute.
    pub(crate) most: usize,
    /// The target's image support.
    pub(crate) eyes: Eyes,
    pub(crate) shape: fn(usize) -> Shape,
}

const fn row(name: &'static str, most: usize, eyes: Eyes, shape: fn(usize) -> Shape) -> Row {
    Row {
        name,
        most,
        eyes,
        shape,
    }
}

/// All rows.
pub(crate) const ROWS: &[Row] = &[
    row("messages", 20_000, Eyes::Good, |n| {
        let who = |at: usize| {
            if at.is_multiple_of(2) {
                Who::User
            } else {
                Who::Model
            }
        };
        Shape::of((0..n).map(|at| ShapeTurn::text(who(at))).collect())
    }),
    row("messages of one side", 10_000, Eyes::Good, |n| {
        let texts = ShapeTurn::new(Who::Model, vec![Piece::Text; n]);
        let call = |at| ShapeTurn::new(Who::Model, vec![Piece::Call(distinct(at))]);
        Shape::of(std::iter::once(texts).chain((0..n).map(call)).collect())
    }),
    row("parts", 100_000, Eyes::Good, |n| {
        Shape::of(vec![ShapeTurn::new(Who::User, vec![Piece::Text; n])])
    }),
    row("instructions", 10_000, Eyes::Good, |n| Shape {
        system: n,
        ..Shape::question()
    }),
    row("instructions between", 10_000, Eyes::Good, |n| {
        let who = |at: usize| {
            if at.is_multiple_of(2) {
                Who::User
            } else {
                Who::System
            }
        };
        Shape::of((0..n).map(|at| ShapeTurn::text(who(at))).collect())
    }),
    row("calls and results", 8_000, Eyes::Good, |n| {
        answered((0..n).map(distinct), (0..n).map(distinct))
    }),
    row("results in reverse", 8_000, Eyes::Good, |n| {
        answered((0..n).map(distinct), (0..n).rev().map(distinct))
    }),
    row("calls of one id", 8_000, Eyes::Good, |n| {
        let call = |at| Call::new("same", at);
        answered((0..n).map(call), (0..n).map(call))
    }),
    row("calls without an id", 8_000, Eyes::Good, |n| {
        // Ids that would be synthesized are taken, so that free ones must be searched.
        let taken = (0..n / 2).map(|at| Call::new(format!("call_{at}"), at));
        let nameless = |at| Call::new("", at);
        answered(
            (0..n / 2).map(nameless).chain(taken),
            (0..n / 2).rev().map(nameless),
        )
    }),
    row("results of no call", 8_000, Eyes::Good, |n| {
        answered((0..n).map(distinct), (n..2 * n).map(distinct))
    }),
    row("results beside fields", 8_000, Eyes::Good, |n| {
        let mut shape = answered((0..n).map(distinct), (0..n).map(distinct));
        for turns in &mut shape.turns {
            turns.fields = fields(n / 10);
        }
        shape
    }),
    row("tools", 2_000, Eyes::Good, |n| Shape {
        tools: vec![schema(2, 1); n],
        ..Shape::question()
    }),
    row("properties of a tool", 20_000, Eyes::Good, |n| Shape {
        tools: vec![schema(n, 1)],
        ..Shape::question()
    }),
    row("nested properties", 20_000, Eyes::Good, |n| Shape {
        tools: vec![schema(n, 20)],
        ..Shape::question()
    }),
    row("properties of the answer", 20_000, Eyes::Good, |n| Shape {
        schema: Some(schema(n, 1)),
        ..Shape::question()
    }),
    row("hosted tools", 2_000, Eyes::Good, |n| Shape {
        hosted: n,
        ..Shape::question()
    }),
    row("stop sequences", 256, Eyes::Good, |n| Shape {
        stops: n,
        ..Shape::question()
    }),
    row("fields of the request", 900, Eyes::Good, |n| Shape {
        fields: n,
        ..Shape::question()
    }),
    row("fields of messages", 30_000, Eyes::Good, |n| {
        let turns = |at: usize| ShapeTurn {
            fields: (0..10)
                .map(|field| format!("u{}", 10 * at + field))
                .collect(),
            ..ShapeTurn::text(Who::User)
        };
        Shape::of((0..n / 10).map(turns).collect())
    }),
    row("unknown parts", 10_000, Eyes::Good, |n| {
        let parts = (0..n).map(Piece::Unknown).collect();
        Shape::of(vec![ShapeTurn::new(Who::User, parts)])
    }),
    row("thoughts", 8_000, Eyes::Good, |n| {
        let thoughts = (0..n).map(Piece::Thought).collect();
        Shape::of(vec![
            ShapeTurn::new(Who::Model, thoughts),
            ShapeTurn::text(Who::User),
        ])
    }),
    row("thoughts, edited", 8_000, Eyes::Few, |n| {
        let thoughts = (0..n).map(Piece::Thought);
        let pictures = (0..9).map(Piece::Image);
        let turns = ShapeTurn::new(Who::Model, thoughts.chain(pictures).collect());
        Shape::of(vec![turns, ShapeTurn::text(Who::User)])
    }),
    row("files", 2_000, Eyes::Good, |n| {
        Shape::of(vec![ShapeTurn::new(Who::User, vec![Piece::File; n])])
    }),
    row("images", 2_000, Eyes::Good, |n| {
        seen((0..n).map(Piece::Image))
    }),
    row("one image", 2_000, Eyes::Good, |n| {
        seen((0..n).map(|_| Piece::Image(0)))
    }),
    row("images of tools", 2_000, Eyes::Good, |n| {
        let result = |at| Piece::Result(distinct(at), vec![Piece::Text, Piece::Image(at)]);
        let mut shape = answered((0..n).map(distinct), std::iter::empty());
        let results = (0..n).map(result).collect();
        shape.turns.push(ShapeTurn::new(Who::Tool, results));
        shape
    }),
    row("addresses", 2_000, Eyes::Good, |n| {
        seen((0..n).map(Piece::Address))
    }),
    row("one address", 2_000, Eyes::Good, |n| {
        seen((0..n).map(|_| Piece::Address(0)))
    }),
    row("omitted images", 2_000, Eyes::Few, |n| {
        seen((0..n).map(Piece::Image))
    }),
    row("messages of omitted images", 2_000, Eyes::Few, |n| {
        let pair = |at| {
            let seen = ShapeTurn::new(Who::User, vec![Piece::Image(at)]);
            [seen, ShapeTurn::text(Who::Model)]
        };
        Shape::of((0..n).flat_map(pair).collect())
    }),
    row("fields, edited", 900, Eyes::Few, |n| Shape {
        fields: n,
        ..seen((0..9).map(Piece::Image))
    }),
    row("described images", 2_000, Eyes::Blind, |n| {
        let seen = |at| ShapeTurn::new(Who::User, vec![Piece::Text, Piece::Image(at)]);
        Shape::of((0..n).map(seen).collect())
    }),
    row("headers", 80, Eyes::Good, |n| Shape {
        headers: n,
        ..Shape::question()
    }),
];

fn distinct(n: usize) -> Call {
    Call::new(format!("call.{n}"), n)
}

fn answered(calls: impl Iterator<Item = Call>, results: impl Iterator<Item = Call>) -> Shape {
    let calls = calls.map(Piece::Call).collect();
    let result = |call| Piece::Result(call, vec![Piece::Text]);
    Shape::of(vec![
        ShapeTurn::text(Who::User),
        ShapeTurn::new(Who::Model, calls),
        ShapeTurn::new(Who::Tool, results.map(result).collect()),
    ])
}

fn seen(pieces: impl Iterator<Item = Piece>) -> Shape {
    Shape::of(vec![ShapeTurn::new(Who::User, pieces.collect())])
}

fn fields(count: usize) -> Vec<String> {
    (0..count).map(|n| format!("u{n}")).collect()
}
