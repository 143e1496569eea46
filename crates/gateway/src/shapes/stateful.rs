//! Handles fields that refer to a conversation stored by the provider.
//!
//! The gateway does not store it. Such fields are passed on to their own dialect, and
//! other targets are skipped: a response to half a conversation would be worse than none.

use majordomo::chain::{Shape, Shaped, TargetView};
use majordomo::{BoxFuture, Error, ErrorKind, Request, Result};

/// Rejects targets that lack the provider's stored conversation.
pub(crate) struct Stateful;

const NEEDS_MEMORY: [&str; 3] = ["previous_response_id", "conversation", "thread"];

/// Anthropic's tool runners send the whole conversation when they find this code.
const THREAD_UNSUPPORTED: &str = "thread_unsupported_request";

impl Shape for Stateful {
    fn concerns(&self, request: &Request, target: TargetView<'_>) -> bool {
        let Some(native) = &request.prompt().native else {
            return false;
        };
        target.dialect != Some(native.dialect()) && field(request).is_some()
    }

    fn shape<'a>(
        &'a self,
        request: Request,
        _target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        let name = field(&request).unwrap_or_default();
        let text = format!(
            "`{name}` refers to a conversation stored by the provider, but this target has \
             another dialect: send the whole conversation instead"
        );
        let error = Error::new(ErrorKind::Unsupported, text);
        Box::pin(std::future::ready(Err(match name {
            "thread" => error.with_code(THREAD_UNSUPPORTED),
            _ => error,
        })))
    }
}

fn field(request: &Request) -> Option<&'static str> {
    let native = request.prompt().native.as_ref()?;
    let set = |name: &&str| {
        native
            .get(name)
            .is_some_and(|value| value.as_str() != "null")
    };
    NEEDS_MEMORY.into_iter().find(set)
}
