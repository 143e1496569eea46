//! Checks a shaped request against a target's declared capabilities.

use majordomo_llm::{Capabilities, Error, ErrorKind, ModelExt, Request, Result};

use super::ChainTarget;

/// Refuses what the target is known not to take. The shapes ran before, so an image that
/// is left is one that none of them could replace.
pub(super) fn check(
    request: &Request,
    target: &ChainTarget,
    capabilities: &Capabilities,
) -> Result<()> {
    let error = |kind, message: &str| {
        Err(Error::new(kind, message).with_target(target.name().provider(), target.name().model()))
    };
    if !capabilities.tools && !request.prompt().tools.is_empty() {
        return error(ErrorKind::Unsupported, "it calls no tools");
    }
    if !capabilities.takes_images() && request.prompt().image_count() > 0 {
        return error(ErrorKind::Unsupported, "it takes no images");
    }
    if let Some(window) = capabilities.context_window {
        let tokens = target.model().estimate_tokens(request);
        if tokens > window {
            let text = format!("about {tokens} tokens do not fit its window of {window}");
            return error(ErrorKind::ContextLength, &text);
        }
    }
    Ok(())
}
