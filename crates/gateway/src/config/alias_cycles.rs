//! Finds cycles among aliases.

use std::collections::HashMap;

use super::Alias;

/// Returns the cycles as indices into `aliases`, each starting at its first member. A
/// cycle that shares an alias with an earlier one is not reported. An iterative
/// depth-first search: linear time, constant stack.
pub(super) fn alias_cycles(aliases: &[Alias]) -> Vec<Vec<usize>> {
    let indices = aliases.iter().enumerate();
    let indices: HashMap<&str, usize> = indices.map(|(at, it)| (it.name.as_str(), at)).collect();
    let leads_to = |at: usize| -> Vec<usize> {
        let elements = aliases[at].spec.elements();
        elements
            .filter_map(|name| indices.get(name).copied())
            .collect()
    };
    let mut seen = vec![false; aliases.len()];
    let mut reported = vec![false; aliases.len()];
    // Index of an alias on the current path.
    let mut position_on_path: Vec<Option<usize>> = vec![None; aliases.len()];
    let mut found = Vec::new();
    for start in 0..aliases.len() {
        let mut path: Vec<(usize, Vec<usize>)> = Vec::new();
        let mut next = Some(start).filter(|at| !seen[*at]);
        loop {
            if let Some(at) = next.take() {
                seen[at] = true;
                position_on_path[at] = Some(path.len());
                path.push((at, leads_to(at)));
            }
            let Some((at, left)) = path.last_mut() else {
                break;
            };
            let Some(to) = left.pop() else {
                position_on_path[*at] = None;
                path.pop();
                continue;
            };
            match position_on_path[to] {
                Some(from) if !path[from..].iter().any(|(at, _)| reported[*at]) => {
                    let mut cycle: Vec<usize> = path[from..].iter().map(|(at, _)| *at).collect();
                    cycle.iter().for_each(|at| reported[*at] = true);
                    let first = (0..cycle.len()).min_by_key(|n| cycle[*n]);
                    cycle.rotate_left(first.unwrap_or_default());
                    found.push(cycle);
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

    fn reported(text: &str) -> Vec<String> {
        let diagnostics = Config::parse("f", text, &BTreeMap::new()).unwrap_err();
        let list = diagnostics.list().iter();
        list.map(|problem| problem.message.clone()).collect()
    }

    #[test]
    fn every_cycle_is_reported_once_starting_at_its_first_alias() {
        for (aliases, alias_cycles) in [
            ("a = \"b\"\nb = \"demo/x, a\"", &["a → b → a"][..]),
            ("x = \"b\"\na = \"b\"\nb = \"a\"", &["a → b → a"]),
            ("a = \"a\"\nb = \"a\"\nc = \"c\"", &["a → a", "c → c"]),
            (
                "a = \"b, c\"\nb = \"d\"\nc = \"d\"\nd = \"b\"",
                &["b → d → b"],
            ),
        ] {
            let expected: Vec<String> = alias_cycles
                .iter()
                .map(|cycle| format!("alias cycle: {cycle}"))
                .collect();
            assert_eq!(
                reported(&format!("[aliases]\n{aliases}")),
                expected,
                "{aliases}"
            );
        }
    }

    #[test]
    fn a_long_chain_of_aliases_takes_linear_time_and_no_stack() {
        let long: String = (0..50_000)
            .map(|n| format!("a{n} = \"a{}\"\n", n + 1))
            .collect();
        let open = format!("[aliases]\n{long}a50000 = \"demo/text\"\n");
        assert!(Config::parse("f", open, &BTreeMap::new()).is_ok());
        let closed = reported(&format!("[aliases]\n{long}a50000 = \"a0\"\n"));
        assert_eq!(closed.len(), 1);
    }
}
