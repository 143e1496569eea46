//! The lines in which two texts differ.

/// A line of one text or of both.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum LineEdit {
    /// In both; the indices of the old and the new line.
    Keep(usize, usize),
    /// Only in the old text.
    Remove(usize),
    /// Only in the new text.
    Add(usize),
}

/// Above this many pairs of lines, the differing part is replaced as a whole.
const MOST_PAIRS: usize = 4_000_000;

/// Turns `old` into `new` by their longest common subsequence.
pub(super) fn diff(old: &[&str], new: &[&str]) -> Vec<LineEdit> {
    let same = |(a, b): &(&&str, &&str)| a == b;
    let head = old.iter().zip(new).take_while(same).count();
    let (rest_old, rest_new) = (&old[head..], &new[head..]);
    let backwards = rest_old.iter().rev().zip(rest_new.iter().rev());
    let tail = backwards.take_while(same).count();
    let middle_old = &rest_old[..rest_old.len() - tail];
    let middle_new = &rest_new[..rest_new.len() - tail];
    let mut edits: Vec<LineEdit> = (0..head).map(|at| LineEdit::Keep(at, at)).collect();
    edits.extend(middle(middle_old, middle_new, head));
    let (old_tail, new_tail) = (old.len() - tail, new.len() - tail);
    edits.extend((0..tail).map(|at| LineEdit::Keep(old_tail + at, new_tail + at)));
    edits
}

fn middle(old: &[&str], new: &[&str], from: usize) -> Vec<LineEdit> {
    let width = new.len() + 1;
    if old.len().saturating_mul(width) > MOST_PAIRS {
        let removed = (0..old.len()).map(|at| LineEdit::Remove(from + at));
        return removed
            .chain((0..new.len()).map(|at| LineEdit::Add(from + at)))
            .collect();
    }
    // For each pair of lines, the length of the longest common subsequence that starts there.
    let mut common = vec![0_u32; (old.len() + 1) * width];
    for a in (0..old.len()).rev() {
        for b in (0..new.len()).rev() {
            common[a * width + b] = match old[a] == new[b] {
                true => common[(a + 1) * width + b + 1] + 1,
                false => common[(a + 1) * width + b].max(common[a * width + b + 1]),
            };
        }
    }
    let (mut a, mut b, mut edits) = (0, 0, Vec::new());
    while a < old.len() || b < new.len() {
        if a < old.len() && b < new.len() && old[a] == new[b] {
            edits.push(LineEdit::Keep(from + a, from + b));
            (a, b) = (a + 1, b + 1);
        } else if b == new.len()
            || (a < old.len() && common[(a + 1) * width + b] >= common[a * width + b + 1])
        {
            edits.push(LineEdit::Remove(from + a));
            a += 1;
        } else {
            edits.push(LineEdit::Add(from + b));
            b += 1;
        }
    }
    edits
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    proptest! {
        #[test]
        fn the_edits_turn_one_text_into_the_other(
            old in proptest::collection::vec("[abc]", 0..12),
            new in proptest::collection::vec("[abc]", 0..12),
        ) {
            let old: Vec<&str> = old.iter().map(String::as_str).collect();
            let new: Vec<&str> = new.iter().map(String::as_str).collect();
            let (mut before, mut after) = (Vec::new(), Vec::new());
            for edit in diff(&old, &new) {
                match edit {
                    LineEdit::Keep(a, b) => {
                        prop_assert_eq!(old[a], new[b]);
                        before.push(a);
                        after.push(b);
                    }
                    LineEdit::Remove(a) => before.push(a),
                    LineEdit::Add(b) => after.push(b),
                }
            }
            prop_assert_eq!(before, (0..old.len()).collect::<Vec<_>>());
            prop_assert_eq!(after, (0..new.len()).collect::<Vec<_>>());
        }
    }

    #[test]
    fn a_changed_line_is_the_only_edit() {
        let edits = diff(&["a", "b", "c"], &["a", "x", "c"]);
        let changed = [
            LineEdit::Keep(0, 0),
            LineEdit::Remove(1),
            LineEdit::Add(1),
            LineEdit::Keep(2, 2),
        ];
        assert_eq!(edits, changed);
    }
}
