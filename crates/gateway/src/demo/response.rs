//! Builds the demo's response: deterministic, and short however large the request is.

use std::collections::HashMap;

use majordomo::llm::{HeuristicEstimator, OutputFormat, TokenEstimator};
use majordomo::{
    Error, ErrorKind, FinishReason, Image, Message, Part, Request, Response, Result, Role, Tool,
    ToolCall, ToolChoice, Usage,
};

use super::instance::instance_of;
use crate::clip::clip;

/// Bytes per token, as in the plain estimate.
const BYTES_PER_TOKEN: usize = 4;
/// Maximum words of the prompt to echo.
const ECHOED_WORDS: usize = 12;
/// Maximum bytes of a word to echo.
const MAX_WORD_BYTES: usize = 64;
/// Maximum images, and tool results, to list.
const MAX_LISTED: usize = 20;
/// Maximum stop sequences to apply.
const MAX_STOPS: usize = 16;

/// The complete response of the model `id`.
pub(super) fn respond(id: &str, request: &Request) -> Result<Response> {
    let mut response = match wanted_tool(request) {
        Some(tool) => Response::new(vec![Part::ToolCall(call(tool, request)?)]),
        None => text_response(id, request)?,
    };
    response.usage = Usage::new(
        HeuristicEstimator.estimate(request),
        response.parts.iter().map(tokens).sum(),
    );
    response.reported_model = Some(id.to_owned());
    Ok(response)
}

fn tokens(part: &Part) -> u64 {
    let bytes = match part {
        Part::Text(text) => text.text.len(),
        Part::ToolCall(call) => call.name.len() + call.arguments.len(),
        Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::Reasoning(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => 0,
    };
    bytes.div_ceil(BYTES_PER_TOKEN).max(1) as u64
}

/// The tool that is forced, or that the user mentions by name.
fn wanted_tool(request: &Request) -> Option<&Tool> {
    let named = |name: &str| request.prompt().tools.iter().find(|tool| tool.name == name);
    match &request.prompt().tool_choice {
        ToolChoice::None => None,
        ToolChoice::Named(name) => named(name),
        ToolChoice::Required => request.prompt().tools.first(),
        ToolChoice::Auto if request.prompt().tools.is_empty() => None,
        ToolChoice::Auto => {
            let last = request
                .prompt()
                .messages
                .last()
                .filter(|last| is_user_turn(last))?;
            let text = last.text();
            let tools = request.prompt().tools.iter().rev();
            let tools: HashMap<&str, &Tool> = tools.map(|tool| (&*tool.name, tool)).collect();
            let words = |c: char| !(c.is_alphanumeric() || c == '_' || c == '-' || c == '.');
            text.split(words)
                .find_map(|word| tools.get(word.trim_end_matches('.')).copied())
        }
    }
}

fn call(tool: &Tool, request: &Request) -> Result<ToolCall> {
    let arguments = match &tool.parameters {
        Some(schema) => instance(
            &format!("the tool `{}`", clipped(&tool.name)),
            schema.as_str(),
        )?,
        None => "{}".to_owned(),
    };
    let id = ToolCall::synthetic_id(request.prompt().next_call_number());
    Ok(ToolCall::new(id, &tool.name, arguments))
}

/// An instance of a schema; the error names the schema's owner.
fn instance(whose: &str, schema: &str) -> Result<String> {
    instance_of(schema).map_err(|why| {
        let text = format!("the schema of {whose} {why}");
        Error::new(ErrorKind::Unsupported, text)
    })
}

/// Whether the message is the user's rather than a tool result.
fn is_user_turn(message: &Message) -> bool {
    message.role == Role::User && message.tool_results().next().is_none()
}

fn text_response(id: &str, request: &Request) -> Result<Response> {
    let text = match &request.prompt().output {
        OutputFormat::Schema(wanted) => {
            let name = wanted.name.as_deref().map(clipped);
            let name = name.map_or("the response".to_owned(), |name| {
                format!("the response `{name}`")
            });
            instance(&name, wanted.schema.as_str())?
        }
        OutputFormat::Json => format!("{{\"model\":{id:?},\"ok\":true}}"),
        OutputFormat::Text => prose(id, request),
    };
    let (text, finish) = cut(text, request);
    Ok(Response::new(vec![Part::text(text)]).with_finish(finish))
}

/// Truncates the text as the request demands, but never to nothing, since an empty
/// response is a failure.
fn cut(mut text: String, request: &Request) -> (String, FinishReason) {
    let mut finish = FinishReason::Stop;
    let stops = request.prompt().stop.iter().filter(|stop| !stop.is_empty());
    if let Some((at, stop)) = stops
        .take(MAX_STOPS)
        .filter_map(|s| Some((text.find(s.as_str())?, s)))
        .filter(|(at, _)| *at > 0)
        .min()
    {
        finish = FinishReason::StopSequence(Some(stop.clone()));
        text.truncate(at);
    }
    let most = request.prompt().max_tokens.map_or(usize::MAX, |most| {
        usize::try_from(most.max(1))
            .unwrap_or(usize::MAX)
            .saturating_mul(BYTES_PER_TOKEN)
    });
    if text.len() > most {
        let end = (0..=most).rev().find(|at| text.is_char_boundary(*at));
        text.truncate(end.unwrap_or(0));
        finish = FinishReason::Length;
    }
    (text, finish)
}

fn prose(id: &str, request: &Request) -> String {
    let mut lines = vec![format!(
        "This is `{id}`, a model built into majordomo: it needs no key and no network, and equal \
         requests get equal responses."
    )];
    let last = request
        .prompt()
        .messages
        .iter()
        .rev()
        .find(|m| m.role == Role::User);
    let prompt = last.map(Message::text).unwrap_or_default();
    match prompt.split_whitespace().count() {
        0 => lines.push("Your message has no text.".to_owned()),
        count if count > ECHOED_WORDS => lines.push(format!(
            "You said {count} words that begin with: \"{} …\"",
            echo(&prompt)
        )),
        _ => lines.push(format!("You said: \"{}\"", echo(&prompt))),
    }
    lines.extend(
        request
            .prompt()
            .messages
            .last()
            .map(results)
            .unwrap_or_default(),
    );
    lines.extend(images(request));
    lines.push(summary(request));
    lines.join("\n")
}

/// The first words of a text.
fn echo(text: &str) -> String {
    let words = text.split_whitespace().take(ECHOED_WORDS).map(clipped);
    words.collect::<Vec<&str>>().join(" ")
}

fn clipped(word: &str) -> &str {
    clip(word, MAX_WORD_BYTES)
}

/// The tool results in the last message.
fn results(last: &Message) -> Vec<String> {
    let lines = last.tool_results().take(MAX_LISTED).map(|result| {
        let name = clipped(result.name.as_deref().unwrap_or("The tool"));
        format!("`{name}` answered: \"{}\"", echo(&result.text()))
    });
    lines.collect()
}

fn images(request: &Request) -> Vec<String> {
    let mut list = ImageList::default();
    for message in &request.prompt().messages {
        list_images(&message.parts, &mut list);
    }
    let count = list.count;
    let lines = list.lines.into_iter().enumerate();
    lines
        .map(|(at, text)| format!("Image {} of {count}: {text}.", at + 1))
        .collect()
}

#[derive(Default)]
struct ImageList {
    count: usize,
    lines: Vec<String>,
}

impl ImageList {
    fn add(&mut self, describe: impl FnOnce() -> String) {
        self.count += 1;
        if self.lines.len() < MAX_LISTED {
            self.lines.push(describe());
        }
    }
}

fn list_images(parts: &[Part], list: &mut ImageList) {
    for part in parts {
        match part {
            Part::Image(image) => list.add(|| describe(image)),
            Part::RemoteImage(_) => list.add(|| "a URL, which is not fetched".to_owned()),
            Part::ToolResult(result) => list_images(&result.parts, list),
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::File(_)
            | Part::Opaque(_) => {}
        }
    }
}

fn describe(image: &Image) -> String {
    let bytes = image.data.len();
    match image.data.header() {
        Ok(header) => {
            let (width, height) = header.upright();
            format!(
                "{} of {width}×{height} pixels, {bytes} bytes",
                header.format
            )
        }
        Err(_) => format!("{bytes} bytes in an unknown format"),
    }
}

fn summary(request: &Request) -> String {
    let messages = request.prompt().messages.len();
    let mut text = format!("The conversation has {}", counted(messages, "message"));
    if !request.prompt().system_text().is_empty() {
        text.push_str(" and instructions");
    }
    if !request.prompt().tools.is_empty() {
        let tools = counted(request.prompt().tools.len(), "tool");
        text.push_str(&format!("; {tools} could be called by name"));
    }
    text.push('.');
    text
}

fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}
