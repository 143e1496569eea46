//! Ties the table to the contract: every list in its types has a row, and every
//! limit is reached by one.

use majordomo::llm::{File, Opaque, Prompt, Reasoning, RemoteImage, Text};
use majordomo::{Image, Message, Part, Request, Tool, ToolCall, ToolResult};
use majordomo_gateway::config::MaxCounts;

use crate::table::ROWS;

/// The rows of each list in the contract's types. A new field does not compile here
/// until it is assigned to a row or declared not to be a list.
fn rows_of_the_contract(request: &Request) -> Vec<&'static str> {
    let Prompt {
        system,
        messages,
        tools,
        hosted_tools,
        tool_choice: _,
        parallel_tool_calls: _,
        output: _,
        max_tokens: _,
        temperature: _,
        top_p: _,
        top_k: _,
        presence_penalty: _,
        frequency_penalty: _,
        seed: _,
        stop,
        effort: _,
        reasoning_budget: _,
        prompt_cache: _,
        cache_key: _,
        user: _,
        native: _,
        unread_images,
    } = request.prompt();
    let mut rows = vec![
        "properties of the answer",
        "fields of the request",
        "headers",
    ];
    for Text { text: _, native: _ } in system {
        rows.push("instructions");
    }
    rows.extend(hosted_tools.iter().map(|_| "hosted tools"));
    rows.extend(unread_images.iter().map(|_| "images"));
    rows.extend(stop.iter().map(|_| "stop sequences"));
    for tool in tools {
        let Tool {
            name: _,
            description: _,
            parameters: _,
            strict: _,
            native: _,
        } = tool;
        rows.extend(["tools", "properties of a tool", "nested properties"]);
    }
    for message in messages {
        let Message {
            role: _,
            parts,
            native: _,
        } = message;
        rows.extend(["messages", "parts", "fields of messages"]);
        parts
            .iter()
            .for_each(|part| rows_of_a_part(part, &mut rows));
    }
    rows
}

fn rows_of_a_part(part: &Part, rows: &mut Vec<&'static str>) {
    match part {
        Part::Text(Text { text: _, native: _ }) | Part::Refusal(Text { text: _, native: _ }) => {
            rows.push("parts");
        }
        Part::Image(Image {
            media_type: _,
            data: _,
            native: _,
        }) => rows.extend(["images", "one image", "omitted images", "described images"]),
        Part::RemoteImage(RemoteImage { url: _, native: _ }) => {
            rows.extend(["addresses", "one address"]);
        }
        Part::Reasoning(Reasoning { text: _, native: _ }) => rows.push("thoughts"),
        Part::ToolCall(ToolCall {
            id: _,
            name: _,
            arguments: _,
            native: _,
        }) => rows.extend([
            "calls and results",
            "calls of one id",
            "calls without an id",
        ]),
        Part::ToolResult(ToolResult {
            call_id: _,
            name: _,
            parts,
            is_error: _,
            native: _,
        }) => {
            rows.extend([
                "results in reverse",
                "results of no call",
                "images of tools",
            ]);
            parts.iter().for_each(|part| rows_of_a_part(part, rows));
        }
        Part::File(File {
            media_type: _,
            data: _,
            name: _,
            native: _,
        }) => rows.push("files"),
        Part::Opaque(_) => rows.push("unknown parts"),
    }
}

/// Rows that the contract requires and the table lacks, and rows whose count is not
/// permitted.
pub(crate) fn mistakes() -> Vec<String> {
    let call = ToolCall::new("1", "look", "{}");
    let mut request = Request::user("hi")
        .system("brief")
        .stop("x")
        .tool(Tool::new("look"));
    let opaque = Opaque::new(
        majordomo::llm::Dialect::new("x"),
        "x",
        majordomo::Json::string("x"),
    );
    request.edit().hosted_tools.push(opaque.clone());
    let parts = [
        Part::image("image/png", vec![1]),
        Part::RemoteImage(RemoteImage {
            url: "https://pictures.example/1".into(),
            native: None,
        }),
        Part::Reasoning(Reasoning::new("hm")),
        Part::ToolResult(ToolResult::new(&call, "seen")),
        Part::ToolCall(call),
        Part::File(File {
            media_type: "text/plain".into(),
            data: "x".into(),
            name: None,
            native: None,
        }),
        Part::Opaque(opaque),
    ];
    for part in parts {
        request = request.message(Message::user(part));
    }
    let has = |name: &&str| ROWS.iter().any(|row| row.name == *name);
    let wanted = rows_of_the_contract(&request);
    let missing = wanted.into_iter().filter(|name| !has(name));
    let mut mistakes: Vec<String> = missing.map(|name| format!("no row `{name}`")).collect();
    mistakes.extend(unreached_limits());
    mistakes
}

/// Limits that no row reaches.
fn unreached_limits() -> Vec<String> {
    let MaxCounts {
        messages,
        parts,
        images,
        tools,
        stops,
        fields,
        // Every row stays below it: one above it would be refused, which fails the run.
        values: _,
    } = MaxCounts::default();
    let full = [
        ("messages", messages),
        ("parts", parts),
        ("images", images),
        ("tools", tools),
        ("stop sequences", stops),
        ("fields of messages", fields),
    ];
    let most = |name: &str| ROWS.iter().find(|row| row.name == name).map(|row| row.most);
    full.iter()
        .filter(|(name, limit)| most(name) != Some(*limit))
        .map(|(name, limit)| format!("the row `{name}` does not reach its limit of {limit}"))
        .collect()
}
