//! Calls that wait for their results, for dialects that may leave ids out.
//!
//! A result takes the oldest open call of its id or of its tool's name. Calls
//! are found through queues of indexes: thousands of open calls must not be
//! searched for each result.

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
    /// Answered ones are gone.
    calls: Vec<Option<OpenCall>>,
    /// Before this, all calls are answered.
    first: usize,
    by_id: Queues,
    by_name: Queues,
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

    /// Forgets all calls.
    pub(crate) fn clear(&mut self) {
        if !self.calls.is_empty() {
            // Clearing the maps would cost their capacity each time.
            *self = Self::default();
        }
    }

    /// Answers the oldest call of this id.
    pub(crate) fn take_id(&mut self, id: &str) -> Option<OpenCall> {
        self.by_id.take(id, &mut self.calls)
    }

    /// Answers the oldest call of this tool.
    pub(crate) fn take_name(&mut self, name: &str) -> Option<OpenCall> {
        self.by_name.take(name, &mut self.calls)
    }

    /// Answers the oldest call.
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

/// The indexes of calls that share an id or a name, oldest first. Calls that
/// were answered otherwise are passed over once.
#[derive(Default)]
struct Queues(HashMap<String, VecDeque<usize>>);

impl Queues {
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
    enum Step {
        Push(u8, u8),
        TakeId(u8),
        TakeName(u8),
        TakeOldest,
        Clear,
    }

    fn steps() -> impl Strategy<Value = Vec<Step>> {
        let step = prop_oneof![
            8 => (0..6_u8, 0..3_u8).prop_map(|(id, name)| Step::Push(id, name)),
            3 => (0..6_u8).prop_map(Step::TakeId),
            3 => (0..3_u8).prop_map(Step::TakeName),
            2 => Just(Step::TakeOldest),
            1 => Just(Step::Clear),
        ];
        prop::collection::vec(step, 0..60)
    }

    proptest! {
        #[test]
        fn each_result_takes_the_oldest_call_that_fits(steps in steps()) {
            let mut calls = OpenCalls::default();
            let mut list: Vec<OpenCall> = Vec::new();
            for step in steps {
                let mut search = |fits: &dyn Fn(&OpenCall) -> bool| {
                    list.iter().position(fits).map(|at| list.remove(at))
                };
                match step {
                    Step::Push(id, name) => {
                        let (id, name) = (id.to_string(), name.to_string());
                        calls.push(&id, &name);
                        list.push(OpenCall { id, name });
                    }
                    Step::TakeId(id) => {
                        let id = id.to_string();
                        prop_assert_eq!(calls.take_id(&id), search(&|call| call.id == id));
                    }
                    Step::TakeName(name) => {
                        let name = name.to_string();
                        prop_assert_eq!(calls.take_name(&name), search(&|call| call.name == name));
                    }
                    Step::TakeOldest => {
                        prop_assert_eq!(calls.take_oldest(), search(&|_| true));
                    }
                    Step::Clear => {
                        calls.clear();
                        list.clear();
                    }
                }
            }
        }
    }
}
