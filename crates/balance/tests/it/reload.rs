//! A reload changes services and weights, and keeps the state of those that stay.

use majordomo_balance::{Pick, PickSource, Pool, ServiceConfig, Tactic, Usability};

use crate::support::{TestGateway, flat, now, pinned, secs, session};

#[tokio::test(start_paused = true)]
async fn services_that_stay_keep_their_sessions_and_statistics() {
    let gateway = TestGateway::new();
    let config = pinned(flat(&["up/a", "up/b", "up/c"]));
    let old = gateway.pool(config.clone());
    let mut homes = Vec::new();
    for number in 0..30 {
        let name = number.to_string();
        let outcome = gateway.send_as(&old, session(&name)).await;
        homes.push((name, outcome.first().to_owned()));
    }
    let answers = old.snapshot(now()).services[2].answers;
    assert!(answers > 0);

    // One is removed, one is added, the order and all weights change.
    let service = |id: &str, weight| ServiceConfig::new(id).with_weight(weight);
    let new = old.reload(config.with_services(vec![
        service("up/c", 1),
        service("up/new", 100),
        service("up/a", 5),
    ]));
    assert_eq!(new.snapshot(now()).services[0].answers, answers);
    assert_eq!(new.snapshot(now()).services[1].answers, 0);
    for (name, home) in homes {
        let outcome = gateway.send_as(&new, session(&name)).await;
        if home == "up/b" {
            assert_eq!(outcome.source, PickSource::Tactic);
        } else {
            assert_eq!(
                (outcome.first(), outcome.source),
                (&*home, PickSource::Affinity)
            );
        }
    }
}

#[test]
fn requests_in_flight_count_against_the_new_capacity() {
    let old = Pool::new(flat(&["up/a"]), now());
    let (_, service) = old.services().next().unwrap();
    let seats = [service.stats().try_seat(), service.stats().try_seat()];
    let mut config = flat(&["up/a"]);
    config.services[0].capacity = Some(2);
    let new = old.reload(config);
    let (_, service) = new.services().next().unwrap();
    assert_eq!(service.utilization(), Some(1.0));
    assert!(service.stats().try_seat().is_none());
    drop(seats);
    assert!(service.stats().try_seat().is_some());
}

#[test]
fn a_duplicated_id_is_two_services() {
    let old = Pool::new(flat(&["up/a", "up/a"]), now());
    old.services()
        .next()
        .unwrap()
        .1
        .stats()
        .record_response(secs(1), now());
    let new = old.reload(flat(&["up/a", "up/a"]));
    let snapshot = new.snapshot(now());
    let answers: Vec<_> = snapshot.services.iter().map(|s| s.answers).collect();
    assert_eq!(answers, [1, 0]);
}

#[test]
fn affinity_and_tactic_may_change() {
    let old = Pool::new(flat(&["up/a", "up/b"]), now());
    let new = old.reload(pinned(flat(&["up/a", "up/b"])).with_tactic(Tactic::RoundRobin));
    let pick = Pick::at(now()).of(session("s"));
    let usable = |_| Usability::Usable;
    assert_eq!(new.order(&pick, usable).source(), PickSource::Tactic);
    assert_eq!(new.order(&pick, usable).source(), PickSource::Affinity);
    let snapshot = new.snapshot(now());
    assert_eq!(
        (snapshot.tactic, snapshot.sessions),
        ("round_robin", Some(1))
    );
    let off = new.reload(flat(&["up/a", "up/b"]));
    assert_eq!(off.order(&pick, usable).source(), PickSource::Tactic);
}
