//! `majordomo explain --request`: what would become of a request.

use std::io::Write;
use std::path::Path;

use majordomo::transport::{Transport, TransportConfig as Client};
use majordomo_gateway::State;
use majordomo_gateway::config::{Config, environment, find};
use majordomo_gateway::explain::{DialectFrom, Explanation, Question, TargetPlan};
use majordomo_gateway::rules::{ConditionTrace, RuleTrace};

use crate::args::Explain;
use crate::failure::Failure;
use crate::{input, paint};

pub(crate) async fn run(args: &Explain, request: &Path) -> Result<(), Failure> {
    let mut question = Question::read(input::file(request)?)?;
    if args.dialect.is_some() {
        // What is told here counts more than what the file says.
        question.path = None;
    }
    for (told, field) in [
        (&args.route, &mut question.route),
        (&args.path, &mut question.path),
        (&args.dialect, &mut question.dialect),
        (&args.key, &mut question.key),
    ] {
        if told.is_some() {
            field.clone_from(told);
        }
    }
    for header in &args.headers {
        let Some((name, value)) = header.split_once(':') else {
            let text = format!("`{header}` is no header; write it as `name: value`");
            return Err(Failure::new(text));
        };
        question.header(name.trim(), value.trim())?;
    }
    let explanation = state(args)?.explain(&question).await?;
    if args.json {
        let text = serde_json::to_string_pretty(&explanation)
            .map_err(|error| Failure::new(format!("the explanation cannot be written: {error}")))?;
        writeln!(anstream::stdout(), "{text}")?;
        return Ok(());
    }
    tell(&explanation)
}

/// The gateway as `serve` would make it, but for listening.
fn state(args: &Explain) -> Result<State, Failure> {
    let environment = environment();
    let listed =
        |problems: majordomo_gateway::config::Problems| Failure::Listed(problems.to_string());
    let config = match find(args.config.as_deref(), &environment) {
        Some(path) => Config::load(&path, &environment).map_err(listed)?,
        None => Config::empty(),
    };
    let transport = Transport::new(Client::default());
    State::new(&config, &environment, &transport, None).map_err(listed)
}

fn tell(it: &Explanation) -> Result<(), Failure> {
    let mut out = anstream::stdout().lock();
    writeln!(out, "{}", summary(it))?;
    for rule in &it.rules {
        tell_rule(&mut out, rule)?;
    }
    for ran in &it.processors {
        let (changes, by) = (told(&ran.changes, "nothing"), ran.services.join(", "));
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
        .map(|(at, target)| [(at + 1).to_string(), target.target.clone(), gets(target)])
        .collect();
    paint::table(["#", "TARGET", "GETS"], &targets)
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
        Some(route) => format!("the route `{route}`"),
        None => "no route".to_owned(),
    };
    format!(
        "{}{guessed}: asks for `{}`, about {} tokens{images}; {route}",
        it.dialect, it.model, it.tokens
    )
}

fn tell_rule(out: &mut impl Write, rule: &RuleTrace) -> std::io::Result<()> {
    let verdict = yes(rule.matched);
    writeln!(out, "rule {} `{}`: {verdict}", rule.index.0 + 1, rule.name)?;
    for condition in &rule.conditions {
        tell_condition(out, condition, 1)?;
    }
    let left = rule.total - rule.evaluated;
    if left > 0 {
        writeln!(out, "    {left} more not looked at")?;
    }
    Ok(())
}

fn tell_condition(
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
                "{indent}{position} {op}{value}: {verdict}, it is {actual:?}"
            )
        }
        ConditionTrace::Any { any, .. } => {
            writeln!(out, "{indent}any: {verdict}")?;
            any.iter()
                .try_for_each(|member| tell_condition(out, member, depth + 1))
        }
        ConditionTrace::Not { not, .. } => {
            writeln!(out, "{indent}not: {verdict}")?;
            tell_condition(out, not, depth + 1)
        }
    }
}

fn services(it: &Explanation) -> Result<(), Failure> {
    let of = |rule: &Option<String>| match rule {
        Some(rule) => format!("the rule `{rule}`"),
        None => "the route".to_owned(),
    };
    let asked = it.candidates.iter().enumerate().map(|(at, candidate)| {
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
    let rows: Vec<[String; 4]> = asked.chain(left_out).collect();
    paint::table(["#", "SERVICE", "OF", "WHY"], &rows)
}

fn gets(target: &TargetPlan) -> String {
    let gets = match &target.passed_over {
        Some(reason) => format!("nothing: {reason}"),
        None => told(&target.changes, "the request as it is"),
    };
    match &target.benched {
        Some(reason) => format!("{gets} (benched: {reason})"),
        None => gets,
    }
}

fn told(changes: &[String], nothing: &str) -> String {
    match changes {
        [] => nothing.to_owned(),
        changes => changes.join(", "),
    }
}

fn yes(matched: bool) -> &'static str {
    if matched { "yes" } else { "no" }
}
