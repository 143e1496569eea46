//! Goes down the chain until somebody serves.

use std::time::Instant;

use majordomo_llm::{
    AttemptLog, Change, Class, Error, ErrorKind, Message, NextTarget, Request, Response, Result,
    SameTarget, Timer, Usage,
};
use tokio::time::{timeout, timeout_at};

use super::ask::Ask;
use super::attempt::Record;
use super::shaping::{Earnest, reduced, shape_for};
use super::target::TargetPermit;
use super::{AllBenched, Chain, ChainConfig, Shaped, Target};

/// One request on its way.
pub(super) struct Run<'a, A> {
    targets: &'a [Target],
    config: &'a ChainConfig,
    request: Request,
    ask: A,
    deadline: Option<tokio::time::Instant>,
    record: Record<'a>,
    /// What was given up so that anybody could serve.
    reductions: Vec<Change>,
    /// The last answer that was not taken, with the usage of all of those.
    refused: Option<Response>,
}

/// An answer with all that belongs to it. The permit still wants its report.
pub(super) struct Served<'a, T> {
    pub(super) answer: T,
    pub(super) target: &'a Target,
    pub(super) permit: TargetPermit,
    pub(super) attempt_log: AttemptLog,
    pub(super) deadline: Option<tokio::time::Instant>,
    /// What answers cost that were not taken.
    pub(super) spent: Usage,
}

impl<'a, T> Served<'a, T> {
    /// The answer, and the same with another one in its place.
    pub(super) fn replace<U>(self, answer: U) -> (T, Served<'a, U>) {
        let rest = Served {
            answer,
            target: self.target,
            permit: self.permit,
            attempt_log: self.attempt_log,
            deadline: self.deadline,
            spent: self.spent,
        };
        (self.answer, rest)
    }
}

/// What came of one target: the end of the request, or the next one's turn.
enum Turn<'a, T> {
    End(Result<Served<'a, T>>),
    Next,
}

/// How often the same target may still be asked.
struct Patience {
    retries: u32,
    free_retry: bool,
    /// What was added to repair a refused answer; it is tried once.
    repair: Option<Vec<Message>>,
}

impl<'a, A: Ask> Run<'a, A> {
    pub(super) fn new(chain: &'a Chain, request: Request, ask: A) -> Self {
        let patience = request.get_timeout().or(chain.config.deadline);
        let now = tokio::time::Instant::now();
        Self {
            targets: &chain.targets,
            config: &chain.config,
            deadline: patience.and_then(|patience| now.checked_add(patience)),
            record: Record::new(&chain.observers, chain.targets[0].clock()),
            request,
            ask,
            reductions: Vec::new(),
            refused: None,
        }
    }

    pub(super) async fn serve(mut self) -> Result<Served<'a, A::Answer>> {
        if let Turn::End(result) = self.pass().await {
            return result;
        }
        let smaller = self.record.all_incapable() && self.reduce();
        if smaller && let Turn::End(result) = self.pass().await {
            return result;
        }
        let refused = self.refused.take();
        Err(with_refused(self.record.exhausted(), refused))
    }

    /// Goes down the chain once, with the last resort at its end.
    async fn pass(&mut self) -> Turn<'a, A::Answer> {
        let mut barred = Vec::new();
        for target in self.targets {
            match target.admit() {
                Ok(permit) => {
                    let turn = self.turn(target, permit, self.config.retries).await;
                    if let Turn::End(result) = turn {
                        return Turn::End(result);
                    }
                }
                Err(why) => {
                    self.record.barred(target, &why);
                    if !why.by_credential {
                        barred.push((why.denied.wait, target));
                    }
                }
            }
        }
        if !self.record.asked() && self.config.all_benched == AllBenched::LeastBad {
            barred.sort_by_key(|(wait, _)| *wait);
            let targets = barred.into_iter().map(|(_, target)| target);
            return self.last_resort(targets).await;
        }
        Turn::Next
    }

    /// Makes the request one that somebody may take, where a shape knows how.
    fn reduce(&mut self) -> bool {
        let reduced = reduced(self.targets, self.config, &self.request);
        let Some(Shaped { request, changes }) = reduced else {
            return false;
        };
        self.request = request;
        self.reductions = changes;
        true
    }

    /// Asks the first of the benched targets that can be asked, once. Every request
    /// may do so: one that failed for its own sake must not keep the others out.
    async fn last_resort(
        &mut self,
        targets: impl Iterator<Item = &'a Target>,
    ) -> Turn<'a, A::Answer> {
        for target in targets {
            if self.record.asked() {
                break;
            }
            let Ok(permit) = target.force() else {
                continue;
            };
            if let Turn::End(result) = self.turn(target, permit, 0).await {
                return Turn::End(result);
            }
        }
        Turn::Next
    }

    /// Asks one target, again where its failure allows that.
    async fn turn(
        &mut self,
        target: &'a Target,
        mut permit: TargetPermit,
        retries: u32,
    ) -> Turn<'a, A::Answer> {
        let mut patience = Patience {
            retries,
            free_retry: true,
            repair: None,
        };
        loop {
            let began = self.record.now();
            let shaped = match self.shaped(target, patience.repair.as_deref()).await {
                Ok(shaped) => shaped,
                Err(error) => return self.unfit(target, error),
            };
            let (request, notes) = shaped.request.noting();
            let answer = self.call(target, request).await;
            let mut changes = shaped.changes;
            changes.extend(notes.take());
            let error = match answer {
                Ok(answer) => match self.ask.refuse(&answer) {
                    None => {
                        return Turn::End(Ok(self.served(target, permit, answer, changes, began)));
                    }
                    Some(refusal) => {
                        self.spend(refusal.answer);
                        let repairable = patience.repair.is_none() && !refusal.repair.is_empty();
                        if repairable && permit.still_good() {
                            let class = self.config.class_of(&refusal.error);
                            self.record
                                .failed(target, began, changes, class, &refusal.error);
                            patience.repair = Some(refusal.repair);
                            continue;
                        }
                        refusal.error
                    }
                },
                Err(error) => error,
            };
            let error = error.with_target(target.name().provider(), target.name().model());
            let class = self.config.class_of(&error);
            self.record.failed(target, began, changes, class, &error);
            permit.fail(class, &error);
            if !permit.still_good() || !patience.allows(class) {
                return self.after(class, error);
            }
        }
    }

    /// What follows when a target is not asked again.
    fn after(&mut self, class: Class, error: Error) -> Turn<'a, A::Answer> {
        let go_on = match class.verdict().next_target {
            NextTarget::Advance => true,
            NextTarget::IfConfigured => self.config.advance_on_permanent,
            NextTarget::Stop => false,
        };
        if go_on {
            Turn::Next
        } else {
            let error = self.record.give_up(error);
            Turn::End(Err(with_refused(error, self.refused.take())))
        }
    }

    /// A target that cannot take the request is passed over; nobody is sick.
    fn unfit(&mut self, target: &Target, error: Error) -> Turn<'a, A::Answer> {
        let class = self.config.class_of(&error);
        self.record.unfit(target, class, &error);
        self.after(class, error)
    }

    async fn shaped(&self, target: &Target, repair: Option<&[Message]>) -> Result<Shaped> {
        let mut shaped = Shaped {
            request: self.request.clone(),
            changes: self.reductions.clone(),
        };
        if let Some(messages) = repair {
            shaped.request.edit().messages.extend_from_slice(messages);
        }
        self.in_time(shape_for(target, self.config, shaped, Earnest::Yes))
            .await
    }

    async fn call(&self, target: &Target, request: Request) -> Result<A::Answer> {
        let asked = self.ask.ask(target.model(), request);
        let Some(limit) = self.config.attempt else {
            return self.in_time(asked).await;
        };
        let attempt = async {
            let late = |_| {
                let text = format!("no answer within {} s", limit.as_secs_f64());
                Error::new(ErrorKind::Timeout(Timer::FirstEvent), text)
            };
            timeout(limit, asked).await.map_err(late)?
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

    /// Keeps an answer that was not taken.
    fn spend(&mut self, mut answer: Response) {
        answer.usage += usage_of(self.refused.as_ref());
        self.refused = Some(answer);
    }

    fn served(
        &mut self,
        target: &'a Target,
        permit: TargetPermit,
        answer: A::Answer,
        changes: Vec<Change>,
        began: Instant,
    ) -> Served<'a, A::Answer> {
        Served {
            answer,
            target,
            permit,
            attempt_log: self.record.served(target, began, changes),
            deadline: self.deadline,
            spent: usage_of(self.refused.as_ref()),
        }
    }
}

impl Patience {
    fn allows(&mut self, class: Class) -> bool {
        match class.verdict().same_target {
            SameTarget::Free if self.free_retry => {
                self.free_retry = false;
                true
            }
            SameTarget::Retry if self.retries > 0 => {
                self.retries -= 1;
                true
            }
            _ => false,
        }
    }
}

fn usage_of(refused: Option<&Response>) -> Usage {
    refused.map(|answer| answer.usage).unwrap_or_default()
}

/// An error with the answer that was not taken, where it has none of its own.
fn with_refused(error: Error, refused: Option<Response>) -> Error {
    match refused {
        Some(answer) if error.partial().is_none() => error.with_partial(answer),
        _ => error,
    }
}

pub(super) fn deadline_passed() -> Error {
    Error::new(ErrorKind::Deadline, "the caller's deadline passed")
}
