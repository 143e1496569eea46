//! Reasoning state of one dialect, sealed into a field that clients of another dialect
//! send back.
//!
//! Claude's and Gemini's signatures and OpenAI's encrypted reasoning are meaningful only to
//! their own provider, but they must come back with the next request. Messages and Responses
//! have a field for such state that clients do not interpret: `signature` (or `data`) and
//! `encrypted_content`. A response writer of these dialects seals state of another origin into
//! it, and [`restore_reasoning`] opens it for a target of that origin.
//!
//! A seal names its origin and carries a checksum over its content and the reasoning text.
//! Only the fields in [`CARRIED`] are taken from a seal, so a forged one yields at most a
//! signature, which the provider itself verifies (ADR 0052).

use bytes::BytesMut;
use majordomo_llm::{Change, Dialect, Message, Native, Part, Reasoning, Request};

use crate::Protocol;
use crate::base64;
use crate::json::{is_empty, keep, object, read_str};
use crate::loss::Losses;
use crate::splice::member;

/// Begins every seal; the number is the format's version.
const PREFIX: &str = "majordomo1.";

/// The location of each dialect's state, and the fields of it that are carried.
const CARRIED: &[(Protocol, &[&str])] = &[
    (Protocol::Messages, &["signature", "data"]),
    (Protocol::Responses, &["id", "encrypted_content"]),
    (Protocol::Gemini, &["thoughtSignature"]),
    (Protocol::Chat, &["field", "reasoning_details"]),
];

/// Fields that repeat the reasoning's text.
const IN_TEXT: &[&str] = &["summary", "content"];

/// The keys under which Chat Completions servers have reasoning.
const CHAT_KEYS: &[&str] = &["reasoning_content", "reasoning"];

/// The fields in which clients send state back.
const HOLDERS: &[(Protocol, &[&str])] = &[
    (Protocol::Messages, &["signature", "data"]),
    (Protocol::Responses, &["encrypted_content"]),
];

/// The kind of value to which sealed state belongs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SealedFor {
    /// The reasoning that has the seal.
    Reasoning,
    /// The call that follows.
    NextCall,
}

impl SealedFor {
    fn as_str(self) -> &'static str {
        match self {
            Self::Reasoning => "reasoning",
            Self::NextCall => "call",
        }
    }
}

/// Seals the state of reasoning from another dialect than the client's. Lists the fields
/// that are not carried. `None` if there is nothing to carry.
pub(crate) fn seal_reasoning(
    text: &str,
    native: Option<&Native>,
    client: &Dialect,
    losses: &mut Losses,
) -> Option<String> {
    seal(text, native, client, SealedFor::Reasoning, losses)
}

/// Seals the state of a call from another dialect than the client's.
pub(crate) fn seal_call(
    native: Option<&Native>,
    client: &Dialect,
    losses: &mut Losses,
) -> Option<String> {
    // Only Gemini has state on calls.
    let native = native.filter(|native| *native.dialect() == Protocol::Gemini.dialect())?;
    seal("", Some(native), client, SealedFor::NextCall, losses)
}

fn seal(
    text: &str,
    native: Option<&Native>,
    client: &Dialect,
    belongs_to: SealedFor,
    losses: &mut Losses,
) -> Option<String> {
    let native = native.filter(|native| native.dialect() != client)?;
    let names = carried(native.dialect())?;
    let (kept, lost): (Vec<_>, Vec<_>) = native
        .fields()
        .filter(|(name, value)| !is_empty(value.as_str()) && !IN_TEXT.contains(name))
        .partition(|(name, _)| names.contains(name));
    if kept.is_empty() {
        return None;
    }
    let mut rest = Native::new(native.dialect().clone());
    for (name, value) in lost {
        rest.push(name, value.clone());
    }
    losses.own(Some(&rest), client);
    let mut payload = BytesMut::new();
    object(&mut payload, |o| {
        o.string("origin", native.dialect().as_str());
        o.string("for", belongs_to.as_str());
        o.object("state", |o| {
            for (name, value) in kept {
                o.raw(name, value.as_str());
            }
        });
    });
    let sum = checksum(&payload, text);
    let mut sealed = BytesMut::from(PREFIX.as_bytes());
    base64::encode_into(&payload, &mut sealed);
    Some(format!("{}.{sum:016x}", String::from_utf8_lossy(&sealed)))
}

fn carried(dialect: &Dialect) -> Option<&'static [&'static str]> {
    let found = CARRIED
        .iter()
        .find(|(protocol, _)| protocol.dialect() == *dialect);
    found.map(|(_, names)| *names)
}

/// FNV-1a, 64 bits, over the payload and its text. It detects truncation and edits by clients;
/// it does not prove the origin.
fn checksum(payload: &[u8], text: &str) -> u64 {
    let bytes = payload.iter().chain(text.as_bytes());
    bytes.fold(0xcbf2_9ce4_8422_2325, |hash, byte| {
        (hash ^ u64::from(*byte)).wrapping_mul(0x0100_0000_01b3)
    })
}

/// State that was opened.
struct OpenedState {
    native: Native,
    belongs_to: SealedFor,
}

/// Opens a seal; `None` if it is broken or not for this dialect.
fn open(sealed: &str, text: &str, target: &Dialect) -> Option<OpenedState> {
    let (payload, sum) = sealed.strip_prefix(PREFIX)?.rsplit_once('.')?;
    let payload = base64::decode(payload)?;
    if u64::from_str_radix(sum, 16).ok()? != checksum(&payload, text) {
        return None;
    }
    let payload = std::str::from_utf8(&payload).ok()?;
    let word = |name| -> Option<String> { serde_json::from_str(member(payload, name)?).ok() };
    if word("origin")? != target.as_str() {
        return None;
    }
    let belongs_to = match word("for")?.as_str() {
        "reasoning" => SealedFor::Reasoning,
        "call" => SealedFor::NextCall,
        _ => return None,
    };
    let names = carried(target)?;
    let mut state = Vec::new();
    let read = read_str(member(payload, "state")?, |cursor| {
        cursor.object(|name, cursor| {
            state.push((name.clone().into_owned(), keep(cursor.raw()?)));
            Ok(())
        })
    });
    read.ok()?;
    let mut native = Native::new(target.clone());
    for (name, value) in state {
        let is_expected = match name.as_str() {
            "reasoning_details" => value.as_str().starts_with('['),
            "field" => value
                .to()
                .is_ok_and(|key: String| CHAT_KEYS.contains(&&*key)),
            _ => value.as_str().starts_with('"'),
        };
        if !is_expected || !names.contains(&name.as_str()) {
            return None;
        }
        native.push(name, value);
    }
    (!native.is_empty()).then_some(OpenedState { native, belongs_to })
}

/// The seal that reasoning of a client carries.
fn sealed_in(reasoning: &Reasoning) -> Option<String> {
    let native = reasoning.native.as_deref()?;
    let (_, fields) = HOLDERS
        .iter()
        .find(|(protocol, _)| protocol.dialect() == *native.dialect())?;
    let values = fields.iter().filter_map(|name| native.get(name));
    let mut seals = values.filter(|value| value.as_str().get(1..).is_some_and(is_seal));
    seals.next()?.to().ok()
}

fn is_seal(text: &str) -> bool {
    text.starts_with(PREFIX)
}

/// Restores reasoning that a client sends back, for the target from which it came.
///
/// Sealed state of the target's dialect is restored. State of another dialect, or with a
/// broken seal, is dropped with its reasoning, even for a target of the client's own dialect,
/// which could not read it. The drop is recorded as a change.
pub fn restore_reasoning(mut request: Request, target: &Dialect) -> Request {
    let messages = &request.prompt().messages;
    let is_sealed = |part: &Part| match part {
        Part::Reasoning(reasoning) => sealed_in(reasoning).is_some(),
        Part::Text(_)
        | Part::Refusal(_)
        | Part::Image(_)
        | Part::RemoteImage(_)
        | Part::ToolCall(_)
        | Part::ToolResult(_)
        | Part::File(_)
        | Part::Opaque(_) => false,
    };
    let has_sealed = |message: &Message| message.parts.iter().any(is_sealed);
    if !messages.iter().any(has_sealed) {
        return request;
    }
    let mut dropped = 0;
    let mut for_call: Option<Native> = None;
    request.edit().messages.retain_mut(|message| {
        let was_empty = message.parts.is_empty();
        message.parts.retain_mut(|part| match part {
            Part::Reasoning(reasoning) => {
                let Some(sealed) = sealed_in(reasoning) else {
                    return true;
                };
                match open(&sealed, &reasoning.text, target) {
                    Some(OpenedState {
                        native,
                        belongs_to: SealedFor::Reasoning,
                    }) => {
                        reasoning.native = native.into_option();
                        true
                    }
                    Some(OpenedState { native, .. }) => {
                        for_call = Some(native);
                        false
                    }
                    None => {
                        dropped += 1;
                        false
                    }
                }
            }
            Part::ToolCall(call) => {
                if let Some(native) = for_call.take() {
                    call.native = native.into_option();
                }
                true
            }
            Part::Text(_)
            | Part::Refusal(_)
            | Part::Image(_)
            | Part::RemoteImage(_)
            | Part::ToolResult(_)
            | Part::File(_)
            | Part::Opaque(_) => true,
        });
        was_empty || !message.parts.is_empty()
    });
    if dropped > 0 {
        let change = Change::new("reasoning", "dropped").times(dropped);
        request.record_change(change.detail("it is sealed for a provider of another dialect"));
    }
    request
}

#[cfg(test)]
mod tests;
