//! Bounds on texts that clients and providers choose.

use majordomo::llm::Change;

/// Longest text.
const LONGEST_TEXT: usize = 512;
/// Longest list of changes: every unknown field of a request may be one.
const LONGEST_LIST: usize = 100;

/// Truncates a text and frees the rest.
pub(crate) fn cut(text: &mut String) {
    if text.len() > LONGEST_TEXT {
        let between = |at: &usize| text.is_char_boundary(*at);
        let end = (0..=LONGEST_TEXT).rev().find(between);
        text.truncate(end.unwrap_or(0));
        text.push('…');
        text.shrink_to_fit();
    }
}

/// Truncates a list of changes and removes their details, which may quote a provider.
/// Changes of images are counted by metrics, so they are merged and kept.
pub(crate) fn limit_changes(changes: &mut Vec<Change>) {
    if changes.len() > LONGEST_LIST {
        let mut images: Vec<Change> = Vec::new();
        changes.retain(|change| {
            if change.subject != "image" {
                return true;
            }
            let known = images.iter_mut().find(|known| known.verb == change.verb);
            match known {
                Some(known) => {
                    let count = known.count.unwrap_or(1) + change.count.unwrap_or(1);
                    known.count = Some(count);
                }
                None => images.push(change.clone()),
            }
            false
        });
        changes.splice(..0, images);
        changes.truncate(LONGEST_LIST);
        changes.shrink_to_fit();
    }
    for change in changes {
        change.detail = String::new();
        cut(&mut change.subject);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_texts_are_truncated_and_freed() {
        let mut text = "ä".repeat(10_000);
        cut(&mut text);
        assert!(text.ends_with("ä…"), "{text}");
        assert!(text.capacity() < 1_000);
    }

    #[test]
    fn a_long_list_of_changes_keeps_all_images_and_no_detail() {
        let mut changes = vec![Change::new("x".repeat(10_000), "dropped").detail("a secret"); 990];
        changes.extend(vec![Change::new("image", "resized").times(2); 5]);
        changes.extend(vec![Change::new("image", "dropped"); 5]);
        limit_changes(&mut changes);
        assert_eq!(changes.len(), LONGEST_LIST);
        assert_eq!(changes[0].to_string(), "image:10 resized");
        assert_eq!(changes[1].to_string(), "image:5 dropped");
        assert!(changes.iter().all(|change| change.detail.is_empty()));
        assert!(changes[2].subject.len() < 1_000);
    }

    #[test]
    fn a_short_list_of_changes_keeps_its_order() {
        let mut changes = vec![
            Change::new("top_k", "dropped"),
            Change::new("image", "resized").times(1),
        ];
        let before = changes.clone();
        limit_changes(&mut changes);
        assert_eq!(changes, before);
    }
}
