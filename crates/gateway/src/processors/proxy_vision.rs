//! `proxy_vision.enabled`: holds if the request contains an image, and has every image
//! described by the services of the rule.

use std::sync::Arc;

use majordomo::llm::Change;
use majordomo::{BoxFuture, Chain, Error, ErrorKind};
use majordomo_rules::{Processor, ProcessorError, ProcessorTask, Subject};
use majordomo_vision::{Scope, Vision};
use serde_json::Value;

/// Its name in rules.
pub(crate) const POSITION: &str = "proxy_vision";

/// The vision proxy.
pub(super) struct ProxyVision;

/// The context of a request that the vision proxy uses: the engine of its configuration, and
/// the record of its describer calls.
#[derive(Clone)]
pub(crate) struct DescribeContext {
    pub(crate) vision: Arc<Vision>,
    pub(crate) scope: Scope,
}

impl Processor for ProxyVision {
    fn position(&self) -> &'static str {
        POSITION
    }

    fn op(&self) -> &'static str {
        "enabled"
    }

    /// The value has no effect, as in the gateway that the rule format comes from.
    fn holds(&self, subject: &Subject<'_>, _value: Option<&Value>) -> bool {
        subject.images() > 0
    }

    fn found(&self, subject: &Subject<'_>) -> String {
        match subject.images() {
            1 => "1 image".to_owned(),
            count => format!("{count} images"),
        }
    }

    /// Any failure ends the request: its images must not reach the destination.
    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            let DescribeContext { vision, scope } = context(&task)?;
            let describers = Chain::join(task.services);
            let request = std::mem::take(task.request);
            let described = vision.describe(request, describers.as_ref(), scope).await?;
            *task.request = described.request;
            Ok(described.changes)
        })
    }

    fn preview<'a>(
        &'a self,
        task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            let DescribeContext { vision, scope } = context(&task)?;
            let describers = Chain::join(task.services);
            let request = std::mem::take(task.request);
            let (request, changes) = vision.preview(request, describers.as_ref(), scope).await;
            *task.request = request;
            Ok(changes)
        })
    }
}

fn context<'a>(task: &ProcessorTask<'a, '_>) -> Result<&'a DescribeContext, ProcessorError> {
    let context = task.extensions.get();
    context.ok_or_else(|| {
        let text = "the vision proxy has no engine";
        Error::new(ErrorKind::Internal, text).into()
    })
}

#[cfg(test)]
mod tests {
    use majordomo::{Part, Request};
    use majordomo_rules::{ConditionSpec, RuleIndex, compile_with};
    use serde_json::json;

    #[test]
    fn any_image_matches_whatever_the_value() {
        let processors = super::super::built_in();
        let text = Request::user("hi");
        let image = text.clone().part(Part::image("image/png", vec![1]));
        for value in [json!(true), json!(false), json!("")] {
            let spec = ConditionSpec::leaf("proxy_vision", "enabled", value.clone());
            let condition = compile_with(&spec, &processors).expect("a valid condition");
            let holds = |request: &Request| {
                let subject = majordomo_rules::Subject::new(request, "m");
                condition.holds(&subject, RuleIndex(0))
            };
            assert_eq!((holds(&text), holds(&image)), (false, true), "{value}");
        }
        let spec = ConditionSpec::leaf("proxy_vision", "enabled", json!("maybe"));
        assert!(compile_with(&spec, &processors).is_err());
    }
}
