//! Finds cycles among aliases.

use std::collections::HashMap;

use super::Alias;

/// Returns the cycles as indices into `aliases`, each starting at its first member. A
/// cycle that shares an alias with an earlier one is not reported. An iterative
/// depth-first search: linear time, constant stack.
pub(super) fn circles(aliases: &[Alias]) -> Vec<Vec<usize>> {
    let places = aliases.iter().enumerate();
    let places: HashMap<&str, usize> = places.map(|(at, it)| (it.name.as_str(), at)).collect();
    let leads_to = |at: usize| -> Vec<usize> {
        let elements = aliases[at].spec.elements();
        elements
            .filter_map(|name| places.get(name).copied())
            .collect()
    };
    let mut seen = vec![false; aliases.len()];
    let mut told = vec![false; aliases.len()];
    // Index of an alias on the current path.
    let mut on_way: Vec<Option<usize>> = vec![None; aliases.len()];
    let mut found = Vec::new();
    for start in 0..aliases.len() {
        let mut way: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut next = Some(start).filter(|at| !seen[*at]);
        loop {
            if let Some(at) = next.take() {
                seen[at] = true;
                on_way[at] = Some(way.len());
                way.push((at, leads_to(at)));
            }
            let Some((at, left)) = way.last_mut() else {
                break;
            };
            let Some(to) = left.pop() else {
                on_way[*at] = None;
                way.pop();
                continue;
            };
            match on_way[to] {
                Some(from) if !way[from..].iter().any(|(at, _)| told[*at]) => {
                    let mut circle: Vec<usize> = way[from..].iter().map(|(at, _)| *at).collect();
                    circle.iter().for_each(|at| told[*at] = true);
                    let first = (0..circle.len()).min_by_key(|n| circle[*n]);
                    circle.rotate_left(first.unwrap_or_default());
                    found.push(circle);
                }
                None if !seen[to] => next = Some(to),
                _ => {}
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use crate::config::Config;

    fn told(text: &str) -> Vec<String> {
        let problems = Config::parse("f", text, &BTreeMap::new()).unwrap_err();
        let list = problems.list().iter();
        list.map(|problem| problem.message.clone()).collect()
    }

    #[test]
    fn every_circle_is_told_once_from_its_first_alias() {
        for (aliases, circles) in [
            ("a = \"b\"\nb = \"demo/x, a\"", &["a → b → a"][..]),
            ("x = \"b\"\na = \"b\"\nb = \"a\"", &["a → b → a"]),
            ("a = \"a\"\nb = \"a\"\nc = \"c\"", &["a → a", "c → c"]),
            (
                "a = \"b, c\"\nb = \"d\"\nc = \"d\"\nd = \"b\"",
                &["b → d → b"],
            ),
        ] {
            let expected: Vec<String> = circles
                .iter()
                .map(|circle| format!("the aliases go in a circle: {circle}"))
                .collect();
            assert_eq!(
                told(&format!("[aliases]\n{aliases}")),
                expected,
                "{aliases}"
            );
        }
    }

    #[test]
    fn f11_a_long_way_of_aliases_takes_no_stack_and_no_time() {
        let long: String = (0..50_000)
            .map(|n| format!("a{n} = \"a{}\"\n", n + 1))
            .collect();
        let open = format!("[aliases]\n{long}a50000 = \"demo/text\"\n");
        assert!(Config::parse("f", open, &BTreeMap::new()).is_ok());
        let closed = told(&format!("[aliases]\n{long}a50000 = \"a0\"\n"));
        assert_eq!(closed.len(), 1);
    }
}
