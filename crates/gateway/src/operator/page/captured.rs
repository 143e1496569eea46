//! The captured content of a request.

use std::collections::BTreeSet;

use majordomo_page::{CapturedView, ImageView, TargetImagesView};

use super::{PageContext, connect};
use crate::keys::KeyRole;
use crate::ledger_sink::now_millis;
use crate::operator::captured_images::{ImageFacts, images};
use crate::record::{FinishedRequest, RequestKind};

/// The captured part of a request's screen. Only operators see content.
pub(super) async fn view(
    context: &PageContext<'_>,
    record: &FinishedRequest,
) -> Option<CapturedView> {
    let caller = context.caller.key();
    if caller.is_some_and(|key| key.role() < KeyRole::Operator) {
        return None;
    }
    let captured = context.server.capture.find(&record.id)?;
    let path = captured.path.clone();
    let repeatable = record.kind == RequestKind::Generate;
    let found = images(context.server, context.state, captured).await;
    let keys = context.server.keys();
    let now = now_millis();
    let usable = keys.all().filter(|key| key.usable(now).is_ok());
    let names: BTreeSet<&str> = usable.map(|key| key.name()).collect();
    Some(CapturedView {
        id: record.id.to_string(),
        path,
        key: record.caller.key.as_deref().map(str::to_owned),
        keys: names.into_iter().map(str::to_owned).collect(),
        models: connect::models(context).await,
        images: found.sent.iter().map(image).collect(),
        targets: found
            .targets
            .iter()
            .map(|target| TargetImagesView {
                target: target.target.clone(),
                note: match &target.passed_over {
                    Some(reason) => format!("would be skipped: {reason}"),
                    None => target.changes.join(", "),
                },
                images: target.images.iter().map(image).collect(),
            })
            .collect(),
        problem: found.problem.filter(|_| repeatable),
        repeatable,
    })
}

fn image(facts: &ImageFacts) -> ImageView {
    let mut words: Vec<String> = facts.media_type.iter().cloned().collect();
    words.extend(
        facts
            .pixels
            .map(|(width, height)| format!("{width} × {height}")),
    );
    words.extend(facts.bytes.map(size));
    words.extend(facts.tokens.map(|tokens| format!("about {tokens} tokens")));
    let given_as = facts.given_as.map(|how| match how {
        "address" => "given by its address",
        "block" => "inside a block that only its own dialect reads",
        _ => "left out",
    });
    let described = || {
        facts
            .description
            .is_some()
            .then_some("a text instead of the image")
    };
    words.extend(given_as.or_else(described).map(str::to_owned));
    ImageView {
        href: facts.href.clone(),
        description: facts.description.clone(),
        facts: words.join(", "),
    }
}

/// `512 bytes`, `3.4 kB`, `1.2 MB`.
fn size(bytes: usize) -> String {
    match bytes {
        0..1_000 => format!("{bytes} bytes"),
        1_000..1_000_000 => format!("{:.1} kB", bytes as f64 / 1e3),
        _ => format!("{:.1} MB", bytes as f64 / 1e6),
    }
}
