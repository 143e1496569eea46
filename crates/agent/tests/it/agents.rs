//! Agents: steps, observers, concurrent runs and shared skills.

use std::future::IntoFuture;

use majordomo::Registry;
use majordomo::agent::{Agent, Skill, SkillBuilder, StopReason, calc};
use majordomo::fake::Step;

use crate::support::{SharedLog, call, calls, echo, fake, on};

#[tokio::test]
async fn steps_are_numbered_from_zero_with_target_and_usage() {
    let fake = fake([call("a", "look"), Step::reply("done")]);
    let registry = Registry::empty();
    registry.register(fake);
    let agent = Agent::builder(registry.model("fp/m").unwrap());
    let agent = agent.tool(echo("look")).build().unwrap();
    let outcome = agent.run("go").await.unwrap();
    let steps: Vec<_> = outcome
        .steps
        .iter()
        .map(|step| (step.index, step.model.as_str(), step.usage.total()))
        .collect();
    assert_eq!(steps, [(0, "fp/m", 12), (1, "fp/m", 2)]);
    assert_eq!(outcome.steps[0].attempt_log.calls(), 1);
}

#[tokio::test]
async fn observers_of_agent_and_run_receive_the_same_events() {
    let fake = fake([call("a", "look"), Step::reply("done")]);
    let (agents, runs) = (SharedLog::default(), SharedLog::default());
    let (of_agent, of_run) = (agents.clone(), runs.clone());
    let agent = on(&fake)
        .tool(echo("look"))
        .observe(move |event| of_agent.push(format!("{event:?}")))
        .build()
        .unwrap();
    let run = agent.run("go");
    let run = run.observe(move |event| of_run.push(format!("{event:?}")));
    run.await.unwrap();
    assert_eq!(agents.all(), runs.all());
    assert_eq!(agents.all().len(), 6);
}

#[tokio::test]
async fn one_agent_serves_concurrent_runs() {
    let fake = fake([]);
    fake.otherwise(|call| match call.request.prompt().messages.len() {
        1 => self::call("a", "look"),
        _ => Step::reply(call.request.prompt().messages[0].text()),
    });
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let runs = ["one", "two", "three"].map(|input| {
        let agent = agent.clone();
        tokio::spawn(agent.run(input).into_future())
    });
    for (run, input) in runs.into_iter().zip(["one", "two", "three"]) {
        assert_eq!(run.await.unwrap().unwrap().output, input);
    }
}

#[tokio::test]
async fn loop_guards_are_off_by_default() {
    let fake = fake([]);
    fake.otherwise(|_| calls(&[("", "missing", "{}")]));
    let agent = on(&fake).tool(echo("look")).build().unwrap();
    let error = agent.run("go").await.unwrap_err();
    assert!(matches!(error.reason(), StopReason::MaxSteps(10)));
}

#[tokio::test]
async fn a_skill_is_shared_by_several_agents() {
    let sums = SkillBuilder::new("sums")
        .instructions("Count well.")
        .toolbox(calc().toolbox().unwrap());
    let sums = sums.build().unwrap();
    for system in ["Be brief.", "Be kind."] {
        let sum = calls(&[("a", "calculate", r#"{"expression": "6 * 7"}"#)]);
        let fake = fake([sum, Step::reply("done")]);
        let agent = on(&fake).system(system).skill(&sums).build().unwrap();
        let outcome = agent.run("go").await.unwrap();
        let result = outcome.messages[2].tool_results().next().unwrap().text();
        assert_eq!(result, "42");
        let system_text = fake.calls()[0].request.prompt().system_text();
        assert_eq!(system_text, format!("{system}\n\nCount well."));
    }
}
