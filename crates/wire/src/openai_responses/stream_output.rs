//! Items of a stream under construction: the open ones, and the completed ones,
//! which the last event repeats.

use bytes::BytesMut;
use majordomo_llm::{Native, Part, Reasoning, Text};

use super::write_item::{self, ItemHeader, WrittenCall};
use crate::custom_input::InputDecoder;
use crate::declared_tool::DeclaredTool;
use crate::json::{object, write_array};
use crate::loss::Losses;

/// The output so far. An item's index is fixed when it is opened.
#[derive(Default)]
pub(super) struct ResponsesOutput(Vec<BytesMut>);

impl ResponsesOutput {
    /// Reserves the index of the next item.
    pub(super) fn open(&mut self) -> usize {
        self.0.push(BytesMut::new());
        self.0.len() - 1
    }

    /// Stores a completed item.
    pub(super) fn close(&mut self, place: usize, item: BytesMut) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = item;
        }
    }

    /// The completed items as a JSON array.
    pub(super) fn list(&self) -> BytesMut {
        let mut list = BytesMut::new();
        write_array(&mut list, |array| {
            for item in self.0.iter().filter(|item| !item.is_empty()) {
                array.value().extend_from_slice(item);
            }
        });
        list
    }
}

/// An open message.
#[derive(Default)]
pub(super) struct ResponsesOpenMessage {
    pub(super) place: usize,
    pub(super) id: String,
    pub(super) parts: Vec<Part>,
    /// Whether the last part may grow.
    pub(super) growing: bool,
}

impl ResponsesOpenMessage {
    pub(super) fn new(place: usize, id: String) -> Self {
        Self {
            place,
            id,
            ..Self::default()
        }
    }

    /// The growing text, if it is of this kind.
    pub(super) fn grows(&mut self, refusal: bool) -> Option<&mut Text> {
        match self.parts.last_mut() {
            Some(Part::Text(text)) if self.growing && !refusal => Some(text),
            Some(Part::Refusal(text)) if self.growing && refusal => Some(text),
            _ => None,
        }
    }

    /// The index of the last part in the content.
    pub(super) fn content_index(&self) -> usize {
        self.parts.len().saturating_sub(1)
    }

    /// The message as a complete item.
    pub(super) fn item(&self, status: &str, losses: &mut Losses) -> BytesMut {
        let parts: Vec<&Part> = self.parts.iter().collect();
        let id = &self.id;
        let mut item = BytesMut::new();
        object(&mut item, |o| {
            write_item::write_message_item(
                &parts,
                None,
                Some(ItemHeader { id, status }),
                o,
                losses,
            );
        });
        item
    }
}

/// Open reasoning. It is announced with its first text, since state without
/// text brings its own id at the end.
#[derive(Default)]
pub(super) struct ResponsesOpenReasoning {
    pub(super) announced: Option<(usize, String)>,
    pub(super) text: String,
}

/// Reasoning as a complete item. State is bound to its provider's id, so that
/// id is written, even if the item was announced under another one.
pub(super) fn reasoning_item(
    id: &str,
    text: &str,
    native: Option<&Native>,
    sealed: Option<&str>,
) -> BytesMut {
    let mut item = BytesMut::new();
    object(&mut item, |o| {
        let status = "";
        write_item::write_reasoning_item(
            &Reasoning::new(text),
            native,
            sealed,
            Some(ItemHeader { id, status }),
            o,
        );
    });
    item
}

/// A call whose arguments are still streaming.
pub(super) struct ResponsesOpenCall {
    /// Its index in the events.
    pub(super) index: usize,
    pub(super) place: usize,
    pub(super) id: String,
    pub(super) call_id: String,
    pub(super) tool: DeclaredTool,
    pub(super) arguments: String,
    /// Decodes the input of a custom tool.
    pub(super) input: InputDecoder,
    pub(super) native: Option<Native>,
}

impl ResponsesOpenCall {
    pub(super) fn item(&self, status: &str) -> BytesMut {
        let call = WrittenCall {
            call_id: &self.call_id,
            name: &self.tool.name,
            namespace: self.tool.namespace.as_deref(),
            is_custom: self.tool.is_custom,
            arguments: &self.arguments,
        };
        let header = ItemHeader {
            id: &self.id,
            status,
        };
        let mut item = BytesMut::new();
        object(&mut item, |o| {
            call.write(self.native.as_ref(), Some(header), o)
        });
        item
    }
}
