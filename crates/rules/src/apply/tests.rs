//! The effect of a match with a processor.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use futures_util::FutureExt;
use majordomo::fake::Fake;
use majordomo::{BoxFuture, Message, Model, Part, Registry};
use serde_json::json;

use super::*;
use crate::processor::Processor;
use crate::tests::rule;
use crate::{ConditionSpec, Processors, RuleSpec};

/// `eyes.open`: drops images, and records its calls and their services.
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

impl Processor for DropImages {
    fn position(&self) -> &'static str {
        "eyes"
    }

    fn op(&self) -> &'static str {
        "open"
    }

    fn holds(&self, subject: &Subject<'_>, _: Option<&serde_json::Value>) -> bool {
        subject.images() > 0
    }

    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            self.calls.fetch_add(1, Ordering::Relaxed);
            let mut services = self.services.lock().unwrap_or_else(PoisonError::into_inner);
            services.extend(task.services.iter().map(|chain| chain.name().to_owned()));
            for message in &mut task.request.edit().messages {
                message.parts.retain(|part| part.as_text().is_some());
            }
            let count = task.subject.images();
            Ok(vec![Change::new("image", "dropped").times(count)])
        })
    }
}

/// Appends a word to the last message and returns the given result.
struct AppendText(
    &'static str,
    &'static str,
    fn() -> Result<(), ProcessorError>,
);

impl Processor for AppendText {
    fn position(&self) -> &'static str {
        self.0
    }

    fn op(&self) -> &'static str {
        "open"
    }

    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            task.request.edit().messages.push(Message::user(self.1));
            (self.2)().map(|()| Vec::new())
        })
    }
}

fn with_image() -> Request {
    Request::user("see").part(Part::image("image/png", vec![1]))
}

fn eyes() -> ConditionSpec {
    ConditionSpec::bare("eyes", "open")
}

fn gpt() -> ConditionSpec {
    ConditionSpec::leaf("model", "contains", "gpt")
}

fn processors(processor: impl Processor + 'static) -> Processors {
    let mut processors = Processors::default();
    processors.register(processor);
    processors
}

fn compiled(specs: impl IntoIterator<Item = RuleSpec>, processors: &Processors) -> RuleSet {
    RuleSet::compile_with(specs.into_iter().collect(), processors).expect("valid rules")
}

fn upstreams(_: RuleIndex) -> Vec<Chain> {
    let registry = Registry::empty();
    registry.register(Fake::new("describer"));
    vec![registry.model("describer/m").expect("a valid spec")]
}

/// Evaluates and applies as the gateway does; returns the result and the changed
/// request.
fn try_pass(rules: &RuleSet, request: Request) -> (Result<Applied>, Request) {
    let mut changed = request.clone();
    let subject = Subject::new(&request, "gpt-4o");
    let matched = rules.evaluate(&subject);
    let extensions = Extensions::new();
    let applied = apply(
        rules,
        matched,
        &subject,
        &mut changed,
        upstreams,
        &extensions,
    );
    let applied = applied.now_or_never().expect("no processor here waits");
    (applied, changed)
}

fn pass(rules: &RuleSet, request: Request) -> (Applied, Request) {
    let (applied, changed) = try_pass(rules, request);
    (applied.expect("no processor rejects"), changed)
}

#[test]
fn a_processor_is_found_only_under_its_own_operation() {
    let processors = processors(DropImages::default());
    assert!(processors.get("eyes", "open").is_some());
    assert!(processors.get("eyes", "closed").is_none());
    assert!(processors.get("model", "open").is_none());
}

#[test]
fn registering_a_processor_again_replaces_the_earlier_one() {
    let (first, second) = (DropImages::default(), DropImages::default());
    let mut processors = processors(first.clone());
    processors.register(second.clone());
    pass(
        &compiled([rule("eyes", [eyes()])], &processors),
        with_image(),
    );
    assert_eq!((first.calls(), second.calls()), (0, 1));
}

#[test]
fn an_operation_that_is_not_registered_is_an_error_with_the_nearest_name() {
    let processors = processors(DropImages::default());
    for (position, op, suggestion) in [("eye", "open", "eyes"), ("eyes", "opne", "open")] {
        let spec = rule("eyes", [ConditionSpec::bare(position, op)]);
        let errors = RuleSet::compile_with(vec![spec], &processors).unwrap_err();
        assert_eq!(errors[0].suggestion.as_deref(), Some(suggestion));
    }
}

#[test]
fn a_processor_checks_the_value_of_its_condition() {
    let processors = processors(DropImages::default());
    let spec = rule("eyes", [ConditionSpec::leaf("eyes", "open", "wide")]);
    let errors = RuleSet::compile_with(vec![spec], &processors).unwrap_err();
    assert_eq!(errors[0].field, crate::RuleField::Value);
}

#[test]
fn a_matching_processor_runs_once_and_the_destination_is_the_route() {
    let drops = DropImages::default();
    let rules = compiled([rule("eyes", [eyes()])], &processors(drops.clone()));
    let (applied, _) = pass(&rules, with_image());
    assert_eq!(drops.calls(), 1);
    assert_eq!(applied.destination, Destination::Route);
    assert_eq!(applied.changes, [Change::new("image", "dropped").times(1)]);
    let services = drops.services.lock().unwrap();
    assert_eq!(*services, ["describer/m"], "the rule's services");
}

#[test]
fn a_matching_rule_without_a_processor_is_the_destination() {
    let rules = compiled([rule("gpt", [gpt()])], &processors(DropImages::default()));
    let (applied, _) = pass(&rules, with_image());
    assert_eq!(applied.destination, Destination::Rule(RuleIndex(0)));
}

#[test]
fn later_stages_see_the_changed_request_and_rules_the_original() {
    let rules = compiled([rule("eyes", [eyes()])], &processors(DropImages::default()));
    let original = with_image();
    let (_, request) = pass(&rules, original.clone());
    assert_eq!(request.prompt().image_count(), 0);
    assert_eq!(original.prompt().image_count(), 1);
}

#[test]
fn a_rules_describers_are_never_the_destination() {
    // Also with a failing processor, and inside a group.
    let fails = || AppendText("eyes", "x", || Err(ProcessorError::skip("no")));
    let grouped = ConditionSpec::any([ConditionSpec::leaf("images", "ge", json!(1)), eyes()]);
    for when in [eyes(), grouped] {
        for processors in [processors(DropImages::default()), processors(fails())] {
            let rules = compiled([rule("eyes", [when.clone()])], &processors);
            let (applied, _) = pass(&rules, with_image());
            assert_eq!(applied.destination, Destination::Route);
        }
    }
}

#[test]
fn a_failing_processor_keeps_its_partial_changes_and_is_traced() {
    let fails = || Err(ProcessorError::skip("key sk-CANARYCANARY was refused"));
    let processors = processors(AppendText("eyes", "half done", fails));
    let rules = compiled([rule("eyes", [eyes()])], &processors);
    let (applied, request) = pass(&rules, with_image());
    assert_eq!(
        request.prompt().messages.last().unwrap().text(),
        "half done"
    );
    assert_eq!(applied.destination, Destination::Route);
    let error = applied.processors[0].error.as_deref();
    assert_eq!(error, Some("key [hidden] was refused"));
}

#[test]
fn a_processor_that_rejects_the_request_ends_it() {
    let rejects = || Err(Error::http(502, "no eyes").into());
    let mut processors = processors(AppendText("eyes", "x", rejects));
    processors.register(AppendText("later", "never", || Ok(())));
    let later = ConditionSpec::bare("later", "open");
    let rules = compiled([rule("eyes", [eyes(), later])], &processors);
    let (applied, request) = try_pass(&rules, with_image());
    assert_eq!(applied.unwrap_err().status(), Some(502));
    assert_eq!(request.prompt().messages.len(), 2, "no later processor ran");
}

#[test]
fn a_panicking_processor_ends_the_request() {
    let processors = processors(AppendText("eyes", "x", || panic!("on purpose")));
    let rules = compiled([rule("eyes", [eyes()])], &processors);
    let (applied, _) = try_pass(&rules, with_image());
    assert_eq!(applied.unwrap_err().kind(), ErrorKind::Internal);
}

#[test]
fn processors_run_in_the_order_of_their_operations() {
    let mut processors = processors(AppendText("b", "second", || {
        Err(ProcessorError::skip("no"))
    }));
    processors.register(AppendText("a", "first", || Ok(())));
    processors.register(AppendText("c", "third", || Ok(())));
    let when = ["a", "b", "c"].map(|position| ConditionSpec::bare(position, "open"));
    let rules = compiled([rule("all", when)], &processors);
    let (applied, request) = pass(&rules, with_image());
    let messages = &request.prompt().messages[1..];
    let said: Vec<String> = messages.iter().map(Message::text).collect();
    assert_eq!(said, ["first", "second", "third"]);
    let ran: Vec<&str> = applied.processors.iter().map(|p| p.position).collect();
    assert_eq!(ran, ["a", "b", "c"]);
}

#[test]
fn only_the_first_matching_rule_is_applied() {
    let long = ConditionSpec::leaf("token", "ge", json!(1));
    let specs = [rule("eyes", [eyes()]), rule("long", [long])];
    let rules = compiled(specs, &processors(DropImages::default()));
    let (applied, _) = pass(&rules, with_image());
    assert_eq!(applied.destination, Destination::Route);
    assert_eq!(applied.processors.len(), 1);
}

#[test]
fn in_a_group_only_the_operations_that_hold_are_processed() {
    let drops = DropImages::default();
    let when = ConditionSpec::any([gpt(), eyes()]);
    let rules = compiled([rule("either", [when])], &processors(drops.clone()));
    let (applied, _) = pass(&rules, Request::user("no image"));
    assert_eq!(drops.calls(), 0);
    assert_eq!(applied.destination, Destination::Route, "still describers");
}

#[test]
fn an_operation_under_a_not_runs_no_processor() {
    let drops = DropImages::default();
    let specs = [rule("blind", [gpt(), eyes().negated()])];
    let rules = compiled(specs, &processors(drops.clone()));
    let (applied, _) = pass(&rules, Request::user("no image"));
    assert_eq!(drops.calls(), 0);
    assert_eq!(applied.destination, Destination::Rule(RuleIndex(0)));
}

#[test]
fn a_dry_run_reports_the_changes_and_runs_no_processor() {
    let drops = DropImages::default();
    let specs = [rule("eyes", [eyes()]), rule("gpt", [gpt()])];
    let rules = compiled(specs, &processors(drops.clone()));
    for (request, destination, due) in [
        (with_image(), Destination::Route, vec!["eyes"]),
        (
            Request::user("hi"),
            Destination::Rule(RuleIndex(1)),
            Vec::new(),
        ),
    ] {
        let subject = Subject::new(&request, "gpt-4o");
        let mut changed = request.clone();
        let matched = rules.evaluate(&subject);
        let extensions = Extensions::new();
        let previewed = dry_run(
            &rules,
            matched,
            &subject,
            &mut changed,
            upstreams,
            &extensions,
        );
        let previewed = previewed.now_or_never().expect("no processor here waits");
        let previewed = previewed.expect("no processor rejects");
        let processors: Vec<&str> = previewed.processors.iter().map(|p| p.position).collect();
        assert_eq!((previewed.destination, processors), (destination, due));
        assert!(changed.same_prompt(&request));
    }
    assert_eq!(drops.calls(), 0);
}

#[test]
fn without_a_match_nothing_changes() {
    let rules = compiled([rule("eyes", [eyes()])], &processors(DropImages::default()));
    let request = Request::user("hi");
    let (applied, after) = pass(&rules, request.clone());
    assert_eq!(applied.destination, Destination::Route);
    assert!(applied.processors.is_empty());
    assert!(after.same_prompt(&request));
}

#[test]
fn the_future_of_apply_is_send() {
    fn is_send(_: impl Send) {}
    let rules = RuleSet::default();
    let request = with_image();
    let mut changed = request.clone();
    let subject = Subject::new(&request, "m");
    let extensions = Extensions::new();
    is_send(apply(
        &rules,
        None,
        &subject,
        &mut changed,
        upstreams,
        &extensions,
    ));
}

/// Appends the value of its condition.
struct AppendValue;

impl Processor for AppendValue {
    fn position(&self) -> &'static str {
        "eyes"
    }

    fn op(&self) -> &'static str {
        "open"
    }

    fn check_value(&self, _: Option<&serde_json::Value>) -> Result<(), String> {
        Ok(())
    }

    fn process<'a>(
        &'a self,
        task: ProcessorTask<'a, '_>,
    ) -> BoxFuture<'a, Result<Vec<Change>, ProcessorError>> {
        Box::pin(async move {
            let text = task.value.map(ToString::to_string).unwrap_or_default();
            task.request.edit().messages.push(Message::user(text));
            Ok(Vec::new())
        })
    }
}

#[test]
fn a_processor_gets_the_whole_value_of_each_condition_that_held() {
    let long = "x".repeat(5_000);
    let condition = ConditionSpec::leaf("eyes", "open", long.as_str());
    let rules = compiled([rule("eyes", [condition])], &processors(AppendValue));
    let (_, request) = pass(&rules, with_image());
    let last = request.prompt().messages.last().expect("a message").text();
    assert_eq!(last, format!("\"{long}\""));
}
