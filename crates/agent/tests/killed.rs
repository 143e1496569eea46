//! After a kill at any point, the next process resumes from the checkpoint without
//! repeating tools that have returned a result.
//!
//! The program spawns itself as the child to kill, so it has its own `main`. The child
//! stops at every interesting point, prints its name and waits for a line on standard
//! input; the parent sends one, or kills the child. Nothing depends on timing.

#![allow(clippy::unwrap_used, reason = "a failed unwrap fails the test")]

#[path = "it/support/mod.rs"]
mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use majordomo::ToolCall;
use majordomo::agent::{AgentEvent, Checkpoint, Function, NoArguments};
use support::{WORK, on, reported_in, scripted};

const CHILD: &str = "as-child";
const ANSWER: &str = "answer: ";

fn main() {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some(CHILD), Some(folder)) => run_here(Folder(folder.into())),
        _ => a_process_killed_at_any_point_resumes_without_repeating_finished_tools(),
    }
}

fn a_process_killed_at_any_point_resumes_without_repeating_finished_tools() {
    let (mut deaths, mut repeated) = (0, 0);
    loop {
        let folder = Folder::new(deaths);
        let ChildExit::Killed(point) = run(&folder, deaths) else {
            break;
        };
        let reported = folder.reported(&point);
        let before = folder.effects();

        // The second process is killed as well; the third completes.
        run(&folder, 5);
        let reported_twice = folder.reported(&point);
        let between = folder.effects();
        let ChildExit::Answered(answer) = run(&folder, usize::MAX) else {
            panic!("{point}: the last process did not complete");
        };

        assert_eq!(answer, "done", "{point}");
        let after = folder.effects();
        let ran: BTreeSet<&str> = after.keys().map(String::as_str).collect();
        assert_eq!(ran, BTreeSet::from(WORK), "{point}");
        for (ids, then) in [(reported, &before), (reported_twice, &between)] {
            for id in ids {
                assert_eq!(then.get(&id), after.get(&id), "{id} ran again: {point}");
            }
        }
        repeated += usize::from(after.values().any(|times| *times > 1));
        deaths += 1;
        folder.remove();
    }
    println!("killed at {deaths} points; in {repeated} cases before a tool returned its result");
    assert!(deaths > 25, "only {deaths} points to die at");
    // Sanity check: a tool killed before it returned runs again.
    assert!(repeated > 0);
}

/// The files of a run: its checkpoint, a line for each effect of a tool, and a line for
/// each result announced to observers.
struct Folder(PathBuf);

impl Folder {
    fn new(number: usize) -> Self {
        let name = format!("majordomo-killed-{}-{number}", std::process::id());
        let path = std::env::temp_dir().join(name);
        fs::create_dir_all(&path).unwrap();
        Self(path)
    }

    fn checkpoint(&self) -> PathBuf {
        self.0.join("checkpoint.json")
    }

    /// Appends a line, as the external effect of a tool.
    fn append(&self, file: &str, line: &str) {
        let path = self.0.join(file);
        let mut file = OpenOptions::new().create(true).append(true).open(path);
        writeln!(file.as_mut().unwrap(), "{line}").unwrap();
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// Counts the effects of each call.
    fn effects(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for id in self.lines("effects") {
            *counts.entry(id).or_default() += 1;
        }
        counts
    }

    /// Returns the calls whose results are saved, and checks that no other was announced.
    fn reported(&self, point: &str) -> BTreeSet<String> {
        let saved = fs::read_to_string(self.checkpoint()).ok();
        let saved = saved.map(|text| reported_in(&text)).unwrap_or_default();
        for announced in self.lines("announced") {
            assert!(
                saved.contains(&announced),
                "{announced} was announced too early: {point}"
            );
        }
        saved
    }

    fn remove(self) {
        fs::remove_dir_all(self.0).unwrap();
    }
}

/// How a child process ended.
enum ChildExit {
    /// At this point.
    Killed(String),
    Answered(String),
}

/// Runs the agent in a child process and kills it after `points` points.
fn run(folder: &Folder, points: usize) -> ChildExit {
    let mut child = start(&folder.0);
    let mut words = child.stdin.take().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (passed, line) in lines.map_while(Result::ok).enumerate() {
        if let Some(answer) = line.strip_prefix(ANSWER) {
            assert!(child.wait().unwrap().success());
            return ChildExit::Answered(answer.to_owned());
        }
        if passed == points {
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success());
            return ChildExit::Killed(format!("{passed}, {line}"));
        }
        words.write_all(b"\n").unwrap();
    }
    panic!("the process exited unexpectedly: {:?}", child.wait());
}

fn start(folder: &Path) -> Child {
    Command::new(std::env::current_exe().unwrap())
        .arg(CHILD)
        .arg(folder)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .unwrap()
}

/// In the child: prints a point and waits to continue or be killed.
fn point(name: &str) {
    println!("{name}");
    io::stdin().lock().read_line(&mut String::new()).unwrap();
}

/// In the child: runs the agent, resuming from the checkpoint if it exists.
#[tokio::main(flavor = "current_thread")]
async fn run_here(folder: Folder) {
    let folder: &'static Folder = Box::leak(Box::new(folder));
    let work = Function::with_call("work", "Works.", move |call: ToolCall, _: NoArguments| {
        work(folder, call.id)
    });
    let fake = scripted();
    let agent = on(&fake)
        .tool(work)
        .observe(move |event| observe(folder, event));
    let agent = agent.build().unwrap();
    let run = match fs::read_to_string(folder.checkpoint()) {
        Ok(text) => agent.resume(serde_json::from_str(&text).unwrap()),
        Err(_) => agent.run("go"),
    };
    let outcome = run
        .checkpoints(move |at: &Checkpoint| save(folder, at))
        .await;
    println!("{ANSWER}{}", outcome.unwrap().output);
}

async fn work(folder: &Folder, id: String) -> Result<String, String> {
    point(&format!("{id} is about to act"));
    folder.append("effects", &id);
    point(&format!("{id} has acted"));
    // Let the concurrent call run.
    tokio::task::yield_now().await;
    point(&format!("{id} is about to report"));
    Ok(format!("did {id}"))
}

/// Replaces the file atomically.
fn save(
    folder: &Folder,
    checkpoint: &Checkpoint,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    point("about to save");
    let aside = folder.0.join("checkpoint.part");
    fs::write(&aside, serde_json::to_vec(checkpoint)?)?;
    point("written to a temporary file");
    fs::rename(aside, folder.checkpoint())?;
    point("saved");
    Ok(())
}

fn observe(folder: &Folder, event: &AgentEvent) {
    match event {
        AgentEvent::ModelStarted { .. } => point("calling the model"),
        AgentEvent::ModelFinished { .. } => point("the model has responded"),
        AgentEvent::ToolFinished { result, .. } => {
            folder.append("announced", &result.call_id);
            point(&format!("{} is announced", result.call_id));
        }
        _ => {}
    }
}
