//! Faults in runs. Faults of a single tool call are in `tools.rs`.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::time::Duration;

use majordomo::agent::{
    Agent, CancellationToken, Function, NoArguments, StopReason, check_transcript,
};
use majordomo::fake::{Fake, Step};
use majordomo::{Error, Registry, ToolCall};
use tokio::time::{Instant, sleep};

use crate::support::{SharedLog, call, calls, echo, fake, on};

#[tokio::test]
async fn invalid_and_panicking_calls_get_error_results_and_the_run_continues() {
    let fake = fake([
        calls(&[
            ("1", "Look", "{}"),
            ("2", "", "{}"),
            ("3", "look", "{\"x\":1,\"x\":2}"),
            ("4", "break", "{}"),
        ]),
        Step::reply("done"),
    ]);
    let breaks = Function::new("break", "Panics.", |_: NoArguments| async {
        if true {
            panic!("on purpose");
        }
        Ok::<_, String>(())
    });
    let agent = on(&fake).tool(echo("look")).tool(breaks).build().unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(outcome.output, "done");
    assert!(
        outcome.messages[2]
            .tool_results()
            .all(|result| result.is_error)
    );
    check_transcript(&outcome.messages).unwrap();
}

#[tokio::test]
async fn a_call_whose_arguments_do_not_parse_is_kept_as_text_for_the_agent() {
    let fake = fake([calls(&[("1", "look", "{\"a\": 1")]), Step::reply("done")]);
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let outcome = agent.run("go").await.unwrap();
    let call = outcome.messages[1].tool_calls().next().unwrap();
    assert_eq!(call.arguments, "{\"a\": 1");
    let result = outcome.messages[2].tool_results().next().unwrap();
    assert!(result.is_error, "{}", result.text());
}

#[tokio::test]
async fn a_model_that_repeats_a_call_is_stopped_with_its_transcript() {
    let fake = fake([]);
    fake.otherwise(|_| call("", "look"));
    let agent = on(&fake)
        .tool(echo("look"))
        .max_steps(1_000)
        .max_same_call(50)
        .build()
        .unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::ToolLoop(_)));
    assert_eq!(error.outcome().steps.len(), 50);
    check_transcript(&error.outcome().messages).unwrap();
}

#[tokio::test]
async fn a_model_that_never_finishes_is_stopped_at_the_step_limit_with_its_transcript() {
    let fake = fake([]);
    let turns = AtomicUsize::new(0);
    fake.otherwise(move |_| {
        let turn = turns.fetch_add(1, Ordering::SeqCst);
        calls(&[("", "look", &format!("{{\"turn\":{turn}}}"))])
    });
    let agent = on(&fake)
        .tool(echo("look"))
        .max_steps(25)
        .max_same_call(3)
        .build()
        .unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(
        matches!(error.reason(), StopReason::MaxSteps(25)),
        "{error}"
    );
    assert_eq!(fake.call_count("m"), 25);
    assert_eq!(error.outcome().messages.len(), 1 + 2 * 25);
    check_transcript(&error.outcome().messages).unwrap();
}

/// A tool that records the maximum number of concurrent calls.
fn counted(name: &str, running: &Arc<AtomicUsize>, most: &Arc<AtomicUsize>) -> Function {
    let (running, most) = (Arc::clone(running), Arc::clone(most));
    let run = move |call: ToolCall, _: NoArguments| {
        let (running, most) = (Arc::clone(&running), Arc::clone(&most));
        async move {
            let now = running.fetch_add(1, Ordering::SeqCst) + 1;
            most.fetch_max(now, Ordering::SeqCst);
            // Later calls finish earlier.
            let number: u64 = call.id.parse().unwrap();
            sleep(Duration::from_millis(1_000 - number)).await;
            running.fetch_sub(1, Ordering::SeqCst);
            Ok::<_, String>(call.id)
        }
    };
    Function::with_call(name, "Waits.", run)
}

#[tokio::test(start_paused = true)]
async fn of_128_calls_at_most_eight_run_concurrently_and_results_keep_their_order() {
    let ids: Vec<String> = (0..128).map(|n| n.to_string()).collect();
    let many: Vec<(&str, &str, &str)> = ids.iter().map(|id| (id.as_str(), "wait", "")).collect();
    let fake = fake([calls(&many), Step::reply("done")]);
    let (running, most) = Default::default();
    let agent = on(&fake)
        .tool(counted("wait", &running, &most))
        .build()
        .unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(most.load(Ordering::SeqCst), 8);
    let answers: Vec<String> = outcome.messages[2]
        .tool_results()
        .map(|r| r.text())
        .collect();
    assert_eq!(answers, ids);
}

#[tokio::test(start_paused = true)]
async fn an_exclusive_tool_runs_alone_and_the_others_run_concurrently() {
    let fake = fake([
        calls(&[
            ("1", "wait", ""),
            ("2", "wait", ""),
            ("3", "solo", ""),
            ("4", "wait", ""),
            ("5", "wait", ""),
        ]),
        Step::reply("done"),
    ]);
    let (running, most, alone) = Default::default();
    let solo = counted("solo", &running, &alone).alone();
    let agent = on(&fake)
        .tool(counted("wait", &running, &most))
        .tool(solo)
        .build()
        .unwrap();
    let began = Instant::now();
    agent.run("go").await.unwrap();
    assert_eq!(alone.load(Ordering::SeqCst), 1);
    assert_eq!(most.load(Ordering::SeqCst), 2);
    assert_eq!(began.elapsed().as_millis(), 999 + 997 + 996);
}

/// Sets a flag when dropped.
struct DropFlag(Arc<AtomicBool>);

impl Drop for DropFlag {
    fn drop(&mut self) {
        self.0.store(true, Ordering::SeqCst);
    }
}

#[tokio::test(start_paused = true)]
async fn cancellation_drops_running_tools_and_stops_model_calls() {
    let fake = fake([calls(&[("1", "look", ""), ("2", "hang", "")])]);
    let dropped = Arc::new(AtomicBool::new(false));
    let flag = Arc::clone(&dropped);
    let hang = Function::new("hang", "Hangs.", move |_: NoArguments| {
        let guard = DropFlag(Arc::clone(&flag));
        async move {
            let _guard = guard;
            std::future::pending::<()>().await;
            Ok::<_, String>(())
        }
    });
    let agent = on(&fake).tool(echo("look")).tool(hang).build().unwrap();
    let token = CancellationToken::new();
    let cancel = token.clone();
    let run = agent.run("go").cancel(token);
    let began = Instant::now();
    let (ended, ()) = tokio::join!(run.into_future(), async {
        sleep(Duration::from_secs(1)).await;
        cancel.cancel();
    });
    let error = ended.unwrap_err();
    assert!(began.elapsed() <= Duration::from_millis(1_050));
    assert!(dropped.load(Ordering::SeqCst));
    assert_eq!(fake.call_count("m"), 1);
    assert!(matches!(error.reason(), StopReason::Cancelled));
    let results: Vec<(String, bool)> = error.outcome().messages[2]
        .tool_results()
        .map(|result| (result.text(), result.is_error))
        .collect();
    assert_eq!(
        results[0],
        ("look".into(), false),
        "completed results are kept"
    );
    assert!(results[1].0.starts_with("The run ended before"));
}

#[tokio::test]
async fn call_ids_stay_unique_after_a_failover() {
    let (first, second) = (Fake::new("one"), Fake::new("two"));
    let unhealthy = || Step::fail(Error::http(500, "unhealthy"));
    first.enqueue("m", [call("call_0", "look"), unhealthy(), unhealthy()]);
    second.enqueue(
        "m",
        [
            call("call_0", "look"),
            call("call_0", "look"),
            Step::reply("done"),
        ],
    );
    let registry = Registry::empty();
    registry.register(first);
    registry.register(second);
    let agent = Agent::builder(registry.model("one/m,two/m").unwrap())
        .tool(echo("look"))
        .build()
        .unwrap();
    let outcome = agent.run("go").await.unwrap();
    assert_eq!(outcome.steps[1].model, "two/m");
    check_transcript(&outcome.messages).unwrap();
}

#[tokio::test(start_paused = true)]
async fn one_deadline_covers_all_steps_and_tools() {
    let slow = Function::new("slow", "Waits.", |_: NoArguments| async {
        sleep(Duration::from_secs(4)).await;
        Ok::<_, String>("late")
    });
    let fake = fake([]);
    fake.otherwise(|_| call("", "slow").after(Duration::from_secs(3)));
    let limits = SharedLog::default();
    let agent = on(&fake).tool(slow).build().unwrap();
    let began = Instant::now();
    let run = agent.run("go").timeout(Duration::from_secs(20));
    let error = run.await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::Deadline), "{error}");
    assert_eq!(began.elapsed(), Duration::from_secs(20));
    for call in fake.calls() {
        limits.push(call.request.options().timeout.unwrap().as_secs());
    }
    assert_eq!(
        limits.all(),
        [20, 13, 6],
        "each request gets the remaining time"
    );
    check_transcript(&error.outcome().messages).unwrap();
}
