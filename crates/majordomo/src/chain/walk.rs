//! Walks a chain: calls one target after another until one serves the request.
//!
//! [`retry`](super::retry) decides whether a failed target is called again; `llm::classify`
//! interprets the failure.

use std::time::Instant;

use majordomo_llm::{
    Change, Class, Error, ErrorKind, Model, NextTarget, Request, Response, Result, Timer, Usage,
};
use tokio::time::{sleep_until, timeout, timeout_at};

use super::attempt_log::AttemptRecorder;
use super::gate::{AdmittedAttempt, AttemptGate, GateRefusal, PendingAttempt, enter};
use super::operation::Operation;
use super::retry::RetryBudget;
use super::served::Served;
use super::shaping::{ShapeMode, reduce_request, shape_for};
use super::target::TargetPermit;
use super::{AllBenched, Chain, ChainConfig, ChainTarget, Shaped};
use crate::keys::TriedKeys;

/// One request walking the chain.
pub(super) struct Walk<'a, O> {
    targets: &'a [ChainTarget],
    config: &'a ChainConfig,
    gate: Option<&'a dyn AttemptGate>,
    request: Request,
    operation: O,
    deadline: Option<tokio::time::Instant>,
    recorder: AttemptRecorder<'a>,
    /// The parts removed from the request so that any target can take it.
    reductions: Vec<Change>,
    /// The last rejected response, with the usage of all rejected ones.
    rejected: Option<Response>,
    /// A target in service was reached, could take the request, and failed. Probes do not
    /// count: a request must not fail because its probe found a target still down.
    failed_in_service: bool,
}

/// Whether the walk ends with this target.
enum WalkStep<'a, T> {
    End(Result<Served<'a, T>>),
    Next,
}

impl<'a, O: Operation> Walk<'a, O> {
    pub(super) fn new(chain: &'a Chain, request: Request, operation: O) -> Self {
        let timeout = request.options().timeout.or(chain.config.deadline);
        let now = tokio::time::Instant::now();
        Self {
            targets: &chain.targets,
            config: &chain.config,
            gate: chain.gate.as_deref(),
            deadline: timeout.and_then(|timeout| now.checked_add(timeout)),
            recorder: AttemptRecorder::new(
                &chain.observers,
                chain.targets[0].clock(),
                chain.config.all_benched,
            ),
            request,
            operation,
            reductions: Vec::new(),
            rejected: None,
            failed_in_service: false,
        }
    }

    pub(super) async fn serve(mut self) -> Result<Served<'a, O::Output>> {
        if let WalkStep::End(result) = self.pass().await {
            return result;
        }
        if self.wait_out().await
            && let WalkStep::End(result) = self.pass().await
        {
            return result;
        }
        let reduced = self.recorder.all_incapable() && self.reduce();
        if reduced && let WalkStep::End(result) = self.pass().await {
            return result;
        }
        let rejected = self.rejected.take();
        Err(with_rejected(self.recorder.exhausted(), rejected))
    }

    /// Walks the chain once, then falls back to its benched targets.
    async fn pass(&mut self) -> WalkStep<'a, O::Output> {
        let mut benched = Vec::new();
        for target in self.targets {
            match target.admit(&self.request) {
                Ok(permit) => {
                    let retries = self.config.retries;
                    let step = self.attempt(target, permit, retries).await;
                    if let WalkStep::End(result) = step {
                        return WalkStep::End(result);
                    }
                }
                Err(refusal) => {
                    self.recorder.not_admitted(target, &refusal);
                    if !refusal.by_credential {
                        benched.push((refusal.denied.last_resort_order(), target));
                    }
                }
            }
        }
        if !self.failed_in_service && self.config.all_benched == AllBenched::LeastBad {
            benched.sort_by_key(|(order, _)| *order);
            let targets = benched.into_iter().map(|(_, target)| target);
            return self.last_resort(targets).await;
        }
        WalkStep::Next
    }

    /// Waits once until a target may be called again, if every target demands a pause and the
    /// shortest pause is acceptable: the caller would have to wait as long.
    async fn wait_out(&mut self) -> bool {
        let (Some(pause), Some(max)) = (self.recorder.pause(), self.config.max_retry_after) else {
            return false;
        };
        if pause > max {
            return false;
        }
        let resumes = tokio::time::Instant::now() + pause;
        if self.deadline.is_some_and(|deadline| deadline <= resumes) {
            return false;
        }
        sleep_until(resumes).await;
        self.recorder.walk_again();
        self.failed_in_service = false;
        true
    }

    /// Reduces the request to one that a target may take, if a shape can.
    fn reduce(&mut self) -> bool {
        let reduced = reduce_request(self.targets, self.config, &self.request);
        let Some(Shaped { request, changes }) = reduced else {
            return false;
        };
        self.request = request;
        self.reductions = changes;
        true
    }

    /// Calls the most promising benched target that admits forced requests, and the next one
    /// only if no server was reached. An outage must not multiply requests, so health allows
    /// few retries of these calls. Every request gets such a call: a request that is at fault
    /// itself must not close the target to others.
    async fn last_resort(
        &mut self,
        targets: impl Iterator<Item = &'a ChainTarget>,
    ) -> WalkStep<'a, O::Output> {
        for target in targets {
            if self.failed_in_service {
                break;
            }
            let Ok(permit) = target.force(&self.request) else {
                continue;
            };
            // Another target would have been the retry.
            let is_sole = self.targets.len() == 1;
            let retries = if is_sole {
                self.config.retries.min(1)
            } else {
                0
            };
            if let WalkStep::End(result) = self.attempt(target, permit, retries).await {
                return WalkStep::End(result);
            }
        }
        WalkStep::Next
    }

    /// Calls one target, and retries while its [`RetryBudget`] and health allow.
    async fn attempt(
        &mut self,
        target: &'a ChainTarget,
        mut permit: TargetPermit,
        retries: u32,
    ) -> WalkStep<'a, O::Output> {
        let mut budget = RetryBudget::new(retries);
        let mut tried = TriedKeys::default();
        loop {
            let began = self.recorder.now();
            let mut shaped = match self.shaped(target, &budget).await {
                Ok(shaped) => shaped,
                Err(error) => return self.unfit(target, error),
            };
            let mut attempt = match self.enter(target, &mut shaped, began).await {
                Ok(Ok(attempt)) => attempt,
                Ok(Err(refusal)) => {
                    self.recorder.denied(target, refusal);
                    return WalkStep::Next;
                }
                Err(error) => return self.unfit(target, error),
            };
            let (request, notes) = shaped.request.recording_changes();
            let model = target.model_for(&permit);
            let output = self.call(model, request, &mut attempt).await;
            target.note_quota(&permit);
            let mut changes = shaped.changes;
            changes.extend(notes.take());
            let error = match output {
                Ok(output) => {
                    self.operation.received(&output, &mut attempt);
                    match self.operation.reject(&output) {
                        None => {
                            let served =
                                self.served(target, permit, attempt, output, changes, began);
                            return WalkStep::End(Ok(served));
                        }
                        Some(rejection) => {
                            self.keep_rejected(rejection.response);
                            let error = rejection.error;
                            if permit.still_good() && budget.repair_with(rejection.repair) {
                                let class = self.config.class_of(&error);
                                attempt.fail(class, &error);
                                self.recorder.failed(target, began, changes, class, &error);
                                continue;
                            }
                            error
                        }
                    }
                }
                Err(error) => error,
            };
            let error = error.with_target(target.name().provider(), target.name().model());
            let class = self.config.class_of(&error);
            attempt.fail(class, &error);
            self.recorder.failed(target, began, changes, class, &error);
            let could_serve = !class.is_incapable() && class != Class::Forbidden;
            self.failed_in_service |=
                could_serve && !permit.is_probe() && !error.kind().is_unreachable();
            permit.fail(class, &error);
            let reached = !error.kind().is_unreachable();
            if permit.still_good() && budget.allows(class, || permit.spend_retry(reached)) {
                continue;
            }
            let failure = (class, &error);
            if !target.exchange_key(&mut permit, &mut tried, &self.request, failure) {
                return self.advance(class, error);
            }
            self.recorder.exchanged_key(target);
        }
    }

    /// Advances to the next target, or ends the request with the error.
    fn advance(&mut self, class: Class, error: Error) -> WalkStep<'a, O::Output> {
        let go_on = match class.verdict().next_target {
            NextTarget::Advance => true,
            NextTarget::IfConfigured => self.config.advance_on_permanent,
            NextTarget::Stop => false,
        };
        if go_on {
            WalkStep::Next
        } else {
            let error = self.recorder.give_up(error, self.targets);
            WalkStep::End(Err(with_rejected(error, self.rejected.take())))
        }
    }

    /// Skips a target that cannot take the request, at no cost to its health.
    fn unfit(&mut self, target: &ChainTarget, error: Error) -> WalkStep<'a, O::Output> {
        let class = self.config.class_of(&error);
        self.recorder.unfit(target, class, &error);
        self.advance(class, error)
    }

    async fn shaped(&self, target: &ChainTarget, budget: &RetryBudget) -> Result<Shaped> {
        let mut shaped = Shaped {
            request: self.request.clone(),
            changes: self.reductions.clone(),
        };
        if let Some(messages) = budget.repair() {
            shaped.request.edit().messages.extend_from_slice(messages);
        }
        self.in_time(shape_for(target, self.config, shaped, ShapeMode::Send))
            .await
    }

    /// Consults the gate, if there is one. The outer error is the deadline's.
    async fn enter(
        &self,
        target: &ChainTarget,
        shaped: &mut Shaped,
        began: Instant,
    ) -> Result<Result<AdmittedAttempt, GateRefusal>> {
        let Some(gate) = self.gate else {
            return Ok(Ok(AdmittedAttempt::default()));
        };
        let pending = PendingAttempt {
            target: target.name(),
            kind: O::KIND,
            request: &shaped.request,
            began,
            client_paid: target.is_client_paid(&shaped.request),
            model: target.model(),
            input_bytes: self.operation.input_bytes(target.model()),
            images: self.operation.images(),
        };
        let entering = enter(gate, pending, target.clock());
        let entered = match self.in_time(async { Ok(entering.await) }).await? {
            Ok(entered) => entered,
            Err(refusal) => return Ok(Err(refusal)),
        };
        let limited = entered.limit_output(&mut shaped.request);
        shaped.changes.extend(limited);
        Ok(Ok(entered.attempt))
    }

    async fn call(
        &self,
        model: &dyn Model,
        request: Request,
        attempt: &mut AdmittedAttempt,
    ) -> Result<O::Output> {
        let call = self.operation.call(model, request, attempt);
        let Some(limit) = self.config.attempt else {
            return self.in_time(call).await;
        };
        let attempt = async {
            let late = |_| {
                let text = format!("no response within {} s", limit.as_secs_f64());
                Error::new(ErrorKind::Timeout(Timer::FirstEvent), text)
            };
            timeout(limit, call).await.map_err(late)?
        };
        self.in_time(attempt).await
    }

    async fn in_time<T>(&self, work: impl Future<Output = Result<T>>) -> Result<T> {
        let Some(deadline) = self.deadline else {
            return work.await;
        };
        match timeout_at(deadline, work).await {
            Ok(result) => result,
            Err(_) => Err(deadline_passed()),
        }
    }

    /// Keeps a rejected response, whose usage is billed nevertheless.
    fn keep_rejected(&mut self, mut response: Response) {
        response.usage += usage_of(self.rejected.as_ref());
        self.rejected = Some(response);
    }

    fn served(
        &mut self,
        target: &'a ChainTarget,
        permit: TargetPermit,
        attempt: AdmittedAttempt,
        output: O::Output,
        changes: Vec<Change>,
        began: Instant,
    ) -> Served<'a, O::Output> {
        Served {
            output,
            target,
            permit,
            attempt,
            attempt_log: self.recorder.served(target, began, changes),
            deadline: self.deadline,
            spent: usage_of(self.rejected.as_ref()),
        }
    }
}

fn usage_of(rejected: Option<&Response>) -> Usage {
    rejected.map(|response| response.usage).unwrap_or_default()
}

/// Attaches a rejected response to an error without a partial one.
fn with_rejected(error: Error, rejected: Option<Response>) -> Error {
    match rejected {
        Some(response) if error.partial().is_none() => error.with_partial(response),
        _ => error,
    }
}

pub(super) fn deadline_passed() -> Error {
    Error::new(ErrorKind::Deadline, "the caller's deadline passed")
}
