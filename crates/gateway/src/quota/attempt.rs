//! Reserves the maximum usage of an attempt before it is sent, and settles its actual usage.

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use majordomo::chain::{AttemptKind, GateRefusal, PendingAttempt};
use majordomo::llm::Change;
use majordomo_ledger::{PriceCard, Quantities, Rate};
use majordomo_limits::{
    BudgetWindow, LeaseWait, LevelId, Nanodollars, Refusal, RefusedBy, Reservation, ReservationAsk,
    ReserveOutcome, WhenExhausted,
};

use super::caller::CallerLimits;
use super::refusals::sentence;
use super::store_wait::StoreWait;
use crate::clock::{unix_millis, wall_clock};
use crate::pricing::Pricing;

/// Picodollars in one nanodollar.
const PICO_PER_NANO: u128 = 1_000;
/// A request is clamped once per budget at most.
const CLAMPS: usize = 16;

/// The limits on the attempts of one request.
pub(crate) struct AttemptLimits {
    caller: Arc<CallerLimits>,
    pricing: Arc<Pricing>,
    seen: Mutex<Seen>,
}

/// The state of the attempts so far.
#[derive(Default)]
struct Seen {
    refusal: Option<Refusal>,
    exceeded: Vec<(LevelId, BudgetWindow)>,
    /// A cheaper spec took over.
    replaced: bool,
}

/// The outcome of a reservation.
pub(crate) enum HoldOutcome {
    Held(AttemptHold),
    Waiting(LeaseWait),
    Refused(GateRefusal),
}

/// The reservation of an attempt.
pub(crate) struct AttemptHold {
    reservation: Reservation,
    /// The price at the attempt's start.
    pub(crate) card: Option<Arc<PriceCard>>,
    /// The reserved amount, if the price is known.
    cost: Option<Nanodollars>,
    caller: Arc<CallerLimits>,
    /// The estimated input tokens.
    pub(crate) input: u64,
    /// The maximum output tokens that it may request.
    pub(crate) max_tokens: Option<u64>,
}

impl AttemptLimits {
    pub(crate) fn new(caller: Arc<CallerLimits>, pricing: Arc<Pricing>) -> Self {
        Self {
            caller,
            pricing,
            seen: Mutex::default(),
        }
    }

    /// The time that the request may still wait for stores.
    pub(crate) fn wait(&self) -> &StoreWait {
        &self.caller.wait
    }

    /// A store did not reply in time. Returns whether to try once more.
    pub(crate) fn expire(&self, wait: &LeaseWait) -> bool {
        wait.expire(self.caller.now().monotonic)
    }

    /// The maximum usage of an attempt; `None` if nothing has to be reserved.
    pub(crate) fn bound(&self, attempt: &PendingAttempt<'_>) -> Option<AttemptBound> {
        let needed = self.caller.stack.needs_reservation() && attempt.kind != AttemptKind::Count;
        needed.then(|| AttemptBound::of(self, attempt))
    }

    /// Reserves the usage, and lowers the output bound if a budget clamps.
    pub(crate) fn hold(&self, bound: &mut AttemptBound) -> HoldOutcome {
        for _ in 0..CLAMPS {
            let ask = ReservationAsk {
                tokens: bound.tokens(),
                cost: bound.cost(),
            };
            let refusal = match self.caller.stack.reserve(self.caller.now(), ask) {
                ReserveOutcome::Held(reservation) => {
                    let exceeded = reservation.exceeded();
                    if !exceeded.is_empty() {
                        self.seen().exceeded.extend_from_slice(exceeded);
                    }
                    return HoldOutcome::Held(AttemptHold {
                        reservation,
                        card: bound.card.clone(),
                        cost: ask.cost,
                        caller: Arc::clone(&self.caller),
                        input: bound.input,
                        max_tokens: bound.sets_max.then_some(bound.output),
                    });
                }
                ReserveOutcome::Waiting(wait) => return HoldOutcome::Waiting(wait),
                ReserveOutcome::Refused(refusal) => refusal,
            };
            if let RefusedBy::Budget {
                left,
                when_exhausted: WhenExhausted::Clamp,
                ..
            } = refusal.limit
                && bound.clamp(left)
            {
                continue;
            }
            return HoldOutcome::Refused(self.refused(refusal));
        }
        HoldOutcome::Refused(GateRefusal::new("the budget cannot be reserved"))
    }

    /// Remembers a refusal, for the client's error.
    pub(crate) fn refused(&self, refusal: Refusal) -> GateRefusal {
        let mut gate = GateRefusal::new(sentence(&refusal, &self.caller));
        gate.retry_after = refusal.retry_after;
        self.seen().refusal = Some(refusal);
        gate
    }

    /// The last refusal.
    pub(crate) fn refusal(&self) -> Option<Refusal> {
        self.seen().refusal.clone()
    }

    /// Lets a cheaper spec take over, if the budget that refused names one.
    pub(crate) fn replace(&self) -> bool {
        let mut seen = self.seen();
        let limit = seen.refusal.as_ref().map(|refusal| &refusal.limit);
        let named = matches!(
            limit,
            Some(RefusedBy::Budget {
                when_exhausted: WhenExhausted::Spec(_),
                ..
            })
        );
        if named {
            seen.refusal = None;
            seen.replaced = true;
        }
        named
    }

    /// The change to list if a cheaper spec took over.
    pub(crate) fn replacement(&self) -> Option<Change> {
        let replaced = self.seen().replaced;
        replaced.then(|| Change::new("model", "replaced").detail("the budget covers a cheaper one"))
    }

    /// Exceeded budgets with `warn`, such as `key laptop day`.
    pub(crate) fn exceeded(&self) -> Vec<String> {
        let name = |(level, window): &(LevelId, BudgetWindow)| {
            let words = [level.kind.name(), &level.name, window.name()];
            let words = words.into_iter().filter(|word| !word.is_empty());
            words.collect::<Vec<_>>().join(" ")
        };
        let mut names: Vec<String> = self.seen().exceeded.iter().map(name).collect();
        names.sort_unstable();
        names.dedup();
        names
    }

    fn seen(&self) -> MutexGuard<'_, Seen> {
        self.seen.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// The fields that request several responses: in Chat Completions and in Gemini.
const CHOICES: [&str; 2] = ["n", "generationConfig.candidateCount"];

/// Output tokens to reserve for an image, above what the largest one takes.
const IMAGE_OUTPUT: u64 = 8_000;

/// The maximum usage of an attempt.
pub(crate) struct AttemptBound {
    input: u64,
    /// The output of one choice.
    output: u64,
    choices: u64,
    /// Images to generate.
    images: u64,
    /// Whether the request has to carry its maximum.
    sets_max: bool,
    card: Option<Arc<PriceCard>>,
    /// The client pays: it costs us nothing.
    client_paid: bool,
}

impl AttemptBound {
    fn of(limits: &AttemptLimits, attempt: &PendingAttempt<'_>) -> Self {
        let input = attempt.input_tokens();
        let at = unix_millis(wall_clock());
        let card = limits.pricing.price(attempt.target.as_str(), at);
        let card = card.filter(|_| !attempt.client_paid);
        let prompt = attempt.request.prompt();
        let mut bound = Self {
            input,
            output: 0,
            choices: 1,
            images: 0,
            sets_max: false,
            card,
            client_paid: attempt.client_paid,
        };
        if attempt.kind == AttemptKind::Embed {
            return bound;
        }
        if attempt.kind == AttemptKind::Image {
            bound.images = attempt.images;
            bound.output = IMAGE_OUTPUT;
            bound.choices = attempt.images.clamp(1, 1_000);
            return bound;
        }
        let most = attempt.capabilities().max_output.unwrap_or(u64::MAX);
        bound.output = match prompt.max_tokens {
            Some(asked) => asked.min(most),
            None => {
                bound.sets_max = limits.caller.stack.has_strict_budget();
                limits.caller.reserve_output.min(most)
            }
        };
        let native = prompt.native.as_ref();
        let choices = CHOICES.into_iter().find_map(|name| {
            let value = native.as_ref()?.get(name)?;
            // JSON of Protocol Buffers also has `8.0` and `"8"`.
            let value = value.as_str().trim().trim_matches('"').parse::<f64>();
            value.ok().map(|number| number.ceil() as u64)
        });
        bound.choices = choices.unwrap_or(1).clamp(1, 1_000);
        bound
    }

    fn tokens(&self) -> u64 {
        let output = self.output.saturating_mul(self.choices);
        self.input.saturating_add(output)
    }

    /// At the highest rates that may apply, rounded up; `None` if one is unknown.
    fn cost(&self) -> Option<Nanodollars> {
        if self.client_paid {
            return Some(Nanodollars(0));
        }
        let (fixed, per_token) = self.picodollars()?;
        let output = u128::from(self.output).saturating_mul(per_token);
        let nano = fixed.saturating_add(output).div_ceil(PICO_PER_NANO);
        Some(Nanodollars(u64::try_from(nano).unwrap_or(u64::MAX)))
    }

    /// The cost of the input and the request, and of one token of output.
    fn picodollars(&self) -> Option<(u128, u128)> {
        let rates = self.card.as_ref()?.rates(self.input);
        let pico = |rate: Option<Rate>| rate.map_or(0, |rate| u128::from(rate.picodollars()));
        let input = match rates.image {
            Some(_) if self.images > 0 => pico(rates.highest_input()),
            _ => pico(Some(rates.highest_input()?)),
        };
        // Embeddings have no output, and their models no price for it.
        let output = match (self.output, self.images) {
            (0, _) => 0,
            // Priced per image, whether or not tokens have a price.
            (_, 1..) if rates.image.is_some() => pico(rates.output),
            _ => pico(Some(rates.output?)).max(pico(rates.reasoning)),
        };
        let images = u128::from(self.images).saturating_mul(pico(rates.image));
        let fixed = u128::from(self.input).saturating_mul(input) + pico(rates.request) + images;
        Some((fixed, output.saturating_mul(u128::from(self.choices))))
    }

    /// Lowers the output to what an amount covers. Returns whether that changed anything.
    fn clamp(&mut self, left: Nanodollars) -> bool {
        // No dialect can limit the tokens of an image.
        if self.images > 0 {
            return false;
        }
        let Some((fixed, per_token)) = self.picodollars() else {
            return false;
        };
        let left = (u128::from(left.0) * PICO_PER_NANO).saturating_sub(fixed);
        let tokens = left.checked_div(per_token).unwrap_or(0);
        let tokens = u64::try_from(tokens).unwrap_or(u64::MAX);
        let lower = (1..self.output).contains(&tokens);
        if lower {
            self.output = tokens;
            self.sets_max = true;
        }
        lower
    }
}

impl AttemptHold {
    /// Settles an attempt that ended; `None` if it used nothing.
    pub(crate) fn settle(self, used: Option<&Quantities>) {
        let cost = used.and_then(|used| match self.card.as_ref()?.cost(used) {
            Some(cost) => u64::try_from(cost.nanodollars()).ok(),
            // Images without reported tokens are not free.
            None if used.images > 0 => self.cost.map(|cost| cost.0),
            None => None,
        });
        let tokens = used.map_or(0, |used| used.input.saturating_add(used.output));
        let now = self.caller.now().monotonic;
        self.reservation
            .settle(now, tokens, Nanodollars(cost.unwrap_or(0)));
    }
}
