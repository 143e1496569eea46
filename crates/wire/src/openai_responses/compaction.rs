//! Codec for clients of `/v1/responses/compact`: a conversation in, a shorter one out.
//!
//! OpenAI returns an encrypted item that only OpenAI can read. Here any model writes a
//! summary, which is a user's message of the new conversation, so that a client can continue
//! with any model. Providers are never called at this endpoint.

use bytes::{Bytes, BytesMut};
use majordomo_llm::{
    Dialect, Error, Message, ModelInfo, OutputFormat, Part, Request, Response, Result, ToolChoice,
};

use super::{RESPONSES, Responses, usage};
use crate::json::object;
use crate::loss::Losses;
use crate::{
    ClientError, Codec, ErrorReply, FailedResponse, Incoming, Outgoing, ReadError, Reply,
    StreamReader, StreamWriter, Written,
};

/// Returns the codec for clients of `/v1/responses/compact`. It differs from that of
/// [`Protocol::Responses`](crate::Protocol::Responses) in the requests it reads and the
/// responses it writes.
pub fn compaction() -> &'static dyn Codec {
    &Compaction
}

/// Asks for the summary.
const INSTRUCTION: &str = "Summarize this conversation for the model that continues it and \
    sees nothing else: the user's goals and constraints, decisions and their reasons, facts, \
    names and values that are still needed, the state of the work, and the next steps. Quote \
    exact identifiers, paths and commands. Reply with the summary only.";

/// Precedes the summary.
const HEADING: &str = "Summary of the conversation so far:\n\n";

struct Compaction;

impl Codec for Compaction {
    fn dialect(&self) -> Dialect {
        RESPONSES
    }

    fn takes_image_url(&self, url: &str) -> bool {
        Responses.takes_image_url(url)
    }

    fn read_request(&self, body: Bytes) -> Result<Incoming, ReadError> {
        let mut incoming = Responses.read_request(body)?;
        if incoming.request.prompt().messages.is_empty() {
            return Err(ReadError::new("input", "there is nothing to compact"));
        }
        let prompt = incoming.request.edit();
        prompt.messages.push(Message::user(INSTRUCTION));
        prompt.output = OutputFormat::Text;
        if !prompt.tools.is_empty() {
            prompt.tool_choice = ToolChoice::None;
        }
        incoming.stream = false;
        Ok(incoming)
    }

    fn write_request(&self, request: &Request, to: &Outgoing<'_>) -> Written {
        Responses.write_request(request, to)
    }

    fn read_response(&self, body: Bytes, first_call: usize) -> Result<Response> {
        Responses.read_response(body, first_call)
    }

    fn write_response(&self, response: &Response, reply: &Reply) -> Written {
        write_response(response, reply)
    }

    fn stream_reader(&self) -> Box<dyn StreamReader> {
        Responses.stream_reader()
    }

    fn stream_writer(&self, reply: &Reply) -> Box<dyn StreamWriter> {
        Responses.stream_writer(reply)
    }

    fn read_error(&self, failed: &FailedResponse<'_>) -> Error {
        Responses.read_error(failed)
    }

    fn write_client_error(&self, error: &ClientError) -> ErrorReply {
        Responses.write_client_error(error)
    }

    fn read_models(&self, body: &[u8]) -> Result<Vec<ModelInfo>> {
        Responses.read_models(body)
    }

    fn write_models(&self, models: &[ModelInfo], created: u64) -> Bytes {
        Responses.write_models(models, created)
    }
}

fn write_response(response: &Response, reply: &Reply) -> Written {
    let mut losses = Losses::default();
    for part in &response.parts {
        match part {
            Part::Text(_) => {}
            other @ (Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::Reasoning(_)
            | Part::ToolCall(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_)) => losses.part(other, "a summary is a text"),
        }
    }
    let mut body = BytesMut::with_capacity(1_024);
    object(&mut body, |o| {
        o.string("id", &reply.id);
        o.string("object", "response.compaction");
        o.number("created_at", reply.created);
        o.array("output", |a| {
            a.object(|o| {
                o.string("id", &reply.id.replace("resp_", "msg_"));
                o.string("type", "message");
                o.string("status", "completed");
                o.string("role", "user");
                o.array("content", |a| {
                    a.object(|o| {
                        o.string("type", "input_text");
                        o.string("text", &format!("{HEADING}{}", response.text().trim()));
                    });
                });
            });
        });
        o.object("usage", |o| usage::write_usage(&response.usage, o));
    });
    Written {
        body: body.freeze(),
        losses: losses.into_vec(),
    }
}

#[cfg(test)]
mod tests {
    use majordomo_llm::Role;

    use super::*;

    fn read(body: &'static str) -> Result<Incoming, ReadError> {
        compaction().read_request(Bytes::from_static(body.as_bytes()))
    }

    #[test]
    fn the_conversation_ends_with_a_request_for_its_summary() {
        let body = r#"{"model":"m","stream":true,"instructions":"Be kind.","tools":[{"type":"function","name":"f"}],"input":[{"role":"user","content":"hi"},{"role":"assistant","content":"hello"}]}"#;
        let incoming = read(body).unwrap();
        let prompt = incoming.request.prompt();
        assert!(!incoming.stream, "the endpoint does not stream");
        assert_eq!(prompt.messages.len(), 3);
        assert_eq!(prompt.messages[2], Message::user(INSTRUCTION));
        assert_eq!(prompt.system[0].text, "Be kind.");
        assert_eq!(prompt.tool_choice, ToolChoice::None);
    }

    #[test]
    fn nothing_cannot_be_compacted() {
        let error = read(r#"{"model":"m","input":[]}"#).unwrap_err();
        assert_eq!(error.path(), "input");
    }

    #[test]
    fn the_output_is_a_conversation_to_go_on_with() {
        let reply = Reply {
            id: "resp_1".into(),
            ..Reply::default()
        };
        let response = Response::new(vec![Part::text(" They said hello. ")]);
        let written = compaction().write_response(&response, &reply);
        let body: serde_json::Value = serde_json::from_slice(&written.body).unwrap();
        assert_eq!(body["object"], "response.compaction");
        assert_eq!(body["usage"]["total_tokens"], 0);
        let next = serde_json::json!({"model": "m", "input": body["output"]}).to_string();
        let next = Responses.read_request(Bytes::from(next)).unwrap();
        let [message] = next.request.prompt().messages.as_slice() else {
            panic!("{:?}", next.request.prompt());
        };
        assert_eq!(message.role, Role::User);
        let text = message.parts[0].as_text().unwrap_or_default();
        assert_eq!(text, format!("{HEADING}They said hello."));
    }
}
