//! Random schedules of requests, rejections and exhausted quotas against a ring of keys.
//!
//! A failing seed is printed and can be replayed alone:
//! `MAJORDOMO_SIM_SEED=123 cargo test -p majordomo --lib keys`

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use majordomo_llm::{Class, Error, ErrorKind, Fingerprint, Message, Model, Provider, Request};
use majordomo_llm::{Quota, QuotaWindow};
use majordomo_providers::fake::Fake;

use super::*;
use crate::bench_cause::BenchCause;
use crate::clock::{Clock, ManualClock};
use crate::health::{Health, HealthConfig, Standing};

const SCHEDULES: u64 = 20_000;
const STEPS: usize = 48;

/// A provider with several keys.
struct Keyed {
    fake: Fake,
    keys: usize,
}

impl Provider for Keyed {
    fn name(&self) -> &str {
        self.fake.name()
    }

    fn model(&self, id: &str) -> majordomo_llm::Result<Arc<dyn Model>> {
        self.fake.model(id)
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        Some(Fingerprint::of("keyed"))
    }

    fn by_key(&self) -> Vec<Arc<dyn Provider>> {
        (0..self.keys)
            .map(|_| Arc::new(self.fake.clone()) as Arc<dyn Provider>)
            .collect()
    }
}

/// SplitMix64.
struct Dice(u64);

impl Dice {
    fn roll(&mut self, sides: u64) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        (z ^ (z >> 31)) % sides
    }
}

/// How a call with a key ends.
#[derive(Clone, Copy, Debug)]
enum CallEnd {
    Served {
        left: Option<u64>,
    },
    Rejected,
    Throttled {
        seconds: u64,
    },
    /// The caller left.
    Dropped,
}

fn call_end(dice: &mut Dice) -> CallEnd {
    match dice.roll(20) {
        0 => CallEnd::Rejected,
        1 | 2 => CallEnd::Throttled {
            seconds: dice.roll(20),
        },
        3 => CallEnd::Dropped,
        4 | 5 => CallEnd::Served { left: Some(0) },
        6..=9 => CallEnd::Served {
            left: Some(dice.roll(100) + 1),
        },
        _ => CallEnd::Served { left: None },
    }
}

fn cause(class: Class) -> BenchCause {
    BenchCause::from_error(&Error::new(ErrorKind::Provider, "no"), class)
}

/// What happened in all schedules.
#[derive(Debug, Default)]
struct Totals {
    calls: u64,
    moves: u64,
    refusals: u64,
    by_key: [u64; 4],
}

/// One schedule; returns the invariants that it broke.
fn run(seed: u64, totals: &mut Totals) -> Vec<String> {
    let mut dice = Dice(seed.wrapping_mul(0xD134_2543_DE82_EF95));
    let clock = Arc::new(ManualClock::new());
    let health = Health::new(HealthConfig::default(), clock.clone());
    let keys = 2 + dice.roll(3) as usize;
    let provider = Keyed {
        fake: Fake::new("fp"),
        keys,
    };
    let ring = KeyRing::of(&provider, "m", &health, &ConversationTables::default());
    let ring = ring.expect("it has models").expect("it has several keys");
    let mut with: HashMap<u64, usize> = HashMap::new();
    let mut broken = Vec::new();
    for step in 0..STEPS {
        clock.advance(Duration::from_millis(dice.roll(3_000)));
        let number = dice.roll(12);
        let conversation = Conversation(number.wrapping_mul(0x9E37_79B9_7F4A_7C15));
        let mut tried = TriedKeys::default();
        let mut calls = 0;
        loop {
            let usable = ring.usable_keys(tried);
            let admitted = ring.admit(Some(conversation), tried, false);
            let mut permit = match admitted {
                Ok(permit) => permit,
                Err(_) => {
                    totals.refusals += 1;
                    if !usable.is_empty() {
                        broken.push(format!("step {step}: refused while {usable:?} are usable"));
                    }
                    break;
                }
            };
            let key = permit.number;
            calls += 1;
            totals.calls += 1;
            totals.by_key[key] += 1;
            if !usable.is_empty() && !usable.contains(&key) {
                broken.push(format!("step {step}: key {key} rests, {usable:?} do not"));
            }
            if let Some(before) = with.insert(number, key)
                && before != key
            {
                totals.moves += 1;
                if usable.contains(&before) {
                    broken.push(format!("step {step}: moved from {before}, which is usable"));
                }
            }
            match call_end(&mut dice) {
                CallEnd::Served { left } => {
                    permit.credential.succeed();
                    permit.limit.succeed();
                    if let Some(left) = left {
                        ring.report_quota(key, left, dice.roll(30));
                    }
                    break;
                }
                CallEnd::Dropped => break,
                CallEnd::Rejected => {
                    let wait = Duration::from_secs(60);
                    permit.credential.refuse(wait, cause(Class::Auth));
                }
                CallEnd::Throttled { seconds } => {
                    let wait = Duration::from_secs(seconds + 1);
                    permit.limit.throttle(wait, cause(Class::RateLimited));
                }
            }
            tried.add(key);
        }
        if calls > keys {
            broken.push(format!("step {step}: {calls} calls with {keys} keys"));
        }
    }
    broken
}

impl KeyRing {
    /// The keys that neither rest nor are used up nor were tried.
    fn usable_keys(&self, tried: TriedKeys) -> Vec<usize> {
        let usable = |number: &usize| {
            let key = &self.keys[*number];
            let rests = |subject: &crate::health::Subject| {
                !matches!(subject.standing(), Standing::Usable | Standing::Probe)
            };
            let used_up = key.limit.quota().and_then(|quota| quota.used_up_for());
            !rests(&key.credential)
                && !rests(&key.limit)
                && used_up.is_none()
                && !tried.contains(*number)
        };
        (0..self.keys.len()).filter(usable).collect()
    }

    fn report_quota(&self, key: usize, left: u64, seconds: u64) {
        let requests = QuotaWindow {
            limit: 100,
            left,
            resets_in: Some(Duration::from_secs(seconds)),
        };
        self.keys[key].limit.note_quota(Quota {
            requests: Some(requests),
            tokens: None,
        });
    }
}

#[test]
fn random_schedules_keep_every_invariant() {
    let setting = |name: &str| std::env::var(name).ok()?.parse::<u64>().ok();
    let seeds = match setting("MAJORDOMO_SIM_SEED") {
        Some(seed) => seed..seed + 1,
        None => 0..setting("MAJORDOMO_SIM_SCHEDULES").unwrap_or(SCHEDULES),
    };
    let all = seeds.end - seeds.start >= SCHEDULES;
    let mut totals = Totals::default();
    for seed in seeds {
        let broken = run(seed, &mut totals);
        assert!(
            broken.is_empty(),
            "seed {seed} breaks invariants (replay with MAJORDOMO_SIM_SEED={seed}):\n{}",
            broken.join("\n")
        );
    }
    println!("{totals:?}");
    if all {
        assert!(
            totals.moves > SCHEDULES && totals.refusals > 1_000,
            "{totals:?}"
        );
        // Two keys are in every schedule, the third in two thirds, the fourth in one.
        let fair = [26, 26, 14, 6].map(|percent| totals.calls * percent / 100);
        for (key, (calls, fair)) in totals.by_key.iter().zip(fair).enumerate() {
            assert!(*calls > fair, "key {key} starves: {totals:?}");
        }
    }
}

#[test]
fn a_conversation_stays_with_its_key_after_the_other_one_recovered() {
    let clock = Arc::new(ManualClock::new());
    let health = Health::new(HealthConfig::default(), clock.clone());
    let provider = Keyed {
        fake: Fake::new("fp"),
        keys: 2,
    };
    let ring = KeyRing::of(&provider, "m", &health, &ConversationTables::default());
    let ring = ring.unwrap().unwrap();
    let conversation = Some(Conversation(1));
    let key = || ring.admit(conversation, TriedKeys::default(), false).ok();
    let mut first = key().unwrap();
    let before = first.number;
    assert_eq!(key().unwrap().number, before);
    first
        .limit
        .throttle(Duration::from_secs(10), cause(Class::RateLimited));
    let after = key().unwrap().number;
    assert_ne!(after, before);
    clock.advance(Duration::from_secs(60));
    assert_eq!(key().unwrap().number, after, "its prompt is cached there");
}

/// A provider with these keys.
struct WithKeys<'a>(&'a [&'static str]);

/// A fake with a key.
struct WithKey(Fake, &'static str);

impl Provider for WithKey {
    fn name(&self) -> &str {
        self.0.name()
    }

    fn model(&self, id: &str) -> majordomo_llm::Result<Arc<dyn Model>> {
        self.0.model(id)
    }

    fn fingerprint(&self) -> Option<Fingerprint> {
        Some(Fingerprint::of(self.1))
    }
}

impl Provider for WithKeys<'_> {
    fn name(&self) -> &str {
        "fp"
    }

    fn model(&self, id: &str) -> majordomo_llm::Result<Arc<dyn Model>> {
        Fake::new("fp").model(id)
    }

    fn by_key(&self) -> Vec<Arc<dyn Provider>> {
        let key = |key: &&'static str| Arc::new(WithKey(Fake::new("fp"), key)) as Arc<dyn Provider>;
        self.0.iter().map(key).collect()
    }
}

#[test]
fn a_conversation_stays_with_its_key_when_another_one_is_removed() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let health = Health::new(HealthConfig::default(), clock);
    let tables = ConversationTables::default();
    let ring = |keys: &[&'static str]| {
        let ring = KeyRing::of(&WithKeys(keys), "m", &health, &tables);
        ring.unwrap().unwrap()
    };
    let key_of = |ring: &KeyRing, conversation: u64| {
        let conversation = Conversation(conversation.wrapping_mul(0xD134_2543_DE82_EF95));
        let permit = ring.admit(Some(conversation), TriedKeys::default(), false);
        permit.ok().unwrap().number
    };
    let before = ["a", "b", "c"];
    let all = ring(&before);
    let used: Vec<&str> = (0..40).map(|it| before[key_of(&all, it)]).collect();
    assert!(before.iter().all(|key| used.contains(key)));
    for after in [["b", "c", "d"], ["c", "b", "e"]] {
        let changed = ring(&after);
        for (conversation, key) in (0..).zip(&used) {
            if after.contains(key) {
                assert_eq!(after[key_of(&changed, conversation)], *key, "{after:?}");
            }
        }
    }
}

#[test]
fn a_conversation_is_known_by_what_all_of_its_requests_begin_with() {
    let first = Request::user("fix the bug").system("You are a coder.");
    let next = first.clone().message(Message::assistant("done"));
    let next = next.message(Message::user("thanks"));
    let of = |request: &Request| Conversation::of(request.prompt());
    assert_eq!(of(&first), of(&next));
    assert_ne!(of(&first), of(&Request::user("fix the bug")));
    assert_ne!(
        of(&first),
        of(&Request::user("fix it").system("You are a coder."))
    );
    assert_eq!(of(&Request::default()), None);
}

#[test]
fn conversations_that_agents_begin_alike_are_told_apart() {
    let of = |request: &Request| Conversation::of(request.prompt());
    let files = "the same files ".repeat(1_000);
    let asks = |text: &str| Request::user(format!("{files}{text}"));
    assert_eq!(of(&asks("fix the bug")), of(&asks("fix the bug")));
    assert_ne!(of(&asks("fix the bug")), of(&asks("write the docs")));
    let named = |name: &str| {
        let mut request = asks("hi");
        request.edit().cache_key = Some(name.to_owned());
        request
    };
    assert_ne!(of(&named("session 1")), of(&named("session 2")));
    let mut later = named("session 1").message(Message::assistant("yes"));
    later = later.message(Message::user("go on"));
    assert_eq!(of(&named("session 1")), of(&later));
    let by = |user: &str| {
        let mut request = asks("hi");
        request.edit().user = Some(user.to_owned());
        request
    };
    assert_ne!(of(&by("session 1")), of(&by("session 2")));
}

#[test]
fn each_key_has_its_own_health() {
    let clock: Arc<dyn Clock> = Arc::new(ManualClock::new());
    let health = Health::new(HealthConfig::default(), clock);
    let provider = Keyed {
        fake: Fake::new("fp"),
        keys: 2,
    };
    KeyRing::of(&provider, "m", &health, &ConversationTables::default()).unwrap();
    let names: Vec<String> = health.snapshot().into_iter().map(|it| it.subject).collect();
    assert_eq!(names, ["fp key 1", "fp key 1/m", "fp key 2", "fp key 2/m"]);
}
