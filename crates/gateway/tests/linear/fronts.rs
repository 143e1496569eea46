//! Shapes encoded as clients of each front do.

use crate::ollama;
use crate::shape::{Call, Piece, Shape, ShapeTurn, Who, pictures};

/// A client dialect.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Front {
    Chat,
    Responses,
    Messages,
    Gemini,
    OllamaChat,
    OllamaGenerate,
}

impl Front {
    pub(crate) const ALL: [Self; 6] = [
        Self::Chat,
        Self::Responses,
        Self::Messages,
        Self::Gemini,
        Self::OllamaChat,
        Self::OllamaGenerate,
    ];

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Chat => "chat",
            Self::Responses => "responses",
            Self::Messages => "messages",
            Self::Gemini => "gemini",
            Self::OllamaChat => "ollama chat",
            Self::OllamaGenerate => "ollama generate",
        }
    }

    pub(crate) fn path(self, model: &str) -> String {
        match self {
            Self::Chat => "/v1/chat/completions".into(),
            Self::Responses => "/v1/responses".into(),
            Self::Messages => "/v1/messages".into(),
            Self::Gemini => format!("/v1beta/models/{model}:generateContent"),
            Self::OllamaChat => "/api/chat".into(),
            Self::OllamaGenerate => "/api/generate".into(),
        }
    }

    /// A shape's fields, without the model; none if the dialect cannot express what it
    /// repeats.
    pub(crate) fn fields(self, shape: &Shape) -> Option<String> {
        let mut fields = match self {
            Self::Chat => chat(shape),
            Self::Responses => responses(shape)?,
            Self::Messages => messages(shape),
            Self::Gemini => gemini(shape),
            Self::OllamaChat => ollama::chat(shape)?,
            Self::OllamaGenerate => ollama::generate(shape)?,
        };
        for n in 0..shape.fields {
            fields.push_str(&format!(r#","u{n}":1"#));
        }
        Some(fields)
    }
}

/// The encoding of a part, if the dialect has one.
type Written = Option<String>;

pub(crate) fn list(items: impl IntoIterator<Item = String>) -> String {
    let items: Vec<String> = items.into_iter().collect();
    format!("[{}]", items.join(","))
}

pub(crate) fn numbered(word: &str, count: usize) -> String {
    list((0..count).map(|n| format!("\"{word}{n}\"")))
}

/// The unknown fields of a message.
pub(crate) fn unknown(turns: &ShapeTurn) -> String {
    turns
        .fields
        .iter()
        .map(|name| format!(r#","{name}":1"#))
        .collect()
}

pub(crate) fn address(n: usize) -> String {
    format!("https://pictures.example/{n}.png")
}

fn data_url(n: usize) -> String {
    format!("data:image/png;base64,{}", pictures()[n])
}

/// Chat and Ollama encode tools alike.
pub(crate) fn function_tools(shape: &Shape) -> String {
    let functions = shape.tools.iter().enumerate();
    let functions = functions.map(|(n, schema)| {
        format!(r#"{{"type":"function","function":{{"name":"tool{n}","parameters":{schema}}}}}"#)
    });
    let hosted = (0..shape.hosted).map(|n| format!(r#"{{"type":"kind{n}"}}"#));
    list(functions.chain(hosted))
}

fn chat(shape: &Shape) -> String {
    let system = (0..shape.system).map(|_| r#"{"role":"system","content":"brief"}"#.to_owned());
    let turns = shape.turns.iter().flat_map(chat_messages);
    let mut text = format!(r#""messages":{}"#, list(system.chain(turns)));
    if !shape.tools.is_empty() || shape.hosted > 0 {
        text.push_str(&format!(r#","tools":{}"#, function_tools(shape)));
    }
    if shape.stops > 0 {
        text.push_str(&format!(r#","stop":{}"#, numbered("s", shape.stops)));
    }
    if let Some(schema) = &shape.schema {
        let format =
            format!(r#"{{"type":"json_schema","json_schema":{{"name":"a","schema":{schema}}}}}"#);
        text.push_str(&format!(r#","response_format":{format}"#));
    }
    text
}

fn chat_messages(turns: &ShapeTurn) -> Vec<String> {
    let rest = unknown(turns);
    if turns.who == Who::Tool {
        // Only the first message has the fields, as in dialects of one message.
        let mut rest = Some(rest);
        let results = turns.pieces.iter().filter_map(|piece| match piece {
            Piece::Result(Call { id, .. }, pieces) => {
                let rest = rest.take().unwrap_or_default();
                let content = list(pieces.iter().filter_map(chat_piece));
                Some(format!(
                    r#"{{"role":"tool","tool_call_id":"{id}","content":{content}{rest}}}"#
                ))
            }
            _ => None,
        });
        return results.collect();
    }
    let role = role(turns.who);
    let content = list(turns.pieces.iter().filter_map(chat_piece));
    let calls = turns.pieces.iter().filter_map(|piece| match piece {
        Piece::Call(Call { id, tool }) => Some(format!(
            r#"{{"id":"{id}","type":"function","function":{{"name":"{tool}","arguments":"{{}}"}}}}"#
        )),
        _ => None,
    });
    let calls = list(calls);
    let calls = match calls.as_str() {
        "[]" => String::new(),
        calls => format!(r#","tool_calls":{calls}"#),
    };
    vec![format!(
        r#"{{"role":"{role}","content":{content}{calls}{rest}}}"#
    )]
}

fn chat_piece(piece: &Piece) -> Written {
    Some(match piece {
        Piece::Text => r#"{"type":"text","text":"hi"}"#.into(),
        Piece::Image(n) => format!(r#"{{"type":"image_url","image_url":{{"url":"{}"}}}}"#, data_url(*n)),
        Piece::Address(n) => format!(r#"{{"type":"image_url","image_url":{{"url":"{}"}}}}"#, address(*n)),
        Piece::File => r#"{"type":"file","file":{"filename":"f","file_data":"data:application/pdf;base64,AQID"}}"#.into(),
        Piece::Thought(n) => format!(r#"{{"type":"thinking","thinking":"hm","field":"f{n}"}}"#),
        Piece::Unknown(n) => format!(r#"{{"type":"kind{n}"}}"#),
        Piece::Call(_) | Piece::Result(..) => return None,
    })
}

fn role(who: Who) -> &'static str {
    match who {
        Who::System => "system",
        Who::User => "user",
        Who::Model => "assistant",
        Who::Tool => "tool",
    }
}

fn responses(shape: &Shape) -> Option<String> {
    if shape.stops > 0 {
        return None;
    }
    let system = (0..shape.system).map(|_| r#"{"role":"system","content":"brief"}"#.to_owned());
    let turns = shape.turns.iter().flat_map(items);
    let mut text = format!(r#""input":{}"#, list(system.chain(turns)));
    let functions = shape.tools.iter().enumerate();
    let functions = functions.map(|(n, schema)| {
        format!(r#"{{"type":"function","name":"tool{n}","parameters":{schema}}}"#)
    });
    let hosted = (0..shape.hosted).map(|n| format!(r#"{{"type":"kind{n}"}}"#));
    text.push_str(&format!(r#","tools":{}"#, list(functions.chain(hosted))));
    if let Some(schema) = &shape.schema {
        let format = format!(r#"{{"type":"json_schema","name":"a","schema":{schema}}}"#);
        text.push_str(&format!(r#","text":{{"format":{format}}}"#));
    }
    Some(text)
}

fn items(turns: &ShapeTurn) -> Vec<String> {
    let rest = unknown(turns);
    let block = |piece: &Piece| {
        let kind = if turns.who == Who::Model {
            "output_text"
        } else {
            "input_text"
        };
        Some(match piece {
            Piece::Text => format!(r#"{{"type":"{kind}","text":"hi"}}"#),
            Piece::Image(n) => format!(r#"{{"type":"input_image","image_url":"{}"}}"#, data_url(*n)),
            Piece::Address(n) => format!(r#"{{"type":"input_image","image_url":"{}"}}"#, address(*n)),
            Piece::File => r#"{"type":"input_file","filename":"f","file_data":"data:application/pdf;base64,AQID"}"#.into(),
            Piece::Unknown(n) => format!(r#"{{"type":"kind{n}"}}"#),
            Piece::Thought(_) | Piece::Call(_) | Piece::Result(..) => return None,
        })
    };
    let mut items: Vec<String> = Vec::new();
    let content = list(turns.pieces.iter().filter_map(block));
    if content != "[]" {
        let role = role(turns.who);
        items.push(format!(
            r#"{{"type":"message","role":"{role}","content":{content}{rest}}}"#
        ));
    }
    for piece in &turns.pieces {
        items.extend(match piece {
            Piece::Call(Call { id, tool }) => Some(format!(
                r#"{{"type":"function_call","call_id":"{id}","name":"{tool}","arguments":"{{}}"}}"#
            )),
            Piece::Result(Call { id, .. }, pieces) => {
                let output = list(pieces.iter().filter_map(block));
                Some(format!(r#"{{"type":"function_call_output","call_id":"{id}","output":{output}}}"#))
            }
            Piece::Thought(n) => Some(format!(
                r#"{{"type":"reasoning","id":"r{n}","summary":[{{"type":"summary_text","text":"hm"}}]}}"#
            )),
            _ => None,
        });
    }
    items
}

fn messages(shape: &Shape) -> String {
    let block = |text: &str| format!(r#"{{"type":"text","text":"{text}"}}"#);
    let system = list((0..shape.system).map(|_| block("brief")));
    let turns = shape.turns.iter().map(|turns| {
        let role = match turns.who {
            Who::Tool => "user",
            who => role(who),
        };
        let content = list(turns.pieces.iter().map(message_block));
        format!(
            r#"{{"role":"{role}","content":{content}{}}}"#,
            unknown(turns)
        )
    });
    let mut text = format!(
        r#""max_tokens":9,"system":{system},"messages":{}"#,
        list(turns)
    );
    let tools = shape.tools.iter().enumerate();
    let tools = tools.map(|(n, schema)| format!(r#"{{"name":"tool{n}","input_schema":{schema}}}"#));
    let hosted = (0..shape.hosted).map(|n| format!(r#"{{"type":"kind{n}","name":"t{n}"}}"#));
    text.push_str(&format!(r#","tools":{}"#, list(tools.chain(hosted))));
    if shape.stops > 0 {
        text.push_str(&format!(
            r#","stop_sequences":{}"#,
            numbered("s", shape.stops)
        ));
    }
    if let Some(schema) = &shape.schema {
        let format = format!(r#"{{"type":"json_schema","schema":{schema}}}"#);
        text.push_str(&format!(r#","output_config":{{"format":{format}}}"#));
    }
    text
}

fn message_block(piece: &Piece) -> String {
    match piece {
        Piece::Text => r#"{"type":"text","text":"hi"}"#.into(),
        Piece::Image(n) => format!(
            r#"{{"type":"image","source":{{"type":"base64","media_type":"image/png","data":"{}"}}}}"#,
            pictures()[*n]
        ),
        Piece::Address(n) => format!(r#"{{"type":"image","source":{{"type":"url","url":"{}"}}}}"#, address(*n)),
        Piece::File => r#"{"type":"document","source":{"type":"base64","media_type":"application/pdf","data":"AQID"}}"#.into(),
        Piece::Thought(n) => format!(r#"{{"type":"thinking","thinking":"hm","signature":"s{n}"}}"#),
        Piece::Call(Call { id, tool }) => format!(r#"{{"type":"tool_use","id":"{id}","name":"{tool}","input":{{}}}}"#),
        Piece::Result(Call { id, .. }, pieces) => {
            let content = list(pieces.iter().map(message_block));
            format!(r#"{{"type":"tool_result","tool_use_id":"{id}","content":{content}}}"#)
        }
        Piece::Unknown(n) => format!(r#"{{"type":"kind{n}"}}"#),
    }
}

fn gemini(shape: &Shape) -> String {
    let texts = list((0..shape.system).map(|_| r#"{"text":"brief"}"#.to_owned()));
    let turns = shape.turns.iter().map(|turns| {
        let role = if turns.who == Who::Model {
            "model"
        } else {
            "user"
        };
        let parts = list(turns.pieces.iter().map(gemini_part));
        format!(r#"{{"role":"{role}","parts":{parts}{}}}"#, unknown(turns))
    });
    let mut text = format!(
        r#""systemInstruction":{{"parts":{texts}}},"contents":{}"#,
        list(turns)
    );
    let functions = shape.tools.iter().enumerate();
    let functions =
        list(functions.map(|(n, schema)| format!(r#"{{"name":"tool{n}","parameters":{schema}}}"#)));
    let hosted = (0..shape.hosted).map(|n| format!(r#"{{"kind{n}":{{}}}}"#));
    let functions = format!(r#"{{"functionDeclarations":{functions}}}"#);
    let tools = list(std::iter::once(functions).chain(hosted));
    text.push_str(&format!(r#","tools":{tools}"#));
    let schema = shape.schema.as_ref().map(|schema| {
        format!(r#","responseSchema":{schema},"responseMimeType":"application/json""#)
    });
    let stops = numbered("s", shape.stops);
    text.push_str(&format!(
        r#","generationConfig":{{"stopSequences":{stops}{}}}"#,
        schema.unwrap_or_default()
    ));
    text
}

fn gemini_part(piece: &Piece) -> String {
    // Older models' calls have no id.
    let named = |id: &str| match id {
        "" => String::new(),
        id => format!(r#""id":"{id}","#),
    };
    match piece {
        Piece::Text => r#"{"text":"hi"}"#.into(),
        Piece::Image(n) => format!(
            r#"{{"inlineData":{{"mimeType":"image/png","data":"{}"}}}}"#,
            pictures()[*n]
        ),
        Piece::Address(n) => format!(
            r#"{{"fileData":{{"mimeType":"image/png","fileUri":"{}"}}}}"#,
            address(*n)
        ),
        Piece::File => r#"{"inlineData":{"mimeType":"application/pdf","data":"AQID"}}"#.into(),
        Piece::Thought(n) => format!(r#"{{"text":"hm","thought":true,"thoughtSignature":"s{n}"}}"#),
        Piece::Call(Call { id, tool }) => format!(
            r#"{{"functionCall":{{{}"name":"{tool}","args":{{}}}}}}"#,
            named(id)
        ),
        Piece::Result(Call { id, tool }, pieces) => {
            let images = pieces
                .iter()
                .filter(|piece| matches!(piece, Piece::Image(_)));
            let parts = list(images.map(gemini_part));
            format!(
                r#"{{"functionResponse":{{{}"name":"{tool}","response":{{"output":"hi"}},"parts":{parts}}}}}"#,
                named(id)
            )
        }
        Piece::Unknown(n) => format!(r#"{{"kind{n}":1}}"#),
    }
}
