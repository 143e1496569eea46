//! Limits on the tool calls of one response.
//!
//! Calls are buffered until they are complete, so a model or server that never
//! ends them must not exhaust memory, or the stack of the arguments' parser.

use majordomo_llm::{Error, ErrorKind, Event, Response, Result, ToolCall};

use crate::StreamReader;
use crate::frame_content::FrameContent;

/// Maximum number of calls in one response.
pub(crate) const MAX_TOOL_CALLS: usize = 128;
/// Maximum size of one call's arguments; more than any model writes.
pub(crate) const MAX_ARGUMENT_BYTES: usize = 1024 * 1024;
/// Maximum nesting depth of the arguments.
const MAX_ARGUMENT_DEPTH: usize = 64;

/// A stream reader that enforces the limits.
#[derive(Default)]
pub(crate) struct LimitedStreamReader<R> {
    reader: R,
    calls: SeenCalls,
}

impl<R: StreamReader> LimitedStreamReader<R> {
    /// Truncates the events before the first one that exceeds a limit.
    fn bound(&mut self, read: Result<()>, from: usize, events: &mut Vec<Event>) -> Result<()> {
        for at in from..events.len() {
            if let Err(error) = self.calls.observe(&events[at]) {
                events.truncate(at);
                return Err(error);
            }
        }
        read
    }
}

impl<R: StreamReader> StreamReader for LimitedStreamReader<R> {
    fn push(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let from = events.len();
        let read = self.reader.push(bytes, events);
        self.bound(read, from, events)
    }

    fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
        let from = events.len();
        let read = self.reader.tap(bytes, events);
        self.bound(read, from, events)
    }

    fn content<'a>(&self, frame: &'a [u8]) -> FrameContent<'a> {
        self.reader.content(frame)
    }

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let from = events.len();
        let read = self.reader.finish(events);
        self.bound(read, from, events)
    }
}

/// Returns a whole response if it is within the limits.
pub(crate) fn check_tool_calls(response: Response) -> Result<Response> {
    let mut calls = SeenCalls::default();
    for call in response.tool_calls() {
        calls.complete_call(call)?;
    }
    Ok(response)
}

/// The calls of a response so far.
#[derive(Default)]
struct SeenCalls {
    begun: usize,
    open: Vec<(usize, ArgumentLimits)>,
}

impl SeenCalls {
    fn observe(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::Start { .. } => *self = Self::default(),
            Event::ToolCallStart { index, .. } => {
                self.begin()?;
                self.open.push((*index, ArgumentLimits::default()));
            }
            Event::ToolCallArguments { index, fragment } => {
                let open = self.open.iter_mut().rev().find(|(open, _)| open == index);
                if let Some((_, arguments)) = open {
                    arguments.extend(fragment)?;
                }
            }
            Event::ToolCallEnd { index } => self.open.retain(|(open, _)| open != index),
            Event::Part(part) => {
                if let Some(call) = part.as_tool_call() {
                    self.complete_call(call)?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn complete_call(&mut self, call: &ToolCall) -> Result<()> {
        self.begin()?;
        ArgumentLimits::default().extend(&call.arguments)
    }

    fn begin(&mut self) -> Result<()> {
        self.begun += 1;
        match self.begun {
            ..=MAX_TOOL_CALLS => Ok(()),
            _ => Err(too_many_tool_calls()),
        }
    }
}

/// The error for too many tool calls.
pub(crate) fn too_many_tool_calls() -> Error {
    bad(format!(
        "the response has more than {MAX_TOOL_CALLS} tool calls"
    ))
}

/// The arguments of one call so far.
#[derive(Default)]
struct ArgumentLimits {
    length: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl ArgumentLimits {
    fn extend(&mut self, fragment: &str) -> Result<()> {
        self.length += fragment.len();
        if self.length > MAX_ARGUMENT_BYTES {
            return Err(bad(format!(
                "tool call arguments are longer than {MAX_ARGUMENT_BYTES} bytes"
            )));
        }
        for byte in fragment.bytes() {
            match byte {
                _ if self.escaped => self.escaped = false,
                b'\\' => self.escaped = self.in_string,
                b'"' => self.in_string = !self.in_string,
                _ if self.in_string => {}
                b'{' | b'[' => self.depth += 1,
                b'}' | b']' => self.depth = self.depth.saturating_sub(1),
                _ => {}
            }
            if self.depth > MAX_ARGUMENT_DEPTH {
                return Err(bad(format!(
                    "tool call arguments are nested deeper than {MAX_ARGUMENT_DEPTH} levels"
                )));
            }
        }
        Ok(())
    }
}

fn bad(what: String) -> Error {
    Error::new(ErrorKind::BadResponse, what)
}

#[cfg(test)]
mod tests {
    use majordomo_llm::Part;

    use super::*;

    fn start(index: usize) -> Event {
        Event::ToolCallStart {
            index,
            id: None,
            name: "f".into(),
            native: None,
        }
    }

    fn arguments(index: usize, fragment: &str) -> Event {
        Event::ToolCallArguments {
            index,
            fragment: fragment.into(),
        }
    }

    /// Emits these events at once.
    #[derive(Default)]
    struct ScriptedReader(Vec<Event>);

    impl StreamReader for ScriptedReader {
        fn push(&mut self, _: &[u8], events: &mut Vec<Event>) -> Result<()> {
            events.append(&mut self.0);
            Ok(())
        }

        fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
            self.push(bytes, events)
        }

        fn content<'a>(&self, _: &'a [u8]) -> FrameContent<'a> {
            FrameContent::Nothing
        }

        fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
            self.push(b"", events)
        }
    }

    /// Returns the number of emitted events and the error.
    fn read(events: Vec<Event>) -> (usize, Option<String>) {
        let mut reader = LimitedStreamReader {
            reader: ScriptedReader(events),
            calls: SeenCalls::default(),
        };
        let mut given = Vec::new();
        let error = reader.push(b"", &mut given).err();
        (given.len(), error.map(|error| error.message().to_owned()))
    }

    #[test]
    fn a_stream_ends_before_the_call_that_exceeds_the_limit() {
        let calls = |count| (0..count).map(start).collect();
        assert_eq!(read(calls(128)), (128, None));
        let error = "the response has more than 128 tool calls";
        assert_eq!(read(calls(200)), (128, Some(error.into())));
    }

    #[test]
    fn argument_sizes_are_limited_per_call() {
        let half = "x".repeat(MAX_ARGUMENT_BYTES / 2);
        let two = |index| vec![arguments(index, &half), arguments(index, &half)];
        let mut events = vec![start(0), start(7)];
        events.extend(two(0).into_iter().chain(two(7)));
        assert_eq!(read(events.clone()), (6, None));
        events.push(arguments(7, "x"));
        let error = "tool call arguments are longer than 1048576 bytes";
        assert_eq!(read(events), (6, Some(error.into())));
    }

    #[test]
    fn argument_depth_spans_fragments_and_ignores_strings() {
        let deep = |levels| {
            let open = (0..levels).map(|_| arguments(0, "["));
            std::iter::once(start(0)).chain(open).collect()
        };
        assert_eq!(read(deep(64)), (65, None));
        let error = "tool call arguments are nested deeper than 64 levels";
        assert_eq!(read(deep(65)), (65, Some(error.into())));

        let flat = format!(
            r#"{{"a":"{}\"[","b":[[]{}]}}"#,
            "[".repeat(100),
            ",[]".repeat(100)
        );
        assert_eq!(read(vec![start(0), arguments(0, &flat)]), (2, None));
    }

    #[test]
    fn whole_responses_have_the_same_limits() {
        let check_response = |count: usize, arguments: &str| {
            let calls =
                (0..count).map(|n| Part::ToolCall(ToolCall::new(n.to_string(), "f", arguments)));
            check_tool_calls(Response::new(calls.collect::<Vec<_>>())).map(drop)
        };
        assert_eq!(check_response(128, "{}").err().map(|e| e.kind()), None);
        for (count, arguments) in [
            (129, "{}".to_owned()),
            (1, "[".repeat(65)),
            (1, "x".repeat(MAX_ARGUMENT_BYTES + 1)),
        ] {
            let error = check_response(count, &arguments).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadResponse);
        }
    }
}
