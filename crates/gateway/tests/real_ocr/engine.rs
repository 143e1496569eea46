//! The library alone.

use std::collections::BTreeMap;
use std::sync::Arc;

use majordomo::transport::{Proxies, Transport, TransportConfig};
use majordomo::{Chain, Message, Part, Registry, Request, ToolCall, ToolResult};
use majordomo_vision::{Scope, Vision, VisionConfig};

use super::{Drawn, TIMEOUT, letters, reader};

/// A chain to the describer, and the images.
fn describer() -> Option<(Chain, Vec<Drawn>)> {
    let (address, images) = reader()?;
    let dsn = format!("openai+http://canary@{address}/v1");
    let registry = Registry::builder()
        .environment(BTreeMap::from([("LLM_OCR".to_owned(), dsn)]))
        .transport(Transport::new(
            TransportConfig::default().proxies(Proxies::Direct),
        ))
        .builtins()
        .build();
    let chain = registry.model("ocr/ocr").expect("the spec of a test");
    Some((chain, images))
}

fn part(drawn: &Drawn) -> Part {
    Part::image(drawn.media_type.clone(), drawn.data.clone())
}

fn vision() -> Arc<Vision> {
    Arc::new(Vision::new(VisionConfig::default().with_timeout(TIMEOUT)))
}

#[tokio::test]
async fn text_in_images_of_every_format_arrives() {
    let Some((chain, images)) = describer() else {
        return;
    };
    let mut request = Request::user("What does it say?");
    for drawn in &images {
        request = request.part(part(drawn));
    }
    let scope = Scope::of_key("test");
    let described = vision()
        .describe(request, Some(&chain), &scope)
        .await
        .unwrap();
    let parts = &described.request.prompt().messages[0].parts;
    for (drawn, part) in images.iter().zip(&parts[1..]) {
        let text = part.as_text().expect("an image became a text");
        assert!(
            letters(text).contains(&letters(&drawn.words)),
            "{}: {text}; {:?}",
            drawn.name,
            described.changes
        );
    }
    assert!(described.usage.output > 4, "{:?}", described.usage);
}

#[tokio::test]
async fn text_in_a_tools_screenshot_arrives() {
    let Some((chain, images)) = describer() else {
        return;
    };
    let call = ToolCall::new("call_1", "screenshot", "{}");
    let mut result = ToolResult::new(&call, "taken");
    result.parts.push(part(&images[0]));
    let request = Request::user("Take one.")
        .message(Message::assistant(Part::ToolCall(call)))
        .message(Message::tool_results_message([result]));
    let scope = Scope::of_key("test");
    let described = vision()
        .describe(request, Some(&chain), &scope)
        .await
        .unwrap();
    let last = described
        .request
        .prompt()
        .messages
        .last()
        .expect("the tool's message");
    let text = last.tool_results().next().expect("its result").text();
    assert!(
        letters(&text).contains(&letters(&images[0].words)),
        "{text}"
    );
}
