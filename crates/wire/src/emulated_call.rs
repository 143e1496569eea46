//! A forced tool call, emulated as constrained text in a dialect without forced calls.
//!
//! The output is constrained to `{"name":…,"arguments":…}`, and a response of that form is
//! read as the call. A response that already has calls, or another text, is not changed.
//!
//! Uses `json` and `tool_call_limits` only.

use std::borrow::Cow;

use bytes::BytesMut;
use majordomo_llm::{
    Event, FinishReason, Json, OutputFormat, Part, Prompt, Response, Result, Tool, ToolCall,
    ToolChoice,
};

use crate::StreamReader;
use crate::frame_content::FrameContent;
use crate::json::{self, object, write_array};
use crate::tool_call_limits::MAX_ARGUMENT_BYTES;

/// The tools of which the response must call one.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EmulatedCall {
    names: Vec<String>,
    first_call: usize,
}

impl EmulatedCall {
    /// Returns the demand of a request: `None` unless it forces a call of one of its tools and
    /// leaves the output's format free.
    pub(crate) fn of(prompt: &Prompt) -> Option<Self> {
        let names: Vec<String> = demanded(prompt).map(|tool| tool.name.clone()).collect();
        (!names.is_empty()).then(|| Self {
            names,
            first_call: prompt.next_call_number(),
        })
    }

    /// Reads the call of a complete text.
    fn read(&self, text: &str) -> Option<ToolCall> {
        let (mut name, mut arguments) = (None, None);
        json::read_str(text, |cursor| {
            cursor.loose_object(|key, cursor| {
                match key.as_ref() {
                    "name" => name = cursor.maybe_string()?.map(Cow::into_owned),
                    "arguments" => arguments = Some(cursor.raw()?.to_owned()),
                    _ => drop(cursor.raw()?),
                }
                Ok(())
            })
        })
        .ok()?;
        let name = name.filter(|name| self.names.contains(name))?;
        let arguments = arguments.filter(|arguments| arguments.starts_with('{'))?;
        let id = ToolCall::synthetic_id(self.first_call);
        Some(ToolCall::new(id, name, arguments))
    }

    /// Reads the call of a whole response.
    pub fn read_response(&self, mut response: Response) -> Response {
        if response.tool_calls().next().is_some() {
            return response;
        }
        if let Some(call) = self.read(&response.text()) {
            response.parts.retain(|part| !matches!(part, Part::Text(_)));
            response.parts.push(Part::ToolCall(call));
            response.finish = called(response.finish);
        }
        response
    }

    /// Reads the call of a streamed response. Its text is held back until it is complete.
    pub fn read_stream(self, reader: Box<dyn StreamReader>) -> Box<dyn StreamReader> {
        Box::new(EmulatedCallReader {
            reader,
            call: self,
            held: Some(String::new()),
            read: false,
        })
    }
}

/// The tools that a forced choice allows.
fn demanded(prompt: &Prompt) -> impl Iterator<Item = &Tool> {
    let is_free = matches!(prompt.output, OutputFormat::Text);
    let choice = &prompt.tool_choice;
    prompt.tools.iter().filter(move |tool| match choice {
        ToolChoice::Auto | ToolChoice::None => false,
        ToolChoice::Required => is_free,
        ToolChoice::Named(name) => is_free && tool.name == *name,
    })
}

/// Writes the JSON Schema of the text.
pub(crate) fn write_schema(prompt: &Prompt, out: &mut BytesMut) {
    let tools: Vec<&Tool> = demanded(prompt).collect();
    match tools.as_slice() {
        [tool] => write_call_schema(tool, true, out),
        tools => object(out, |o| {
            write_array(o.value("anyOf"), |array| {
                for tool in tools {
                    write_call_schema(tool, false, array.value());
                }
            });
        }),
    }
}

/// Definitions that a schema's references lead to; they must stay at the root.
const DEFINITIONS: [&str; 2] = ["$defs", "definitions"];

fn write_call_schema(tool: &Tool, is_root: bool, out: &mut BytesMut) {
    let parameters = tool.parameters.as_ref().map_or("{}", Json::as_str);
    let refers = parameters.contains("\"$ref\"");
    object(out, |o| {
        o.string("type", "object");
        o.object("properties", |o| {
            o.object("name", |o| {
                o.string("type", "string");
                write_array(o.value("enum"), |array| array.string(&tool.name));
            });
            match json::is_empty(parameters) || (refers && !is_root) {
                true => o.object("arguments", |o| o.string("type", "object")),
                false => o.raw("arguments", parameters),
            }
        });
        write_array(o.value("required"), |array| {
            array.string("name");
            array.string("arguments");
        });
        if refers && is_root {
            let _ = json::read_str(parameters, |cursor| {
                cursor.loose_object(|key, cursor| {
                    let value = cursor.raw()?;
                    if DEFINITIONS.contains(&key.as_ref()) {
                        o.raw(key, value);
                    }
                    Ok(())
                })
            });
        }
    });
}

/// A truncated or filtered response keeps its reason.
fn called(finish: FinishReason) -> FinishReason {
    match finish {
        FinishReason::Stop => FinishReason::ToolCalls,
        other => other,
    }
}

struct EmulatedCallReader {
    reader: Box<dyn StreamReader>,
    call: EmulatedCall,
    /// The text so far; `None` once it is forwarded as text.
    held: Option<String>,
    /// Whether the text was read as a call.
    read: bool,
}

impl EmulatedCallReader {
    fn convert(&mut self, from: usize, events: &mut Vec<Event>) {
        for event in events.split_off(from) {
            match event {
                Event::Text(text) => self.hold(text, events),
                event @ Event::ToolCallStart { .. } => {
                    self.release(events);
                    events.push(event);
                }
                event @ Event::Usage(_) => {
                    self.complete(events);
                    events.push(event);
                }
                Event::Finish(finish) => {
                    self.complete(events);
                    let finish = match self.read {
                        true => called(finish),
                        false => finish,
                    };
                    events.push(Event::Finish(finish));
                }
                event => events.push(event),
            }
        }
    }

    fn hold(&mut self, text: String, events: &mut Vec<Event>) {
        match &mut self.held {
            Some(held) => {
                held.push_str(&text);
                if held.len() > MAX_ARGUMENT_BYTES {
                    self.release(events);
                }
            }
            None => events.push(Event::Text(text)),
        }
    }

    /// Forwards the text as plain text.
    fn release(&mut self, events: &mut Vec<Event>) {
        let held = self.held.take().filter(|held| !held.is_empty());
        events.extend(held.map(Event::Text));
    }

    fn complete(&mut self, events: &mut Vec<Event>) {
        let call = self.held.as_ref().and_then(|held| self.call.read(held));
        let Some(call) = call else {
            return self.release(events);
        };
        self.held = None;
        self.read = true;
        events.push(Event::ToolCallStart {
            index: 0,
            // Assigned like those of the dialect's own calls.
            id: None,
            name: call.name,
            native: None,
        });
        events.push(Event::ToolCallArguments {
            index: 0,
            fragment: call.arguments,
        });
        events.push(Event::ToolCallEnd { index: 0 });
    }
}

impl StreamReader for EmulatedCallReader {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let from = events.len();
        let read = self.reader.push(bytes, events);
        self.convert(from, events);
        read
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        self.reader.tap(bytes, events)
    }

    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a> {
        self.reader.content(frame)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let from = events.len();
        let read = self.reader.finish(events);
        self.convert(from, events);
        read
    }
}

#[cfg(test)]
mod tests;
