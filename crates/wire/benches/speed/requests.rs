//! Client requests: one conversation, written in each dialect.

use bytes::Bytes;
use majordomo_llm::{Json, Message, Part, Request, Tool, ToolCall, ToolResult};
use majordomo_wire::{Outgoing, Protocol};

/// About 80 KB, as coding agents send it: instructions, two dozen tools with
/// schemas, a conversation with tool calls and results full of escapes.
pub(crate) fn agent(protocol: Protocol) -> Bytes {
    let source = "fn main() {\n    let text = \"hello\\tworld\";\n    println!(\"{text}\");\n}\n";
    let instructions = "You are a careful agent. Read before you write.\n".repeat(200);
    let mut request = Request::user("Fix the bug.").system(instructions);
    for turn in 0..40 {
        let arguments = format!(r#"{{"path":"src/file_{turn}.rs"}}"#);
        let call = ToolCall::new(format!("call_{turn}"), "read_file", arguments);
        let result = ToolResult::new(&call, source.repeat(8));
        request = request
            .message(Message::assistant(Part::ToolCall(call)))
            .message(Message::tool_results_message([result]));
    }
    let schema = Json::parse(
        r#"{"type":"object","properties":{"path":{"type":"string","description":"Where to look."},"limit":{"type":"integer","minimum":1},"options":{"type":"object","properties":{"deep":{"type":"boolean"},"names":{"type":"array","items":{"type":"string"}}}}},"required":["path"]}"#,
    );
    let schema = schema.expect("valid JSON");
    for tool in 0..24 {
        let purpose = "Does something useful and says so at some length. ".repeat(12);
        let tool = Tool::new(format!("tool_{tool}")).description(purpose);
        request.edit().tools.push(tool.parameters(schema.clone()));
    }
    written(protocol, &request)
}

/// One image of a megabyte of base64.
pub(crate) fn image(protocol: Protocol) -> Bytes {
    let noise = (0..786_432_u32).map(|at| (at.wrapping_mul(at) >> 7) as u8);
    let image: Vec<u8> = b"\x89PNG\r\n\x1a\n".iter().copied().chain(noise).collect();
    let request = Request::user("What is it?").part(Part::image("image/png", image));
    written(protocol, &request)
}

fn written(protocol: Protocol, request: &Request) -> Bytes {
    let to = Outgoing::new("m").stream(true);
    let body = protocol.codec().write_request(request, &to).body;
    let again = protocol.codec().read_request(body.clone());
    again.expect("a valid body");
    body
}
