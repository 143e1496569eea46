//! `proxy_vision`: holds if the request contains an image. The vision proxy is bound
//! to it as a processor; the rule's services are then its describers.

use super::check::{Check, Compiled};
use super::{Op, Position};
use crate::{RuleIndex, Subject, value};
use serde_json::Value;

pub(super) const PROXY_VISION: Position = Position {
    name: "proxy_vision",
    ops: &[Op {
        name: "enabled",
        compile: enabled,
    }],
};

#[derive(Debug)]
struct HasImage;

/// The value must be a boolean, but has no effect.
fn enabled(value: Option<&Value>) -> Compiled {
    value::switch(value)?;
    Ok(Box::new(HasImage))
}

impl Check for HasImage {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        subject.images() > 0
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        match subject.images() {
            1 => "1 image".to_owned(),
            count => format!("{count} images"),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::holds;
    use majordomo::{Part, Request};
    use serde_json::json;

    #[test]
    fn any_image_matches_whatever_the_value() {
        let text = Request::user("hi");
        let image = text.clone().part(Part::image("image/png", vec![1]));
        for value in [json!(true), json!(false), json!("")] {
            let enabled = |request: &Request| {
                let subject = Subject::new(request, "m");
                holds("proxy_vision", "enabled", value.clone(), &subject)
            };
            assert_eq!((enabled(&text), enabled(&image)), (false, true), "{value}");
        }
    }
}
