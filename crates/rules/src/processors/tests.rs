//! The registry, and what a match with a processor does.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use majordomo::llm::Change;
use majordomo::{BoxFuture, Message, Part, Request};
use serde_json::json;

use super::*;
use crate::tests::{rule, rules};
use crate::{ConditionSpec, RuleIndex, RuleSet, Subject};

/// Drops images and records its calls and their services.
#[derive(Clone, Default)]
struct DropImages {
    calls: Arc<AtomicUsize>,
    services: Arc<Mutex<Vec<String>>>,
}

impl DropImages {
    fn calls(&self) -> usize {
        self.calls.load(Ordering::Relaxed)
    }
}

impl Processor<String> for DropImages {
    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_, String>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
            services.extend_from_slice(task.services);
            for message in &mut task.request.edit().messages {
                message.parts.retain(|part| part.as_text().is_some());
            }
            Ok(vec![
                Change::new("image", "dropped").times(task.subject.images()),
            ])
        })
    }
}

/// Appends a word to the last message and returns the given result.
struct AppendText(&'static str, fn() -> Result<(), ProcessorError>);

impl Processor<String> for AppendText {
    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_, String>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            task.request.edit().messages.push(Message::user(self.0));
            (self.1)().map(|()| Vec::new())
        })
    }
}

fn with_image() -> Request {
    Request::user("see").part(Part::image("image/png", vec![1]))
}

fn vision() -> ConditionSpec {
    ConditionSpec::bare("proxy_vision", "enabled")
}

fn gpt() -> ConditionSpec {
    ConditionSpec::leaf("model", "contains", "gpt")
}

/// Evaluates and applies as the gateway does; returns the result and the changed
/// request.
fn pass(
    rules: &RuleSet<String>,
    processors: &Processors<String>,
    request: Request,
    bypassed: &mut Bypassed,
) -> (Applied, Request) {
    let mut changed = request.clone();
    let subject = Subject::new(&request, "gpt-4o");
    let matched = rules.evaluate(&subject);
    let applied = apply(rules, matched, processors, &subject, &mut changed, bypassed);
    let applied = applied.now_or_never().expect("no processor here waits");
    (applied, changed)
}

fn vision_processor(processor: impl Processor<String> + 'static) -> Processors<String> {
    let mut processors = Processors::default();
    processors.register("proxy_vision", "enabled", processor);
    processors
}

#[test]
fn a_processor_is_found_only_under_its_own_operation() {
    let processors = vision_processor(DropImages::default());
    assert!(processors.get("proxy_vision", "enabled").is_some());
    assert!(processors.get("proxy_vision", "disabled").is_none());
    assert!(processors.get("model", "enabled").is_none());
}

#[test]
fn registering_a_processor_again_replaces_the_earlier_one() {
    let (first, second) = (DropImages::default(), DropImages::default());
    let mut processors = vision_processor(first.clone());
    processors.register("proxy_vision", "enabled", second.clone());
    let rules = rules([rule("eyes", [vision()])]);
    pass(&rules, &processors, with_image(), &mut Bypassed::new());
    assert_eq!((first.calls(), second.calls()), (0, 1));
}

#[test]
fn a_matching_processor_runs_once_and_the_destination_is_the_route() {
    let drops = DropImages::default();
    let rules = rules([rule("eyes", [vision()])]);
    let processors = vision_processor(drops.clone());
    let (applied, _) = pass(&rules, &processors, with_image(), &mut Bypassed::new());
    assert_eq!(drops.calls(), 1);
    assert_eq!(applied.destination, Destination::Route);
    assert_eq!(applied.changes, [Change::new("image", "dropped").times(1)]);
    let services = drops.services.lock().unwrap();
    assert_eq!(*services, ["eyes"], "the rule's services are its upstreams");
}

#[test]
fn a_matching_rule_without_a_processor_is_the_destination() {
    let rules = rules([rule("gpt", [gpt()])]);
    let processors = vision_processor(DropImages::default());
    let (applied, _) = pass(&rules, &processors, with_image(), &mut Bypassed::new());
    assert_eq!(applied.destination, Destination::Rule(RuleIndex(0)));
}

#[test]
fn a_bypassed_rule_is_not_applied_again() {
    let drops = DropImages::default();
    let rules = rules([rule("eyes", [vision()])]);
    let processors = vision_processor(drops.clone());
    let mut bypassed = Bypassed::from([RuleIndex(0)]);
    let (applied, request) = pass(&rules, &processors, with_image(), &mut bypassed);
    assert_eq!(drops.calls(), 0);
    assert_eq!(applied.destination, Destination::Route);
    assert_eq!(request.prompt().image_count(), 1);
}

#[test]
fn later_stages_see_the_changed_request_and_rules_the_original() {
    let rules = rules([rule("eyes", [vision()])]);
    let processors = vision_processor(DropImages::default());
    let original = with_image();
    let mut bypassed = Bypassed::new();
    let (_, request) = pass(&rules, &processors, original.clone(), &mut bypassed);
    assert_eq!(request.prompt().image_count(), 0);
    assert_eq!(
        original.prompt().image_count(),
        1,
        "rules saw the original request"
    );
    assert_eq!(bypassed, Bypassed::from([RuleIndex(0)]));
}

#[test]
fn a_rules_describers_are_never_the_destination() {
    // Also with a failing processor, and inside a group.
    let fails = || AppendText("x", || Err("no".into()));
    let grouped = ConditionSpec::any([ConditionSpec::leaf("images", "ge", json!(1)), vision()]);
    for when in [vision(), grouped] {
        let rules = rules([rule("eyes", [when])]);
        for processors in [
            vision_processor(DropImages::default()),
            vision_processor(fails()),
        ] {
            for _ in 0..100 {
                let (applied, _) = pass(&rules, &processors, with_image(), &mut Bypassed::new());
                assert_eq!(applied.destination, Destination::Route);
            }
        }
    }
}

#[test]
fn a_failing_processor_keeps_its_partial_changes_and_is_traced() {
    let rules = rules([rule("eyes", [vision()])]);
    let fails = || Err("key sk-CANARYCANARY was refused".into());
    let processors = vision_processor(AppendText("half done", fails));
    let (applied, request) = pass(&rules, &processors, with_image(), &mut Bypassed::new());
    assert_eq!(
        request.prompt().messages.last().unwrap().text(),
        "half done"
    );
    assert_eq!(applied.destination, Destination::Route);
    let error = applied.processors[0].error.as_deref();
    assert_eq!(error, Some("key [hidden] was refused"));
}

#[test]
fn a_panicking_processor_is_a_failed_processor() {
    let rules = rules([rule("eyes", [vision()])]);
    let processors = vision_processor(AppendText("x", || panic!("on purpose")));
    let (applied, _) = pass(&rules, &processors, with_image(), &mut Bypassed::new());
    let error = applied.processors[0].error.as_deref();
    assert_eq!(error, Some("the processor panicked"));
}

#[test]
fn processors_run_in_the_order_of_their_operations() {
    let mut processors = vision_processor(AppendText("second", || Err("no".into())));
    processors.register("model", "contains", AppendText("first", || Ok(())));
    processors.register("token", "ge", AppendText("third", || Ok(())));
    let tokens = ConditionSpec::leaf("token", "ge", json!(0));
    let rules = rules([rule("all", [gpt(), vision(), tokens])]);
    let (applied, request) = pass(&rules, &processors, with_image(), &mut Bypassed::new());
    let said: Vec<String> = request.prompt().messages[1..]
        .iter()
        .map(Message::text)
        .collect();
    assert_eq!(said, ["first", "second", "third"]);
    let ran: Vec<&str> = applied.processors.iter().map(|p| p.position).collect();
    assert_eq!(ran, ["model", "proxy_vision", "token"]);
}

#[test]
fn only_the_first_matching_rule_is_applied() {
    let long = ConditionSpec::leaf("token", "ge", json!(1));
    let rules = rules([rule("eyes", [vision()]), rule("long", [long])]);
    let processors = vision_processor(DropImages::default());
    let (applied, _) = pass(&rules, &processors, with_image(), &mut Bypassed::new());
    assert_eq!(applied.destination, Destination::Route);
    assert_eq!(applied.processors.len(), 1);
}

#[test]
fn in_a_group_only_the_operations_that_hold_are_processed() {
    let drops = DropImages::default();
    let processors = vision_processor(drops.clone());
    let rules = rules([rule("either", [ConditionSpec::any([gpt(), vision()])])]);
    let text = Request::user("no image");
    let (applied, _) = pass(&rules, &processors, text, &mut Bypassed::new());
    assert_eq!(drops.calls(), 0);
    assert_eq!(applied.destination, Destination::Route, "still describers");
}

#[test]
fn an_operation_under_a_not_runs_no_processor() {
    let drops = DropImages::default();
    let processors = vision_processor(drops.clone());
    let rules = rules([rule("blind", [gpt(), vision().negated()])]);
    let text = Request::user("no image");
    let (applied, _) = pass(&rules, &processors, text, &mut Bypassed::new());
    assert_eq!(drops.calls(), 0);
    assert_eq!(applied.destination, Destination::Rule(RuleIndex(0)));
}

#[test]
fn a_dry_run_reports_the_changes_and_runs_no_processor() {
    let drops = DropImages::default();
    let processors = vision_processor(drops.clone());
    let rules = rules([rule("eyes", [vision()]), rule("gpt", [gpt()])]);
    for (request, destination, due) in [
        (with_image(), Destination::Route, vec!["proxy_vision"]),
        (
            Request::user("hi"),
            Destination::Rule(RuleIndex(1)),
            Vec::new(),
        ),
    ] {
        let subject = Subject::new(&request, "gpt-4o");
        let mut changed = request.clone();
        let matched = rules.evaluate(&subject);
        let previewed = dry_run(&rules, matched, &processors, &subject, &mut changed);
        let previewed = previewed.now_or_never().expect("no processor here waits");
        let processors: Vec<&str> = previewed.processors.iter().map(|p| p.position).collect();
        assert_eq!((previewed.destination, processors), (destination, due));
        assert!(changed.same_prompt(&request));
    }
    assert_eq!(drops.calls(), 0);
}

#[test]
fn without_a_match_nothing_changes() {
    let rules = rules([rule("eyes", [vision()])]);
    let request = Request::user("hi");
    let processors = vision_processor(DropImages::default());
    let (applied, after) = pass(&rules, &processors, request.clone(), &mut Bypassed::new());
    assert_eq!(applied.destination, Destination::Route);
    assert!(applied.processors.is_empty());
    assert!(after.same_prompt(&request));
}

#[test]
fn the_future_of_apply_is_send() {
    fn is_send(_: impl Send) {}
    let rules = rules([]);
    let processors = Processors::default();
    let request = with_image();
    let mut changed = request.clone();
    let subject = Subject::new(&request, "m");
    let mut bypassed = Bypassed::new();
    is_send(apply(
        &rules,
        None,
        &processors,
        &subject,
        &mut changed,
        &mut bypassed,
    ));
}
