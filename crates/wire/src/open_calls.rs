//! Open tool calls, for dialects in which ids are optional.
//!
//! A result takes the oldest open call with its id or tool name. Calls are indexed
//! by queues, so that thousands of open calls need no scan per result.

use std::collections::{HashMap, VecDeque};

/// A call without a result.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct OpenCall {
    pub(crate) id: String,
    pub(crate) name: String,
}

/// The open calls, oldest first.
#[derive(Default)]
pub(crate) struct OpenCalls {
    /// `None` once it has a result.
    calls: Vec<Option<OpenCall>>,
    /// All calls before this index have results.
    first: usize,
    by_id: CallQueues,
    by_name: CallQueues,
}

impl OpenCalls {
    /// Adds a call.
    pub(crate) fn push(&mut self, id: &str, name: &str) {
        let at = self.calls.len();
        self.by_id.push(id, at);
        self.by_name.push(name, at);
        self.calls.push(Some(OpenCall {
            id: id.to_owned(),
            name: name.to_owned(),
        }));
    }

    /// Removes all calls.
    pub(crate) fn clear(&mut self) {
        if !self.calls.is_empty() {
            // Clearing the maps would cost their capacity each time.
            *self = Self::default();
        }
    }

    /// Takes the oldest call with this id.
    pub(crate) fn take_id(&mut self, id: &str) -> Option<OpenCall> {
        self.by_id.take(id, &mut self.calls)
    }

    /// Takes the oldest call of this tool.
    pub(crate) fn take_name(&mut self, name: &str) -> Option<OpenCall> {
        self.by_name.take(name, &mut self.calls)
    }

    /// Takes the oldest call.
    pub(crate) fn take_oldest(&mut self) -> Option<OpenCall> {
        while let Some(call) = self.calls.get_mut(self.first) {
            self.first += 1;
            if let Some(call) = call.take() {
                return Some(call);
            }
        }
        None
    }
}

/// Indexes of calls by id or name, oldest first. Calls already taken through
/// another index are skipped.
#[derive(Default)]
struct CallQueues(HashMap<String, VecDeque<usize>>);

impl CallQueues {
    fn push(&mut self, key: &str, at: usize) {
        match self.0.get_mut(key) {
            Some(queue) => queue.push_back(at),
            None => {
                self.0.insert(key.to_owned(), VecDeque::from([at]));
            }
        }
    }

    fn take(&mut self, key: &str, calls: &mut [Option<OpenCall>]) -> Option<OpenCall> {
        let queue = self.0.get_mut(key)?;
        while let Some(at) = queue.pop_front() {
            if let Some(call) = calls.get_mut(at).and_then(Option::take) {
                return Some(call);
            }
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[derive(Clone, Debug)]
    enum CallStep {
        Push(u8, u8),
        TakeId(u8),
        TakeName(u8),
        TakeOldest,
        Clear,
    }

    fn steps() -> impl Strategy<Value = Vec<CallStep>> {
        let step = prop_oneof![
            8 => (0..6_u8, 0..3_u8).prop_map(|(id, name)| CallStep::Push(id, name)),
            3 => (0..6_u8).prop_map(CallStep::TakeId),
            3 => (0..3_u8).prop_map(CallStep::TakeName),
            2 => Just(CallStep::TakeOldest),
            1 => Just(CallStep::Clear),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        #[test]
        fn each_result_takes_the_oldest_matching_call(steps in steps()) {
            let mut calls = OpenCalls::default();
            let mut list: Vec<OpenCall> = Vec::new();
            for step in steps {
                let mut search = |fits: &dyn Fn(&OpenCall) -> bool| {
                    list.iter().position(fits).map(|at| list.remove(at))
                };
                match step {
                    CallStep::Push(id, name) => {
                        let (id, name) = (id.to_string(), name.to_string());
                        calls.push(&id, &name);
                        list.push(OpenCall { id, name });
                    }
                    CallStep::TakeId(id) => {
                        let id = id.to_string();
                        prop_assert_eq!(calls.take_id(&id), search(&|call| call.id == id));
                    }
                    CallStep::TakeName(name) => {
                        let name = name.to_string();
                        prop_assert_eq!(calls.take_name(&name), search(&|call| call.name == name));
                    }
                    CallStep::TakeOldest => {
                        prop_assert_eq!(calls.take_oldest(), search(&|_| true));
                    }
                    CallStep::Clear => {
                        calls.clear();
                        list.clear();
                    }
                }
            }
        }
    }
}
