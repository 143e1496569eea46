//! `images`: the number of images in all messages and tool results.

use super::Position;
use super::shared::{NumberInput, NumberOps};
use crate::Subject;

pub(super) const IMAGES: Position = Position {
    name: "images",
    ops: NumberOps::<ImageCount>::ALL,
};

struct ImageCount;

impl NumberInput for ImageCount {
    fn read(subject: &Subject<'_>) -> u64 {
        subject.images() as u64
    }
}

#[cfg(test)]
mod tests {
    use crate::Subject;
    use crate::tests::holds;
    use majordomo::{Part, Request};
    use serde_json::json;

    #[test]
    fn images_are_counted() {
        let request = Request::user("see")
            .part(Part::image("image/png", vec![1]))
            .part(Part::image("image/png", vec![2]));
        let subject = Subject::new(&request, "m");
        for (op, value, expected) in [
            ("eq", 2, true),
            ("eq", 1, false),
            ("ge", 2, true),
            ("gt", 2, false),
            ("le", 2, true),
            ("lt", 2, false),
        ] {
            let held = holds("images", op, json!(value), &subject);
            assert_eq!(held, expected, "{op} {value}");
        }
    }
}
