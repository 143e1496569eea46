//! The images of a captured request, and what each target receives instead of them.
//!
//! Computed again from the request: fitting an image gives the same bytes each time, and the
//! descriptions that were used are kept with it.

use std::sync::Arc;

use bytes::Bytes;
use majordomo::chain::Preview;
use majordomo::llm::{Change, Image, ImageRef, ModelExt as _, Prompt};
use majordomo::media::measure;
use majordomo::{Message, Part, Request, Role};
use majordomo_limits::Flow;
use serde::Serialize;

use super::captures::PREFIX;
use crate::capture::CapturedRequest;
use crate::explain::{ExplainRequest, PastRequest};
use crate::server::ServerContext;
use crate::state::GatewayState;

/// The images of a request, and of what each target receives.
#[derive(Default, Serialize)]
pub(super) struct CapturedImages {
    /// As the client sent them.
    pub(super) sent: Vec<ImageFacts>,
    pub(super) targets: Vec<TargetImages>,
    /// Why there is no list.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) problem: Option<String>,
    /// The bytes, by the number of the list.
    #[serde(skip)]
    lists: Vec<Vec<Option<Image>>>,
}

/// What a target receives.
#[derive(Serialize)]
pub(super) struct TargetImages {
    pub(super) target: String,
    pub(super) changes: Vec<String>,
    /// Why it would be skipped.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) passed_over: Option<String>,
    /// One for each image that was sent, in the same order.
    pub(super) images: Vec<ImageFacts>,
}

/// An image, as far as it is known.
#[derive(Clone, Default, Serialize)]
pub(super) struct ImageFacts {
    /// Its media type by its bytes.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) media_type: Option<String>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) pixels: Option<(u32, u32)>,
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) bytes: Option<usize>,
    /// About what the target counts for it.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) tokens: Option<u64>,
    /// Where its bytes are.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) href: Option<String>,
    /// The text that the target receives instead.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) description: Option<String>,
    /// Why nothing else is known of it: `address`, `block` or `absent`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub(super) given_as: Option<&'static str>,
}

/// What became of an image.
enum Received<'a> {
    Image(ImageRef<'a>),
    Text(&'a str),
    Absent,
}

/// Computes what each target receives.
pub(super) async fn images(
    context: &Arc<ServerContext>,
    state: &Arc<GatewayState>,
    request: Arc<CapturedRequest>,
) -> CapturedImages {
    let (state, size) = (Arc::clone(state), request.body.len());
    // It may be large, and decoding images takes a while.
    let work = async move { computed(&state, &request).await };
    context.lane.spawn(Flow::named("explain"), size, work).await
}

async fn computed(state: &GatewayState, captured: &CapturedRequest) -> CapturedImages {
    let path = captured.path.split('?').next().unwrap_or_default();
    let input = ExplainRequest {
        body: captured.body.clone(),
        path: Some(path.to_owned()),
        ..ExplainRequest::default()
    };
    let past = PastRequest {
        key: &captured.key,
        used: captured.used_descriptions(),
    };
    let (request, previews) = match state.preview(&input, past).await {
        Ok(found) => found,
        Err(error) => {
            let problem = Some(crate::client_error::for_client(&error).message);
            return CapturedImages {
                problem,
                ..CapturedImages::default()
            };
        }
    };
    let mut all = CapturedImages::default();
    let place = format!("{PREFIX}{}/images", captured.id);
    let sent = request.prompt().images().map(Received::Image);
    all.sent = all.add(sent.collect(), &place, |_| None);
    for preview in previews {
        let images = all.target(state, request.prompt(), preview, &place);
        all.targets.push(images);
    }
    all
}

impl CapturedImages {
    /// The bytes of an image of a list: the first is what was sent.
    pub(super) fn bytes(&self, list: usize, image: usize) -> Option<&Image> {
        self.lists.get(list)?.get(image)?.as_ref()
    }

    fn target(
        &mut self,
        state: &GatewayState,
        sent: &Prompt,
        preview: Preview,
        place: &str,
    ) -> TargetImages {
        let target = preview.target.to_string();
        let provider = state.registry.provider(preview.target.provider()).ok();
        let model = provider.and_then(|provider| provider.model(preview.target.model()).ok());
        let tokens = |image: &Image| {
            let model = model.as_ref()?;
            let alone = Request::user("").part(Part::Image(image.clone()));
            let without = model.estimate_tokens(&Request::user(""));
            Some(model.estimate_tokens(&alone).saturating_sub(without))
        };
        match preview.shaped {
            Ok(shaped) => TargetImages {
                target,
                changes: shaped.changes.iter().map(Change::to_string).collect(),
                passed_over: None,
                images: self.add(received(sent, shaped.request.prompt()), place, tokens),
            },
            Err(error) => {
                self.lists.push(Vec::new());
                TargetImages {
                    target,
                    changes: Vec::new(),
                    passed_over: Some(error.message().to_owned()),
                    images: Vec::new(),
                }
            }
        }
    }

    /// Adds a list of images; their bytes are found under its number.
    fn add(
        &mut self,
        images: Vec<Received<'_>>,
        place: &str,
        tokens: impl Fn(&Image) -> Option<u64>,
    ) -> Vec<ImageFacts> {
        let list = self.lists.len();
        let (mut facts, mut kept) = (Vec::new(), Vec::new());
        for (number, image) in images.into_iter().enumerate() {
            let given_as = |how| ImageFacts {
                given_as: Some(how),
                ..ImageFacts::default()
            };
            let mut inline = None;
            facts.push(match image {
                Received::Image(ImageRef::Inline(image)) => {
                    inline = Some(image.clone());
                    ImageFacts {
                        tokens: tokens(image),
                        href: Some(format!("{place}/{list}/{number}")),
                        ..measured(image)
                    }
                }
                Received::Image(ImageRef::Remote(_)) => given_as("address"),
                Received::Image(ImageRef::File(_) | ImageRef::Opaque { .. }) => given_as("block"),
                Received::Text(text) => ImageFacts {
                    description: Some(text.to_owned()),
                    ..ImageFacts::default()
                },
                Received::Absent => given_as("absent"),
            });
            kept.push(inline);
        }
        self.lists.push(kept);
        facts
    }
}

fn measured(image: &Image) -> ImageFacts {
    let data: Bytes = (*image.data).clone();
    let header = measure(&data).ok();
    ImageFacts {
        media_type: header.map(|header| header.format.media_type().to_owned()),
        pixels: header.map(|header| (header.width, header.height)),
        bytes: Some(data.len()),
        ..ImageFacts::default()
    }
}

/// What stands in the place of each image that was sent.
fn received<'a>(sent: &Prompt, shaped: &'a Prompt) -> Vec<Received<'a>> {
    // A shape may put instructions in front.
    let instructions = |prompt: &Prompt| {
        let messages = prompt.messages.iter();
        messages.take_while(|it| it.role == Role::System).count()
    };
    let added = instructions(shaped).saturating_sub(instructions(sent));
    let mut found = Vec::new();
    for (index, message) in sent.messages.iter().enumerate() {
        let now = shaped.messages.get(index + added);
        let parts = now.map_or(&[][..], |message| &message.parts);
        in_parts(&message.parts, parts, &mut found);
    }
    // Those outside the messages are instructions; only the same number can be distinguished.
    let (before, now) = (elsewhere(sent), elsewhere(shaped));
    match now.len() == before.len() {
        true => found.extend(now.into_iter().map(Received::Image)),
        false => found.extend(before.iter().map(|_| Received::Absent)),
    }
    found
}

/// The images outside the messages, which come last.
fn elsewhere(prompt: &Prompt) -> Vec<ImageRef<'_>> {
    let in_messages = prompt.messages.iter().map(Message::image_count).sum();
    prompt.images().skip(in_messages).collect()
}

fn in_parts<'a>(sent: &[Part], now: &'a [Part], found: &mut Vec<Received<'a>>) {
    for (index, part) in sent.iter().enumerate() {
        let count = part.image_count();
        match (part, now.get(index)) {
            (Part::ToolResult(part), Some(Part::ToolResult(now))) => {
                in_parts(&part.parts, &now.parts, found);
            }
            (_, Some(Part::Text(text))) if count == 1 => found.push(Received::Text(&text.text)),
            (_, Some(now)) if now.image_count() == count => {
                found.extend(now.images().map(Received::Image));
            }
            _ => found.extend((0..count).map(|_| Received::Absent)),
        }
    }
}

#[cfg(test)]
mod tests {
    use majordomo::{ToolCall, ToolResult};

    use super::*;

    fn picture() -> Part {
        Part::image("image/png", vec![1])
    }

    fn words(request: &Request, change: impl FnOnce(&mut Prompt)) -> Vec<String> {
        let mut shaped = request.clone();
        change(shaped.edit());
        let found = received(request.prompt(), shaped.prompt());
        let word = |image: &Received<'_>| match image {
            Received::Image(_) => "image".to_owned(),
            Received::Text(text) => (*text).to_owned(),
            Received::Absent => "absent".to_owned(),
        };
        found.iter().map(word).collect()
    }

    fn request() -> Request {
        let mut result = ToolResult::new(&ToolCall::new("call", "shot", "{}"), "");
        result.parts = vec![Part::text("see"), picture()];
        let mut request = Request::user("one").part(picture());
        let messages = &mut request.edit().messages;
        messages.push(Message::new(
            Role::User,
            vec![Part::ToolResult(result), picture()],
        ));
        request
    }

    #[test]
    fn each_image_is_beside_what_replaced_it() {
        let request = request();
        assert_eq!(words(&request, |_| {}), ["image", "image", "image"]);
        let numbered = |prompt: &mut Prompt| {
            let mut number = 0;
            let mut next = || {
                number += 1;
                (number != 2).then(|| format!("text {number}"))
            };
            prompt
                .images_mut()
                .for_each(|part| part.replace_images(&mut next));
        };
        assert_eq!(words(&request, numbered), ["text 1", "image", "text 3"]);
    }

    #[test]
    fn an_instruction_in_front_and_a_missing_message_do_not_shift_the_others() {
        let request = request();
        let instructed = |prompt: &mut Prompt| {
            prompt
                .messages
                .insert(0, Message::system("Answer in JSON."));
        };
        assert_eq!(words(&request, instructed), ["image", "image", "image"]);
        let cut = |prompt: &mut Prompt| prompt.messages.truncate(1);
        assert_eq!(words(&request, cut), ["image", "absent", "absent"]);
    }
}
