//! Request settings: tools, output format, sampling, effort.

use majordomo_llm::{
    Dialect, Effort, Json, Opaque, OutputFormat, OutputSchema, Prompt, Request, Tool, ToolChoice,
};

fn ask(set: impl FnOnce(&mut Prompt)) -> Prompt {
    let mut prompt = Prompt::clone(Request::user("hi").prompt());
    set(&mut prompt);
    prompt
}

fn json(text: &str) -> Json {
    Json::parse(text).expect("valid JSON")
}

fn tool() -> Tool {
    Tool::new("get_weather")
        .description("Tells the weather, \"now\".")
        .parameters(json(
            r#"{"type":"object","properties":{"city":{"type":"string","enum":["Paris","Köln"]},"days":{"type":"integer"}},"required":["city"]}"#,
        ))
}

fn choose(choice: ToolChoice) -> Prompt {
    ask(|prompt| {
        prompt.tools = vec![tool(), Tool::new("get_time")];
        prompt.tool_choice = choice;
    })
}

fn shape(name: Option<&str>, strict: Option<bool>) -> Prompt {
    ask(|prompt| {
        prompt.output = OutputFormat::Schema(OutputSchema {
            schema: json(
                r#"{"type":"object","properties":{"age":{"type":"integer"}},"required":["age"],"additionalProperties":false}"#,
            ),
            name: name.map(Into::into),
            strict,
        });
    })
}

fn think(effort: Effort) -> Prompt {
    ask(|prompt| prompt.effort = Some(effort))
}

pub(super) fn all() -> Vec<(&'static str, Prompt)> {
    vec![
        ("tools", choose(ToolChoice::Auto)),
        ("tools, none allowed", choose(ToolChoice::None)),
        ("tools, one required", choose(ToolChoice::Required)),
        (
            "tools, a named one required",
            choose(ToolChoice::Named("get_weather".into())),
        ),
        (
            "tools, one at a time",
            ask(|prompt| {
                prompt.tools = vec![tool()];
                prompt.parallel_tool_calls = Some(false);
            }),
        ),
        (
            "a strict tool",
            ask(|prompt| {
                prompt.tools = vec![Tool {
                    strict: Some(true),
                    ..tool()
                }];
            }),
        ),
        (
            "a hosted tool",
            ask(|prompt| {
                prompt.hosted_tools = vec![Opaque::new(
                    Dialect::new("somewhere-else"),
                    "web_search",
                    json(r#"{"type":"web_search"}"#),
                )];
            }),
        ),
        (
            "JSON output",
            ask(|prompt| prompt.output = OutputFormat::Json),
        ),
        ("output with a schema", shape(Some("person"), None)),
        (
            "output with a strict schema",
            shape(Some("person"), Some(true)),
        ),
        ("a token limit", ask(|prompt| prompt.max_tokens = Some(256))),
        (
            "a temperature",
            ask(|prompt| prompt.temperature = Some(0.5)),
        ),
        ("top_p", ask(|prompt| prompt.top_p = Some(0.25))),
        ("top_k", ask(|prompt| prompt.top_k = Some(40))),
        (
            "penalties",
            ask(|prompt| {
                prompt.presence_penalty = Some(0.5);
                prompt.frequency_penalty = Some(-0.5);
            }),
        ),
        ("a seed", ask(|prompt| prompt.seed = Some(42))),
        (
            "stop sequences",
            ask(|prompt| prompt.stop = vec!["END".into(), "\n\n".into()]),
        ),
        ("no reasoning", think(Effort::None)),
        ("minimal effort", think(Effort::Minimal)),
        ("low effort", think(Effort::Low)),
        ("medium effort", think(Effort::Medium)),
        ("high effort", think(Effort::High)),
        ("very high effort", think(Effort::XHigh)),
        ("maximum effort", think(Effort::Max)),
        (
            "a reasoning budget",
            ask(|prompt| prompt.reasoning_budget = Some(2_048)),
        ),
        (
            "a cache key",
            ask(|prompt| prompt.cache_key = Some("session-1".into())),
        ),
        (
            "an end user",
            ask(|prompt| prompt.user = Some("user-1".into())),
        ),
    ]
}
