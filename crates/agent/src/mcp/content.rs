//! Converts MCP results into tool output.

use base64::Engine;
use base64::engine::general_purpose::STANDARD;
use rmcp::model::{CallToolResult, ContentBlock, ResourceContents};

use crate::ToolOutput;

/// Converts a result; the error is the text of a failed call.
pub(super) fn output(result: CallToolResult) -> Result<ToolOutput, String> {
    if result.is_error == Some(true) {
        let texts: Vec<String> = result.content.iter().map(as_text).collect();
        return Err(texts.join("\n"));
    }
    // The protocol asks servers to repeat structured content as text.
    if result.content.is_empty() {
        let value = result.structured_content.unwrap_or_default();
        return ToolOutput::json(&value).map_err(|error| error.to_string());
    }
    let blocks = result.content.iter();
    Ok(
        blocks.fold(ToolOutput::default(), |output, block| match image(block) {
            Some((media_type, data)) => output.image(media_type, data),
            None => output.and_text(as_text(block)),
        }),
    )
}

fn image(block: &ContentBlock) -> Option<(&str, Vec<u8>)> {
    let ContentBlock::Image(image) = block else {
        return None;
    };
    let data = STANDARD.decode(&image.data).ok()?;
    Some((&image.mime_type, data))
}

/// Describes a block as text; other content is named, so that the model knows about it.
fn as_text(block: &ContentBlock) -> String {
    match block {
        ContentBlock::Text(text) => text.text.clone(),
        ContentBlock::Image(_) => "[image that could not be decoded]".into(),
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
