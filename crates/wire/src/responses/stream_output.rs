//! Items of a stream that is being written: open ones, and the list of those
//! that are complete, which the last event repeats.

use bytes::BytesMut;
use majordomo_llm::{Native, Part, Reasoning, Text};

use super::write_item::{self, Face};
use crate::json::{object, write_array};
use crate::loss::Losses;

/// The output so far. An item has its place from the moment it is opened.
#[derive(Default)]
pub(super) struct Output(Vec<BytesMut>);

impl Output {
    /// The place of the next item.
    pub(super) fn open(&mut self) -> usize {
        self.0.push(BytesMut::new());
        self.0.len() - 1
    }

    /// Keeps a complete item.
    pub(super) fn close(&mut self, place: usize, item: BytesMut) {
        if let Some(slot) = self.0.get_mut(place) {
            *slot = item;
        }
    }

    /// The complete items as a JSON list.
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

/// A message that is being said.
#[derive(Default)]
pub(super) struct OpenMessage {
    pub(super) place: usize,
    pub(super) id: String,
    pub(super) parts: Vec<Part>,
    /// Whether the last part may grow.
    pub(super) growing: bool,
}

impl OpenMessage {
    pub(super) fn new(place: usize, id: String) -> Self {
        Self {
            place,
            id,
            ..Self::default()
        }
    }

    /// The text that grows, if it is of this kind.
    pub(super) fn grows(&mut self, refusal: bool) -> Option<&mut Text> {
        match self.parts.last_mut() {
            Some(Part::Text(text)) if self.growing && !refusal => Some(text),
            Some(Part::Refusal(text)) if self.growing && refusal => Some(text),
            _ => None,
        }
    }

    /// The place of the last part in the content.
    pub(super) fn content_index(&self) -> usize {
        self.parts.len().saturating_sub(1)
    }

    /// The message as a complete item.
    pub(super) fn item(&self, status: &str, losses: &mut Losses) -> BytesMut {
        let parts: Vec<&Part> = self.parts.iter().collect();
        let id = &self.id;
        let mut item = BytesMut::new();
        object(&mut item, |o| {
            write_item::message(&parts, None, Some(Face { id, status }), o, losses);
        });
        item
    }
}

/// Reasoning that is being shown. It is announced with its first text, since
/// state without text brings its own id at the end.
#[derive(Default)]
pub(super) struct OpenReasoning {
    pub(super) announced: Option<(usize, String)>,
    pub(super) text: String,
}

/// Reasoning as a complete item. State is bound to the id that its provider
/// gave it, so that id stands, whatever the item was announced as.
pub(super) fn reasoning_item(id: &str, text: &str, native: Option<&Native>) -> BytesMut {
    let mut item = BytesMut::new();
    object(&mut item, |o| {
        let status = "";
        write_item::reasoning(&Reasoning::new(text), native, Some(Face { id, status }), o);
    });
    item
}

/// A call whose arguments are coming.
pub(super) struct OpenCall {
    /// Its index among the events.
    pub(super) index: usize,
    pub(super) place: usize,
    pub(super) id: String,
    pub(super) call_id: String,
    pub(super) name: String,
    pub(super) arguments: String,
    pub(super) native: Option<Native>,
}

impl OpenCall {
    pub(super) fn item(&self, status: &str) -> BytesMut {
        let mut item = BytesMut::new();
        object(&mut item, |o| {
            write_item::function_call(
                &self.call_id,
                &self.name,
                &self.arguments,
                self.native.as_ref(),
                Some(Face {
                    id: &self.id,
                    status,
                }),
                o,
            );
        });
        item
    }
}
