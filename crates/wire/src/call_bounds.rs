//! How much one answer may ask of tools.
//!
//! Calls are kept until they are whole, so a model or a server that never ends
//! them must not fill our memory or the stack of whoever reads the arguments.

use majordomo_llm::{Error, ErrorKind, Event, Part, Response, Result, ToolCall};

use crate::StreamReader;

/// Calls in one answer.
pub(crate) const MOST_CALLS: usize = 128;
/// Bytes of one call's arguments: more than any model writes in one answer.
const LONGEST_ARGUMENTS: usize = 1024 * 1024;
/// Levels of arrays and objects in them.
const DEEPEST_ARGUMENTS: usize = 64;

/// A reader whose answer obeys the bounds.
#[derive(Default)]
pub(crate) struct Bounded<R> {
    reader: R,
    calls: Calls,
}

impl<R: StreamReader> Bounded<R> {
    /// Ends the events before the first one that goes too far.
    fn bound(&mut self, read: Result<()>, from: usize, events: &mut Vec<Event>) -> Result<()> {
        for at in from..events.len() {
            if let Err(error) = self.calls.take(&events[at]) {
                events.truncate(at);
                return Err(error);
            }
        }
        read
    }
}

impl<R: StreamReader> StreamReader for Bounded<R> {
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

    fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
        let from = events.len();
        let read = self.reader.finish(events);
        self.bound(read, from, events)
    }
}

/// Gives a whole answer that obeys the bounds.
pub(crate) fn check(response: Response) -> Result<Response> {
    let mut calls = Calls::default();
    for call in response.tool_calls() {
        calls.whole(call)?;
    }
    Ok(response)
}

/// What has come of an answer's calls.
#[derive(Default)]
struct Calls {
    begun: usize,
    open: Vec<(usize, Arguments)>,
}

impl Calls {
    fn take(&mut self, event: &Event) -> Result<()> {
        match event {
            Event::ToolCallStart { index, .. } => {
                self.begin()?;
                self.open.push((*index, Arguments::default()));
            }
            Event::ToolCallArguments { index, fragment } => {
                let open = self.open.iter_mut().rev().find(|(open, _)| open == index);
                if let Some((_, arguments)) = open {
                    arguments.extend(fragment)?;
                }
            }
            Event::ToolCallEnd { index } => self.open.retain(|(open, _)| open != index),
            Event::Part(Part::ToolCall(call)) => self.whole(call)?,
            _ => {}
        }
        Ok(())
    }

    fn whole(&mut self, call: &ToolCall) -> Result<()> {
        self.begin()?;
        Arguments::default().extend(&call.arguments)
    }

    fn begin(&mut self) -> Result<()> {
        self.begun += 1;
        match self.begun {
            ..=MOST_CALLS => Ok(()),
            _ => Err(too_many()),
        }
    }
}

/// The model asks for more tools than any answer has.
pub(crate) fn too_many() -> Error {
    bad(format!("the answer calls more than {MOST_CALLS} tools"))
}

/// The arguments of one call, as far as they have come.
#[derive(Default)]
struct Arguments {
    length: usize,
    depth: usize,
    in_string: bool,
    escaped: bool,
}

impl Arguments {
    fn extend(&mut self, fragment: &str) -> Result<()> {
        self.length += fragment.len();
        if self.length > LONGEST_ARGUMENTS {
            return Err(bad(format!(
                "the arguments of a tool call are longer than {LONGEST_ARGUMENTS} bytes"
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
            if self.depth > DEEPEST_ARGUMENTS {
                return Err(bad(format!(
                    "the arguments of a tool call are nested deeper than {DEEPEST_ARGUMENTS} levels"
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

    /// Gives these events, all at once.
    #[derive(Default)]
    struct Told(Vec<Event>);

    impl StreamReader for Told {
        fn push(&mut self, _: &[u8], events: &mut Vec<Event>) -> Result<()> {
            events.append(&mut self.0);
            Ok(())
        }

        fn tap(&mut self, bytes: &[u8], events: &mut Vec<Event>) -> Result<()> {
            self.push(bytes, events)
        }

        fn finish(&mut self, events: &mut Vec<Event>) -> Result<()> {
            self.push(b"", events)
        }
    }

    /// How many events are given, and the error behind them.
    fn read(events: Vec<Event>) -> (usize, Option<String>) {
        let mut reader = Bounded {
            reader: Told(events),
            calls: Calls::default(),
        };
        let mut given = Vec::new();
        let error = reader.push(b"", &mut given).err();
        (given.len(), error.map(|error| error.message().to_owned()))
    }

    #[test]
    fn one_call_too_many_ends_the_stream_before_it() {
        let calls = |count| (0..count).map(start).collect();
        assert_eq!(read(calls(128)), (128, None));
        let error = "the answer calls more than 128 tools";
        assert_eq!(read(calls(200)), (128, Some(error.into())));
    }

    #[test]
    fn arguments_are_bounded_call_by_call() {
        let half = "x".repeat(LONGEST_ARGUMENTS / 2);
        let two = |index| vec![arguments(index, &half), arguments(index, &half)];
        let mut events = vec![start(0), start(7)];
        events.extend(two(0).into_iter().chain(two(7)));
        assert_eq!(read(events.clone()), (6, None));
        events.push(arguments(7, "x"));
        let error = "the arguments of a tool call are longer than 1048576 bytes";
        assert_eq!(read(events), (6, Some(error.into())));
    }

    #[test]
    fn depth_counts_across_fragments_and_not_in_strings() {
        let deep = |levels| {
            let open = (0..levels).map(|_| arguments(0, "["));
            std::iter::once(start(0)).chain(open).collect()
        };
        assert_eq!(read(deep(64)), (65, None));
        let error = "the arguments of a tool call are nested deeper than 64 levels";
        assert_eq!(read(deep(65)), (65, Some(error.into())));

        let flat = format!(
            r#"{{"a":"{}\"[","b":[[]{}]}}"#,
            "[".repeat(100),
            ",[]".repeat(100)
        );
        assert_eq!(read(vec![start(0), arguments(0, &flat)]), (2, None));
    }

    #[test]
    fn whole_answers_obey_the_same_bounds() {
        let answer = |count: usize, arguments: &str| {
            let calls =
                (0..count).map(|n| Part::ToolCall(ToolCall::new(n.to_string(), "f", arguments)));
            check(Response::new(calls.collect::<Vec<_>>())).map(drop)
        };
        assert_eq!(answer(128, "{}").err().map(|e| e.kind()), None);
        for (count, arguments) in [
            (129, "{}".to_owned()),
            (1, "[".repeat(65)),
            (1, "x".repeat(LONGEST_ARGUMENTS + 1)),
        ] {
            let error = answer(count, &arguments).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::BadResponse);
        }
    }
}
