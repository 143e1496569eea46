//! Shapes encoded as Ollama clients do: one text per message, images alongside.

use crate::fronts::{function_tools, list, numbered, unknown};
use crate::shape::{Call, Piece, Shape, ShapeTurn, Who, pictures};

/// A conversation; none if a message has more than Ollama's can.
pub(crate) fn chat(shape: &Shape) -> Option<String> {
    let system =
        (0..shape.system).map(|_| Some(vec![r#"{"role":"system","content":"brief"}"#.to_owned()]));
    let turns = shape.turns.iter().map(messages);
    let all: Option<Vec<Vec<String>>> = system.chain(turns).collect();
    let mut text = format!(r#""stream":false,"messages":{}"#, list(all?.concat()));
    if !shape.tools.is_empty() || shape.hosted > 0 {
        text.push_str(&format!(r#","tools":{}"#, function_tools(shape)));
    }
    settings(shape, &mut text);
    Some(text)
}

/// One user message.
pub(crate) fn generate(shape: &Shape) -> Option<String> {
    let [turns] = &shape.turns[..] else {
        return None;
    };
    let beside = !shape.tools.is_empty() || shape.hosted + shape.system > 0;
    if beside || !turns.fields.is_empty() {
        return None;
    }
    let images = list(images(&turns.pieces));
    texts(&turns.pieces)?;
    let mut text = format!(r#""stream":false,"prompt":"hi","images":{images}"#);
    settings(shape, &mut text);
    Some(text)
}

fn settings(shape: &Shape, text: &mut String) {
    if shape.stops > 0 {
        text.push_str(&format!(
            r#","options":{{"stop":{}}}"#,
            numbered("s", shape.stops)
        ));
    }
    if let Some(schema) = &shape.schema {
        text.push_str(&format!(r#","format":{schema}"#));
    }
}

fn images(pieces: &[Piece]) -> impl Iterator<Item = String> {
    pieces.iter().filter_map(|piece| match piece {
        Piece::Image(n) => Some(format!("\"{}\"", pictures()[*n])),
        _ => None,
    })
}

/// Whether there is at most one text, alongside images, calls and one reasoning part.
fn texts(pieces: &[Piece]) -> Option<()> {
    let mut texts = 0;
    for piece in pieces {
        match piece {
            Piece::Text => texts += 1,
            Piece::Image(_) | Piece::Call(_) => {}
            Piece::Address(_) | Piece::File | Piece::Thought(_) | Piece::Unknown(_) => return None,
            Piece::Result(..) => return None,
        }
    }
    (texts <= 1).then_some(())
}

fn messages(turns: &ShapeTurn) -> Option<Vec<String>> {
    let rest = unknown(turns);
    if turns.who == Who::Tool {
        let mut rest = Some(rest);
        let results = turns.pieces.iter().map(|piece| match piece {
            Piece::Result(Call { id, tool }, pieces) => {
                let rest = rest.take().unwrap_or_default();
                let images = list(images(pieces));
                Some(format!(
                    r#"{{"role":"tool","content":"hi","images":{images},"tool_name":"{tool}","tool_call_id":"{id}"{rest}}}"#
                ))
            }
            _ => None,
        });
        return results.collect();
    }
    texts(&turns.pieces)?;
    let role = match turns.who {
        Who::System => "system",
        Who::Model => "assistant",
        Who::User | Who::Tool => "user",
    };
    let images = list(images(&turns.pieces));
    let calls = turns.pieces.iter().filter_map(|piece| match piece {
        Piece::Call(Call { id, tool }) => Some(format!(
            r#"{{"id":"{id}","function":{{"name":"{tool}","arguments":{{}}}}}}"#
        )),
        _ => None,
    });
    let calls = list(calls);
    Some(vec![format!(
        r#"{{"role":"{role}","content":"hi","images":{images},"tool_calls":{calls}{rest}}}"#
    )])
}
