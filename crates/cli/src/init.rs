//! `majordomo init`: writes a first configuration from the keys and servers that it finds.

use std::fmt::Write as _;
use std::io::{BufRead, IsTerminal, Write};
use std::net::SocketAddr;

use majordomo::Registry;
use majordomo::dsn::ExposeSecret;
use majordomo_gateway::config::{Detected, Variables, autodetect, listen_address};
use majordomo_gateway::{Config, environment, generate_key};

use crate::error::CliError;
use crate::tool_args::InitArgs;
use crate::{new_file, output};

/// For editors; the file that `majordomo schema` prints.
const SCHEMA: &str =
    "https://raw.githubusercontent.com/majordomo-llm/majordomo/main/docs/majordomo.schema.json";

/// A first model for each provider.
const FIRST_MODELS: [(&str, &str); 5] = [
    ("anthropic", "claude-opus-5-5"),
    ("openai", "gpt-6"),
    ("google", "gemini-3.8-flash"),
    ("groq", "llama-4-scout"),
    ("deepseek", "deepseek-v4-pro"),
];

/// The answers to the three questions.
#[derive(Clone)]
struct Answers {
    providers: Vec<String>,
    spec: String,
    listen: SocketAddr,
}

pub(crate) async fn run(args: &InitArgs) -> Result<(), CliError> {
    // Fail before the three questions if the file exists.
    if args.output.exists() && !args.force {
        return new_file::write(&args.output, "", false);
    }
    let environment = environment();
    let found = autodetect(&Registry::from_env(), &environment).await;
    let mut answers = Answers {
        spec: first_spec(&found, &found.providers()),
        providers: found.providers(),
        listen: SocketAddr::from(([127, 0, 0, 1], 4100)),
    };
    let found_text = found.to_string();
    output::note(match found_text.trim_end() {
        "" => "found no provider key, no LLM_* variable and no local Ollama",
        text => text,
    });
    if !args.yes && std::io::stdin().is_terminal() {
        let mut stdin = std::io::stdin().lock();
        let problem = |answers: &Answers| {
            let text = file(&found, answers, None);
            let read = Config::parse_with("", text, &environment, Variables::Optional);
            let problems = read.err()?;
            let first = problems.list().first()?;
            let hint = first.hint.iter().map(|hint| format!("; {hint}"));
            Some(first.message.clone() + &hint.collect::<String>())
        };
        let mut stderr = std::io::stderr();
        ask(&mut stdin, &mut stderr, &found, &mut answers, problem)?;
    }
    let is_exposed = !answers.listen.ip().is_loopback();
    let key = is_exposed.then(|| generate_key("first")).transpose();
    let key = key.map_err(|error| CliError::new(format!("no key can be generated: {error}")))?;
    let text = file(&found, &answers, key.as_ref().map(|key| key.entry.as_str()));
    let name = args.output.display().to_string();
    let valid = Config::parse_with(
        name.clone(),
        text.clone(),
        &environment,
        Variables::Optional,
    );
    valid.map_err(crate::setup::listed)?;
    new_file::write(&args.output, &text, args.force)?;
    if let Some(key) = key {
        let secret = key.secret.expose_secret();
        output::note(&format!(
            "the key for clients (it is not shown again): {secret}"
        ));
    }
    output::note(&format!(
        "wrote {name}; next: majordomo check --config {name}, then majordomo serve --config {name}"
    ));
    Ok(())
}

/// Asks the three questions; an empty line keeps the suggestion, and an answer with which the
/// file would have a problem is asked for again.
fn ask(
    input: &mut impl BufRead,
    output: &mut impl Write,
    found: &Detected,
    answers: &mut Answers,
    problem: impl Fn(&Answers) -> Option<String>,
) -> Result<(), CliError> {
    let accept = |next: Answers, answers: &mut Answers| match problem(&next) {
        None => {
            *answers = next;
            true
        }
        Some(text) => {
            output::note(&text);
            false
        }
    };
    let mut question = |text: &str, suggestion: &str| -> Result<Option<String>, CliError> {
        write!(output, "{text} [{suggestion}] ")?;
        output.flush()?;
        let mut line = String::new();
        input
            .read_line(&mut line)
            .map_err(|error| CliError::new(format!("failed to read stdin: {error}")))?;
        let line = line.trim();
        Ok((!line.is_empty()).then(|| line.to_owned()))
    };
    let suggestion = match answers.providers.is_empty() {
        true => "demo".to_owned(),
        false => answers.providers.join(","),
    };
    while let Some(line) = question("Providers to use?", &suggestion)? {
        let names = line.split(',').map(|name| name.trim().to_owned());
        let providers: Vec<String> = names.filter(|name| !name.is_empty()).collect();
        let next = Answers {
            spec: first_spec(found, &providers),
            providers,
            ..answers.clone()
        };
        if accept(next, answers) {
            break;
        }
    }
    let suggestion = answers.spec.clone();
    while let Some(spec) = question("Target of the alias `default`?", &suggestion)? {
        let next = Answers {
            spec,
            ..answers.clone()
        };
        if accept(next, answers) {
            break;
        }
    }
    let suggestion = answers.listen.to_string();
    while let Some(line) = question("Address to listen on?", &suggestion)? {
        match listen_address(&line) {
            Ok(address) => {
                answers.listen = address;
                break;
            }
            Err(error) => output::note(error.hint),
        }
    }
    Ok(())
}

/// A target of the first provider whose models are known.
fn first_spec(found: &Detected, providers: &[String]) -> String {
    let known = providers.iter().find_map(|name| {
        let row = FIRST_MODELS.iter().find(|(provider, _)| provider == name);
        let listed = found.ollama.as_ref().filter(|_| name == "ollama");
        let listed = listed.and_then(|models| models.first()).map(String::as_str);
        let model = row.map(|(_, model)| *model).or(listed)?;
        Some(format!("{name}/{model}"))
    });
    known.unwrap_or_else(|| "demo/text".to_owned())
}

fn file(found: &Detected, answers: &Answers, key: Option<&str>) -> String {
    let mut text = format!(
        "#:schema {SCHEMA}\n\
         # Written by `majordomo init`. `majordomo check` validates this file; a running gateway\n\
         # reloads it when it changes. All settings: docs/guide/configuration.md\n\n\
         version = 1\n\n\
         [server]\n\
         listen = \"{}\"               # other machines need a [[keys]] entry\n",
        answers.listen
    );
    if let Some(entry) = key {
        let _ = write!(
            text,
            "\n# `majordomo key new NAME --entry` creates another one\n{entry}"
        );
    }
    for name in &answers.providers {
        let key = found.keys.iter().find(|key| key.provider == *name);
        let dsn = found.dsns.iter().find(|dsn| dsn.provider == *name);
        let _ = write!(text, "\n[providers.{}]\n", quoted_key(name));
        if let Some(dsn) = dsn {
            let _ = writeln!(text, "dsn = \"${{{}}}\"", dsn.variable);
        } else if let Some(key) = key {
            let _ = writeln!(text, "api_key = \"${{{}}}\"", key.variable);
        } else {
            text.push_str("# api_key = \"${NAME}\"   # the usual variable is found without it\n");
        }
    }
    for dsn in found.dsns.iter().filter(|dsn| dsn.problem.is_some()) {
        let _ = write!(
            text,
            "\n# {} is not used: it is not a valid DSN\n",
            dsn.variable
        );
    }
    let _ = write!(
        text,
        "\n[aliases]               # names for chains of targets, tried in order\n\
         default = {}\n\n\
         # [[routes]]            # models that clients request, with rules and balancing\n\
         # model = \"coder\"\n\
         # services = [ {{ spec = \"default\" }} ]\n",
        quoted(&answers.spec)
    );
    text
}

fn quoted(text: &str) -> String {
    // JSON's escapes are TOML's.
    serde_json::Value::from(text).to_string()
}

fn quoted_key(name: &str) -> String {
    let bare = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    match name.chars().all(bare) {
        true => name.to_owned(),
        false => quoted(name),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn answers() -> Answers {
        Answers {
            providers: Vec::new(),
            spec: "demo/text".to_owned(),
            listen: SocketAddr::from(([127, 0, 0, 1], 4100)),
        }
    }

    #[test]
    fn empty_lines_keep_the_suggestions() {
        let mut kept = answers();
        let mut shown = Vec::new();
        ask(
            &mut &b"\n\n\n"[..],
            &mut shown,
            &Detected::default(),
            &mut kept,
            |_| None,
        )
        .unwrap();
        assert_eq!(
            (kept.spec.as_str(), kept.listen.port()),
            ("demo/text", 4100)
        );
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(
            shown,
            "Providers to use? [demo] Target of the alias `default`? [demo/text] \
             Address to listen on? [127.0.0.1:4100] "
        );
    }

    #[test]
    fn answers_replace_the_suggestions_and_a_wrong_address_is_asked_again() {
        let mut given = answers();
        let input = b"anthropic, groq\ngroq/x\nhttp://a\n:4200\n";
        ask(
            &mut &input[..],
            &mut Vec::new(),
            &Detected::default(),
            &mut given,
            |_| None,
        )
        .unwrap();
        assert_eq!(given.providers, ["anthropic", "groq"]);
        assert_eq!((given.spec.as_str(), given.listen.port()), ("groq/x", 4200));
    }

    #[test]
    fn an_answer_with_a_problem_is_asked_for_again() {
        let mut given = answers();
        let input = b"maybe\ngroq\nwhat ever\ngroq/y\n\n";
        let mut shown = Vec::new();
        ask(
            &mut &input[..],
            &mut shown,
            &Detected::default(),
            &mut given,
            |answers| {
                let wrong = answers.providers == ["maybe"] || answers.spec == "what ever";
                wrong.then(|| "that is wrong".to_owned())
            },
        )
        .unwrap();
        assert_eq!(given.providers, ["groq"]);
        assert_eq!(given.spec, "groq/y");
        let shown = String::from_utf8(shown).unwrap();
        assert_eq!(shown.matches("Providers to use?").count(), 2, "{shown}");
        assert_eq!(shown.matches("Target of").count(), 2, "{shown}");
    }
}
