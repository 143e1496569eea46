//! `model`: the model name requested by the client, whichever target serves it.

use super::Position;
use super::shared::{NameInput, NameOps};
use crate::Subject;

pub(super) const MODEL: Position = Position {
    name: "model",
    ops: NameOps::<RequestedModel>::ALL,
};

struct RequestedModel;

impl NameInput for RequestedModel {
    fn read<'s>(subject: &'s Subject<'_>) -> Option<&'s str> {
        Some(subject.model())
    }
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::holds;
    use majordomo::Request;
    use serde_json::json;

    #[test]
    fn the_requested_name_is_matched() {
        let request = Request::user("hi");
        let subject = Subject::new(&request, "openai/gpt-6-luna");
        for (op, value, expected) in [
            ("equals", "openai/gpt-6-luna", true),
            ("equals", "gpt-6-luna", false),
            ("contains", "gpt", true),
            ("contains", "claude", false),
            ("glob", "openai/*", true),
            ("glob", "gpt-*", false),
        ] {
            let held = holds("model", op, json!(value), &subject);
            assert_eq!(held, expected, "{op} {value}");
        }
    }
}
