//! Checks a shaped request against a target's declared capabilities.

use majordomo_llm::{Capabilities, Error, ErrorKind, ModelExt, Request, Result};

use super::ChainTarget;

/// Rejects a request with content that the target is known not to support. The shapes have
/// run, so no shape could replace an image that remains.
pub(super) fn check_capabilities(
    request: &Request,
    target: &ChainTarget,
    capabilities: &Capabilities,
) -> Result<()> {
    if !capabilities.tools && !request.prompt().tools.is_empty() {
        return Err(refusal(target, ErrorKind::Unsupported, "it calls no tools"));
    }
    if !capabilities.takes_images() && request.prompt().image_count() > 0 {
        return Err(refusal(
            target,
            ErrorKind::Unsupported,
            "it takes no images",
        ));
    }
    Ok(())
}

/// Rejects a request that is too long for the target. If the window is known, returns how many
/// tokens it leaves for the response.
pub(super) fn check_window(request: &Request, target: &ChainTarget) -> Result<Option<u64>> {
    let Some(window) = target.model().capabilities().context_window else {
        return Ok(None);
    };
    let tokens = target.model().estimate_tokens(request);
    match window.checked_sub(tokens) {
        Some(left) => Ok(Some(left)),
        None => {
            let text = format!("about {tokens} tokens do not fit its window of {window}");
            Err(refusal(target, ErrorKind::ContextLength, &text))
        }
    }
}

fn refusal(target: &ChainTarget, kind: ErrorKind, message: &str) -> Error {
    Error::new(kind, message).with_target(target.name().provider(), target.name().model())
}
