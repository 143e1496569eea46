//! What the demo says: the same answer to the same request, every time. However
//! large the request is, what is said of it is short.

use std::collections::HashMap;

use majordomo::media::measure;
use majordomo::{
    Error, ErrorKind, FinishReason, HeuristicEstimator, Image, Message, OutputFormat, Part,
    Request, Response, Result, Role, TokenEstimator, Tool, ToolCall, ToolChoice, Usage,
};

use super::instance::instance_of;
use crate::clip::clip;

/// Bytes of a token, as the plain estimate has it.
const BYTES_PER_TOKEN: usize = 4;
/// How many words of the question are repeated.
const ECHOED_WORDS: usize = 12;
/// How many bytes of a word are repeated.
const LONGEST_WORD: usize = 64;
/// How many images, and results of tools, are told one by one.
const MOST_TOLD: usize = 20;
/// How many stop texts are looked for.
const MOST_STOPS: usize = 16;

/// The whole answer of the model with this id.
pub(super) fn answer(id: &str, request: &Request) -> Result<Response> {
    let mut response = match wanted_tool(request) {
        Some(tool) => Response::new(vec![Part::ToolCall(call(tool, request)?)]),
        None => spoken(id, request)?,
    };
    response.usage = Usage {
        input: HeuristicEstimator.estimate(request),
        output: response.parts.iter().map(tokens).sum(),
        ..Usage::default()
    };
    response.reported_model = Some(id.to_owned());
    Ok(response)
}

fn tokens(part: &Part) -> u64 {
    let bytes = match part {
        Part::Text(text) => text.text.len(),
        Part::ToolCall(call) => call.name.len() + call.arguments.len(),
        _ => 0,
    };
    bytes.div_ceil(BYTES_PER_TOKEN).max(1) as u64
}

/// The tool that must be called, or that the user asks for by its name.
fn wanted_tool(request: &Request) -> Option<&Tool> {
    let named = |name: &str| request.tools.iter().find(|tool| tool.name == name);
    match &request.tool_choice {
        ToolChoice::None => None,
        ToolChoice::Named(name) => named(name),
        ToolChoice::Required => request.tools.first(),
        ToolChoice::Auto if request.tools.is_empty() => None,
        ToolChoice::Auto => {
            let asked = request.messages.last().filter(|last| is_question(last))?;
            let text = asked.text();
            let tools = request.tools.iter().rev();
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
    let id = ToolCall::synthetic_id(request.next_call_number());
    Ok(ToolCall::new(id, &tool.name, arguments))
}

/// An instance of a schema, or an error that says whose schema it is.
fn instance(whose: &str, schema: &str) -> Result<String> {
    instance_of(schema).map_err(|why| {
        let text = format!("the schema of {whose} {why}");
        Error::new(ErrorKind::Unsupported, text)
    })
}

/// Whether it is the user's turn, rather than a tool's.
fn is_question(message: &Message) -> bool {
    message.role == Role::User && message.tool_results().next().is_none()
}

fn spoken(id: &str, request: &Request) -> Result<Response> {
    let text = match &request.output {
        OutputFormat::Schema(wanted) => {
            let name = wanted.name.as_deref().map(clipped);
            let name = name.map_or("the answer".to_owned(), |name| {
                format!("the answer `{name}`")
            });
            instance(&name, wanted.schema.as_str())?
        }
        OutputFormat::Json => format!("{{\"model\":{id:?},\"ok\":true}}"),
        OutputFormat::Text => prose(id, request),
    };
    let (text, finish) = cut(text, request);
    Ok(Response {
        finish,
        ..Response::new(vec![Part::text(text)])
    })
}

/// Ends the text where the request wants it to end, but not before it has begun: an
/// empty answer is a failure.
fn cut(mut text: String, request: &Request) -> (String, FinishReason) {
    let mut finish = FinishReason::Stop;
    let stops = request.stop.iter().filter(|stop| !stop.is_empty());
    if let Some((at, stop)) = stops
        .take(MOST_STOPS)
        .filter_map(|s| Some((text.find(s.as_str())?, s)))
        .filter(|(at, _)| *at > 0)
        .min()
    {
        finish = FinishReason::StopSequence(Some(stop.clone()));
        text.truncate(at);
    }
    let most = request.max_tokens.map_or(usize::MAX, |most| {
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
        "This is `{id}`, a model that is built into majordomo: it needs no key and no network, \
         and it says the same to the same request."
    )];
    let last = request.messages.iter().rev().find(|m| m.role == Role::User);
    let question = last.map(Message::text).unwrap_or_default();
    match question.split_whitespace().count() {
        0 => lines.push("You said nothing in words.".to_owned()),
        count if count > ECHOED_WORDS => lines.push(format!(
            "You said {count} words that begin with: \"{} …\"",
            echo(&question)
        )),
        _ => lines.push(format!("You said: \"{}\"", echo(&question))),
    }
    lines.extend(request.messages.last().map(results).unwrap_or_default());
    lines.extend(images(request));
    lines.push(surroundings(request));
    lines.join("\n")
}

/// The first words of a text.
fn echo(text: &str) -> String {
    let words = text.split_whitespace().take(ECHOED_WORDS).map(clipped);
    words.collect::<Vec<&str>>().join(" ")
}

fn clipped(word: &str) -> &str {
    clip(word, LONGEST_WORD)
}

/// What the tools answered, when they did just now.
fn results(last: &Message) -> Vec<String> {
    let told = last.tool_results().take(MOST_TOLD).map(|result| {
        let name = clipped(result.name.as_deref().unwrap_or("The tool"));
        format!("`{name}` answered: \"{}\"", echo(&result.text()))
    });
    told.collect()
}

fn images(request: &Request) -> Vec<String> {
    let mut seen = Seen::default();
    for message in &request.messages {
        look(&message.parts, &mut seen);
    }
    let count = seen.count;
    let lines = seen.told.into_iter().enumerate();
    lines
        .map(|(at, text)| format!("Image {} of {count}: {text}.", at + 1))
        .collect()
}

#[derive(Default)]
struct Seen {
    count: usize,
    told: Vec<String>,
}

impl Seen {
    fn add(&mut self, tell: impl FnOnce() -> String) {
        self.count += 1;
        if self.told.len() < MOST_TOLD {
            self.told.push(tell());
        }
    }
}

fn look(parts: &[Part], seen: &mut Seen) {
    for part in parts {
        match part {
            Part::Image(image) => seen.add(|| describe(image)),
            Part::RemoteImage(_) => seen.add(|| "an address, which is not looked at".to_owned()),
            Part::ToolResult(result) => look(&result.parts, seen),
            _ => {}
        }
    }
}

fn describe(image: &Image) -> String {
    let bytes = image.data.len();
    match measure(&image.data) {
        Ok(header) => {
            let (width, height) = header.upright();
            format!(
                "{} of {width}×{height} pixels, {bytes} bytes",
                header.format
            )
        }
        Err(_) => format!("{bytes} bytes that are no picture known here"),
    }
}

fn surroundings(request: &Request) -> String {
    let messages = request.messages.len();
    let mut text = format!("The conversation has {}", counted(messages, "message"));
    if !request.system_text().is_empty() {
        text.push_str(" and instructions");
    }
    if !request.tools.is_empty() {
        let tools = counted(request.tools.len(), "tool");
        text.push_str(&format!("; {tools} could be called by name"));
    }
    text.push('.');
    text
}

fn counted(count: usize, thing: &str) -> String {
    let plural = if count == 1 { "" } else { "s" };
    format!("{count} {thing}{plural}")
}
