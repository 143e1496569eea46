//! `key`: the configured name of the client's key, never the key itself. Never holds
//! for a client without a key.

use super::Position;
use super::shared::{NameInput, NameOps};
use crate::Subject;

pub(super) const KEY: Position = Position {
    name: "key",
    ops: NameOps::<KeyName>::ALL,
};

struct KeyName;

impl NameInput for KeyName {
    fn read<'s>(subject: &'s Subject<'_>) -> Option<&'s str> {
        subject.key_name()
    }
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::holds;
    use majordomo::Request;
    use serde_json::json;

    #[test]
    fn the_key_name_is_matched() {
        let request = Request::user("hi");
        let named = Subject::new(&request, "m").key("team-a/laptop");
        for (op, value, expected) in [
            ("equals", "team-a/laptop", true),
            ("equals", "laptop", false),
            ("contains", "laptop", true),
            ("glob", "team-a/*", true),
            ("glob", "team-b/*", false),
        ] {
            assert_eq!(holds("key", op, json!(value), &named), expected, "{op}");
        }
    }

    #[test]
    fn no_operation_holds_without_a_key() {
        let request = Request::user("hi");
        let keyless = Subject::new(&request, "m");
        assert!(!holds("key", "glob", json!("*"), &keyless));
    }
}
