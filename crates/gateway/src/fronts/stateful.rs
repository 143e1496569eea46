//! Fields that need a memory which only providers of their own dialect have.
//!
//! An answer without what they stand for would be an answer to another question,
//! so a target of another dialect is passed over.

use majordomo::{
    BoxFuture, Chain, Dialect, Error, ErrorKind, Request, Result, Shape, Shaped, TargetView,
};
use std::sync::Arc;

const FIELDS: [&str; 3] = ["previous_response_id", "conversation", "thread"];

/// The chain without the targets that cannot know what the request refers to.
pub(super) fn guard(chain: Chain, request: &Request) -> Chain {
    let Some(native) = request.native.as_deref() else {
        return chain;
    };
    let set = |field: &&&str| {
        let value = native.get(field);
        value.is_some_and(|value| value.as_str() != "null")
    };
    match FIELDS.iter().find(set) {
        Some(field) => chain.shaped_by(Arc::new(Stateful {
            field,
            dialect: native.dialect().clone(),
        })),
        None => chain,
    }
}

struct Stateful {
    field: &'static str,
    dialect: Dialect,
}

impl Shape for Stateful {
    fn concerns(&self, _request: &Request, target: TargetView<'_>) -> bool {
        target.dialect != Some(&self.dialect)
    }

    fn shape<'a>(
        &'a self,
        _request: Request,
        _target: TargetView<'a>,
    ) -> BoxFuture<'a, Result<Shaped>> {
        let text = format!(
            "`{}` refers to what only a provider of {} remembers; send the conversation itself",
            self.field, self.dialect
        );
        Box::pin(async move { Err(Error::new(ErrorKind::Unsupported, text)) })
    }
}
