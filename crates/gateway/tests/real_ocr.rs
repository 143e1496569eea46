//! A describer that really reads: words drawn into images arrive as text.
//!
//! `tests/ocr_describer/run` starts it, draws the images and runs this; without
//! it these tests say that they were skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use majordomo::transport::{Config, Proxies, Transport};
use majordomo::{Chain, Message, Part, Registry, Request, ToolCall, ToolResult};
use majordomo_gateway::vision::{Scope, Vision, VisionConfig};

/// The server's address, `host:port`.
const ADDRESS: &str = "MAJORDOMO_OCR";
/// A folder of images, each beside a `.txt` file with the words in it.
const IMAGES: &str = "MAJORDOMO_OCR_IMAGES";

/// The describer and the images, or a word about why there are none.
fn describer() -> Option<(Chain, Vec<Drawn>)> {
    let (Ok(address), Ok(folder)) = (std::env::var(ADDRESS), std::env::var(IMAGES)) else {
        eprintln!("skipped: {ADDRESS} is not set; tests/ocr_describer/run sets it");
        return None;
    };
    let dsn = format!("openai+http://canary@{address}/v1");
    let registry = Registry::builder()
        .environment(BTreeMap::from([("LLM_OCR".to_owned(), dsn)]))
        .transport(Transport::new(Config::default().proxies(Proxies::Direct)))
        .builtins()
        .build();
    let chain = registry.parse("ocr/ocr").expect("the spec of a test");
    Some((chain, drawn(Path::new(&folder))))
}

/// An image and the words in it.
struct Drawn {
    name: String,
    image: Part,
    words: String,
}

fn drawn(folder: &Path) -> Vec<Drawn> {
    let files = std::fs::read_dir(folder).expect("the folder of images");
    let mut paths: Vec<PathBuf> = files.map(|file| file.expect("a file").path()).collect();
    paths.sort();
    let images = paths.into_iter().filter_map(|path| {
        let extension = path.extension()?.to_str()?;
        let media_type = match extension {
            "jpg" => "image/jpeg".to_owned(),
            "txt" => return None,
            other => format!("image/{other}"),
        };
        let words = std::fs::read_to_string(path.with_extension("txt")).expect("the words");
        let data = std::fs::read(&path).expect("the image");
        Some(Drawn {
            name: path.file_name()?.to_str()?.to_owned(),
            image: Part::image(media_type, data),
            words,
        })
    });
    images.collect()
}

/// Letters and digits only: readers disagree about spaces.
fn letters(text: &str) -> String {
    let kept = text.chars().filter(|c| c.is_alphanumeric());
    kept.flat_map(char::to_lowercase).collect()
}

/// A reader on a busy machine takes its time.
fn vision() -> Arc<Vision> {
    Arc::new(Vision::new(VisionConfig {
        timeout: std::time::Duration::from_secs(240),
        ..VisionConfig::default()
    }))
}

#[tokio::test]
async fn words_in_an_image_of_every_format_arrive_as_text() {
    let Some((chain, images)) = describer() else {
        return;
    };
    assert_eq!(images.len(), 4, "PNG, JPEG, WebP and GIF");
    let mut request = Request::user("What does it say?");
    for drawn in &images {
        request = request.part(drawn.image.clone());
    }
    let scope = Scope::of_key("test");
    let described = vision()
        .describe(request, Some(&chain), &scope)
        .await
        .unwrap();
    let parts = &described.request.messages[0].parts;
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
async fn words_in_a_tools_screenshot_arrive_as_text() {
    let Some((chain, images)) = describer() else {
        return;
    };
    let call = ToolCall::new("call_1", "screenshot", "{}");
    let mut result = ToolResult::new(&call, "taken");
    result.parts.push(images[0].image.clone());
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
        .messages
        .last()
        .expect("the tool's message");
    let text = last.tool_results().next().expect("its result").text();
    assert!(
        letters(&text).contains(&letters(&images[0].words)),
        "{text}"
    );
}
