//! What an MCP tool answered, as a tool's output.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::ToolOutput;

/// The output, or the text of a failure.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, String> {
    if result.is_error == Some(true) {
        let texts: Vec<String> = result.content.iter().map(in_words).collect();
        return Err(texts.join("\n"));
    }
    // Structured content is told as text as well, as the protocol asks.
    if result.content.is_empty() {
        let value = result.structured_content.unwrap_or_default();
        return ToolOutput::json(&value).map_err(|error| error.to_string());
    }
    let pieces = result.content.iter();
    Ok(pieces.fold(ToolOutput::default(), |output, block| {
        match picture(block) {
            Some((media_type, data)) => output.image(media_type, data),
            None => output.and_text(in_words(block)),
        }
    }))
}

fn picture(block: &ContentBlock) -> Option<(&str, Vec<u8>)> {
    let ContentBlock::Image(image) = block else {
        return None;
    };
    let data = STANDARD.decode(&image.data).ok()?;
    Some((&image.mime_type, data))
}

/// What is no text is named, so that the model knows that it is there.
fn in_words(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[image that could not be read]".into(),
        ContentBlock::Audio(_) => "[audio]".into(),
        ContentBlock::Resource(embedded) => match &embedded.resource {
            ResourceContents::TextResourceContents { text, .. } => text.clone(),
            ResourceContents::BlobResourceContents { uri, .. } => format!("[file {uri}]"),
            _ => "[resource]".into(),
        },
        ContentBlock::ResourceLink(link) => format!("[link to {}]", link.uri),
        _ => "[content of an unknown kind]".into(),
    }
}
