//! `majordomo explain --request`: dry-runs a request through the gateway.

use std::io::Write;
use std::path::Path;

use majordomo_gateway::{
    ConditionTrace, DialectFrom, ExplainRequest, Explanation, RuleTrace, TargetPlan,
};

use crate::args::ExplainArgs;
use crate::error::CliError;
use crate::setup::Setup;
use crate::{input, output};

pub(crate) async fn run(args: &ExplainArgs, request: &Path) -> Result<(), CliError> {
    let mut question = ExplainRequest::read(input::file(request)?)?;
    if args.dialect.is_some() {
        // The command line takes precedence over the file.
        question.path = None;
    }
    for (given, field) in [
        (&args.route, &mut question.route),
        (&args.path, &mut question.path),
        (&args.dialect, &mut question.dialect),
        (&args.key, &mut question.key),
    ] {
        if given.is_some() {
            field.clone_from(given);
        }
    }
    for header in &args.headers {
        let Some((name, value)) = header.split_once(':') else {
            let text = format!("`{header}` is not a header; write `name: value`");
            return Err(CliError::new(text));
        };
        question.header(name.trim(), value.trim())?;
    }
    let explanation = Setup::load_offline(args.config.config.as_deref())?
        .state
        .explain(&question)
        .await?;
    if args.json {
        let text = serde_json::to_string_pretty(&explanation).map_err(|error| {
            CliError::new(format!("failed to serialize the explanation: {error}"))
        })?;
        writeln!(anstream::stdout(), "{text}")?;
        return Ok(());
    }
    print(&explanation)
}

fn print(it: &Explanation) -> Result<(), CliError> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", summary(it))?;
    for rule in &it.rules {
        print_rule(&mut out, rule)?;
    }
    for ran in &it.processors {
        let (changes, by) = (listed(&ran.changes, "no change"), ran.services.join(", "));
        let (position, op) = (ran.position, ran.op);
        writeln!(out, "processor {position} {op}: {changes}, by {by}")?;
    }
    drop(out);
    if it.route.is_some() {
        services(it)?;
    }
    let targets: Vec<[String; 3]> = it
        .targets
        .iter()
        .enumerate()
        .map(|(at, target)| {
            [
                (at + 1).to_string(),
                target.target.clone(),
                receives(target),
            ]
        })
        .collect();
    output::table(["#", "TARGET", "RECEIVES"], &targets)
}

fn summary(it: &Explanation) -> String {
    let guessed = match it.dialect_from {
        DialectFrom::Guess => " (guessed)",
        DialectFrom::Path | DialectFrom::Name => "",
    };
    let images = match it.images {
        0 => String::new(),
        1 => ", 1 image".to_owned(),
        many => format!(", {many} images"),
    };
    let route = match &it.route {
        Some(route) => format!("route `{route}`"),
        None => "no route".to_owned(),
    };
    format!(
        "{}{guessed}: model `{}`, about {} tokens{images}; {route}",
        it.dialect, it.model, it.tokens
    )
}

fn print_rule(out: &mut impl Write, rule: &RuleTrace) -> std::io::Result<()> {
    let verdict = yes(rule.matched);
    writeln!(out, "rule {} `{}`: {verdict}", rule.index.0 + 1, rule.name)?;
    for condition in &rule.conditions {
        print_condition(out, condition, 1)?;
    }
    let left = rule.total - rule.evaluated;
    if left > 0 {
        writeln!(out, "    {left} more not evaluated")?;
    }
    Ok(())
}

fn print_condition(
    out: &mut impl Write,
    condition: &ConditionTrace,
    depth: usize,
) -> std::io::Result<()> {
    let indent = "    ".repeat(depth);
    let verdict = yes(condition.matched());
    match condition {
        ConditionTrace::Leaf {
            position,
            op,
            value,
            actual,
            ..
        } => {
            let value = value.as_ref().map(|value| format!(" {value}"));
            let value = value.unwrap_or_default();
            writeln!(
                out,
                "{indent}{position} {op}{value}: {verdict}, found {actual:?}"
            )
        }
        ConditionTrace::Any { any, .. } => {
            writeln!(out, "{indent}any: {verdict}")?;
            any.iter()
                .try_for_each(|member| print_condition(out, member, depth + 1))
        }
        ConditionTrace::Not { not, .. } => {
            writeln!(out, "{indent}not: {verdict}")?;
            print_condition(out, not, depth + 1)
        }
    }
}

fn services(it: &Explanation) -> Result<(), CliError> {
    let of = |rule: &Option<String>| match rule {
        Some(rule) => format!("rule `{rule}`"),
        None => "route".to_owned(),
    };
    let candidates = it.candidates.iter().enumerate().map(|(at, candidate)| {
        let why = match &it.pick {
            Some(pick) if at == 0 => format!("picked by {} ({})", pick.because, pick.tactic),
            _ => String::new(),
        };
        let number = (at + 1).to_string();
        [number, candidate.service.clone(), of(&candidate.rule), why]
    });
    let left_out = it.left_out.iter().map(|service| {
        let why = service.why.to_owned();
        [
            "-".to_owned(),
            service.service.clone(),
            of(&service.rule),
            why,
        ]
    });
    let rows: Vec<[String; 4]> = candidates.chain(left_out).collect();
    output::table(["#", "SERVICE", "FROM", "WHY"], &rows)
}

fn receives(target: &TargetPlan) -> String {
    let receives = match &target.passed_over {
        Some(reason) => format!("nothing: {reason}"),
        None => listed(&target.changes, "the request unchanged"),
    };
    match &target.benched {
        Some(reason) => format!("{receives} (benched: {reason})"),
        None => receives,
    }
}

fn listed(changes: &[String], nothing: &str) -> String {
    match changes {
        [] => nothing.to_owned(),
        changes => changes.join(", "),
    }
}

fn yes(matched: bool) -> &'static str {
    if matched { "yes" } else { "no" }
}
