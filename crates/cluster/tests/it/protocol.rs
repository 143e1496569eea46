//! The script and its specification agree, on a real server.

use std::time::Duration;

use fastrand::Rng;
use majordomo_cluster::{LEASE, LeaseTable, RESERVED};
use majordomo_limits::TrafficAsk;
use majordomo_testkit::Redis;
use redis::Script;

/// A script with a clock of the test's own, its last argument.
fn script(text: &str, argument: usize) -> Script {
    let clock = "local clock = redis.call('TIME')\nlocal now = clock[1] * 1000000 + clock[2]\n";
    assert!(text.contains(clock), "the script reads the server's clock");
    Script::new(&text.replace(clock, &format!("local now = tonumber(ARGV[{argument}])\n")))
}

fn random_ask(random: &mut Rng, per_minute: Option<u64>, capacity: u64) -> TrafficAsk {
    let want = random.u64(0..=capacity + 2);
    let in_use = match per_minute {
        Some(_) => 0,
        None => random.u64(0..=capacity / 3),
    };
    TrafficAsk {
        limit: "key/laptop/x".into(),
        capacity,
        per_minute,
        spent: per_minute.map_or(0, |_| random.u64(0..=capacity / 2)),
        refund: per_minute.map_or(0, |_| random.u64(0..=capacity / 4)),
        refund_period: random.u64(0..4),
        in_use,
        claim: random.u64(0..=capacity),
        want,
        least: random.u64(0..=want),
        share: per_minute.map_or_else(|| random.u64(0..=capacity), |_| 0),
    }
}

#[test]
fn the_script_does_what_its_specification_says() {
    let Some(server) = Redis::start() else {
        return;
    };
    let client = redis::Client::open(server.url()).expect("an address");
    let mut connection = client.get_connection().expect("it listens");
    let script_of_lease = script(include_str!("../../src/lease.lua"), 14);
    let script_of_life = script(include_str!("../../src/join.lua"), 5);
    for seed in 0..60 {
        let mut random = Rng::with_seed(seed);
        redis::cmd("FLUSHALL")
            .exec(&mut connection)
            .expect("it flushes");
        let mut table = LeaseTable::default();
        let per_minute = random.bool().then(|| random.u64(1..5_000));
        let capacity = random.u64(1..200);
        let mut now = Duration::from_secs(1_700_000_000);
        for step in 0..60 {
            now += Duration::from_micros(random.u64(0..2_000_000));
            // Silent for as long as a share is kept back.
            if random.u8(0..30) == 0 {
                now += Duration::from_secs(random.u64(0..70));
            }
            // The server's clock may be set back.
            if random.u8(0..40) == 0 {
                now -= Duration::from_secs(random.u64(0..3_600));
            }
            let ask = random_ask(&mut random, per_minute, capacity);
            let node = ["a#1", "b#2", "c#3", "c#4"][random.usize(0..4)];
            // Sometimes no node is heard for long.
            if random.u8(0..3) > 0 {
                table.sign_of_life(now);
                script_of_life
                    .key("nodes")
                    .key("epoch")
                    .key("life")
                    .key("resumed")
                    .arg("a")
                    .arg(&[1, LEASE.as_micros() as u64, 0, now.as_micros() as u64])
                    .invoke::<()>(&mut connection)
                    .expect("the script runs");
            }
            let expected = table.exchange(now, node, &ask);
            let reply: Vec<u64> = script_of_lease
                .key("limit")
                .key("born")
                .key("resumed")
                .arg(node)
                .arg(ask.capacity)
                .arg(ask.per_minute.unwrap_or(0))
                .arg(&[
                    ask.spent,
                    ask.refund,
                    ask.refund_period,
                    ask.in_use,
                    ask.claim,
                ])
                .arg(&[ask.want, ask.least])
                .arg(LEASE.as_micros() as u64)
                .arg(ask.share)
                .arg(RESERVED.as_micros() as u64)
                .arg(now.as_micros() as u64)
                .invoke(&mut connection)
                .expect("the script runs");
            let grant = expected.grant;
            let told = [
                grant.held,
                grant.usable,
                grant.free,
                grant.wait.as_micros() as u64,
                grant.period,
                u64::from(grant.contended),
                u64::from(expected.young),
            ];
            assert_eq!(reply, told, "seed {seed}, step {step}: {node} {ask:?}");
        }
    }
}
