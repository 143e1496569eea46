//! `latest_user`: the user message that ends the request. Never holds if the request
//! ends with something else, such as a tool result.

use super::check::{Check, Compiled, check_conversation};
use super::{Op, Position};
use crate::error::InvalidValue;
use crate::text_match::contains;
use crate::{RuleIndex, Subject};
use serde_json::Value;

pub(super) const LATEST_USER: Position = Position {
    name: "latest_user",
    ops: &[
        Op {
            name: "contains",
            compile: |value| check_conversation(value, text, contains),
        },
        Op {
            name: "type",
            compile: content_type,
        },
    ],
};

fn text<'s>(subject: &'s Subject<'_>) -> Option<&'s str> {
    subject.latest_user().map(|latest| &*latest.text)
}

const IMAGE: &str = "image";
const TEXT: &str = "text";

/// Whether the message contains an image or only text.
#[derive(Debug)]
struct ContentType {
    image: bool,
}

fn content_type(value: Option<&Value>) -> Compiled {
    let image = match value.and_then(Value::as_str) {
        Some(IMAGE) => true,
        // Other gateways use the empty string for a message without an image.
        Some(TEXT | "") => false,
        other => {
            let bad = InvalidValue::new("expected `image` or `text`");
            return Err(bad.nearest(other.unwrap_or_default(), [IMAGE, TEXT]));
        }
    };
    Ok(Box::new(ContentType { image }))
}

impl Check for ContentType {
    fn holds(&self, subject: &Subject<'_>, _: RuleIndex) -> bool {
        let latest = subject.latest_user();
        latest.is_some_and(|latest| latest.has_image == self.image)
    }

    fn actual(&self, subject: &Subject<'_>, _: RuleIndex) -> String {
        let found = match subject.latest_user() {
            None => "none",
            Some(latest) if latest.has_image => IMAGE,
            Some(_) => TEXT,
        };
        found.to_owned()
    }
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::holds;
    use majordomo::{Message, Part, Request};
    use serde_json::json;

    #[test]
    fn only_the_final_message_is_searched() {
        let request = Request::user("old").message(Message::assistant("x"));
        let subject = Subject::new(&request, "m");
        assert!(!holds("latest_user", "contains", json!("old"), &subject));
        let request = request.message(Message::user("new"));
        let subject = Subject::new(&request, "m");
        assert!(!holds("latest_user", "contains", json!("old"), &subject));
        assert!(holds("latest_user", "contains", json!("new"), &subject));
    }

    #[test]
    fn the_type_is_image_if_the_message_has_one_and_text_otherwise() {
        let text = Request::user("hi");
        let image = text.clone().part(Part::image("image/png", vec![1]));
        let responded = image.clone().message(Message::assistant("x"));
        for (request, is_text, is_image) in [
            (text, true, false),
            (image, false, true),
            (responded, false, false),
        ] {
            let subject = Subject::new(&request, "m");
            let is = |value: &str| holds("latest_user", "type", json!(value), &subject);
            assert_eq!((is("text"), is("image")), (is_text, is_image));
            assert_eq!(is(""), is_text);
        }
    }
}
