//! A process may be killed at any point: the next one goes on from the file, and
//! no tool that reported a result runs twice.
//!
//! This program starts itself as the process that is killed. That one stops at
//! every point where something has just happened, says so, and waits for a word;
//! the parent lets it pass, or kills it there. Nothing depends on time.

#![allow(clippy::unwrap_used, reason = "a test that cannot go on fails")]

mod support;

use std::collections::{BTreeMap, BTreeSet};
use std::fs::{self, OpenOptions};
use std::io::{self, BufRead, BufReader, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};

use majordomo::ToolCall;
use majordomo::agent::{AgentEvent, Checkpoint, Function, NoArguments};
use support::{WORK, on, reported_in, scripted};

const CHILD: &str = "as-the-process-that-is-killed";
const ANSWER: &str = "answer: ";

fn main() {
    let mut arguments = std::env::args().skip(1);
    match (arguments.next().as_deref(), arguments.next()) {
        (Some(CHILD), Some(folder)) => run_here(Folder(folder.into())),
        _ => a_process_killed_at_any_point_is_followed_by_one_that_repeats_nothing_reported(),
    }
}

fn a_process_killed_at_any_point_is_followed_by_one_that_repeats_nothing_reported() {
    let (mut deaths, mut repeated) = (0, 0);
    loop {
        let folder = Folder::new(deaths);
        let End::Killed(point) = run(&folder, deaths) else {
            break;
        };
        let reported = folder.reported(&point);
        let before = folder.effects();

        // The next one dies soon, too; the third is let through.
        run(&folder, 5);
        let reported_twice = folder.reported(&point);
        let between = folder.effects();
        let End::Answered(answer) = run(&folder, usize::MAX) else {
            panic!("{point}: nobody killed the last one");
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
    println!("killed at {deaths} points; in {repeated} cases a tool died before it could report");
    assert!(deaths > 25, "only {deaths} points to die at");
    // The count itself works: a tool that acted and did not report runs again.
    assert!(repeated > 0);
}

/// What one process leaves for the next: its checkpoint, a line for each effect
/// of a tool, and a line for each result that somebody was told.
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

    /// Appends a line, as a tool does that has an effect outside the process.
    fn note(&self, file: &str, line: &str) {
        let path = self.0.join(file);
        let mut file = OpenOptions::new().create(true).append(true).open(path);
        writeln!(file.as_mut().unwrap(), "{line}").unwrap();
    }

    fn lines(&self, file: &str) -> Vec<String> {
        let text = fs::read_to_string(self.0.join(file)).unwrap_or_default();
        text.lines().map(str::to_owned).collect()
    }

    /// How often each call had its effect.
    fn effects(&self) -> BTreeMap<String, usize> {
        let mut counts = BTreeMap::new();
        for id in self.lines("effects") {
            *counts.entry(id).or_default() += 1;
        }
        counts
    }

    /// The calls whose results are saved; nobody may have heard of another.
    fn reported(&self, point: &str) -> BTreeSet<String> {
        let saved = fs::read_to_string(self.checkpoint()).ok();
        let saved = saved.map(|text| reported_in(&text)).unwrap_or_default();
        for told in self.lines("told") {
            assert!(saved.contains(&told), "{told} was told too early: {point}");
        }
        saved
    }

    fn remove(self) {
        fs::remove_dir_all(self.0).unwrap();
    }
}

/// How a process ended.
enum End {
    /// At this point.
    Killed(String),
    Answered(String),
}

/// Runs the agent in a process of its own, and kills that after it has passed so
/// many points.
fn run(folder: &Folder, points: usize) -> End {
    let mut child = start(&folder.0);
    let mut words = child.stdin.take().unwrap();
    let lines = BufReader::new(child.stdout.take().unwrap()).lines();
    for (passed, line) in lines.map_while(Result::ok).enumerate() {
        if let Some(answer) = line.strip_prefix(ANSWER) {
            assert!(child.wait().unwrap().success());
            return End::Answered(answer.to_owned());
        }
        if passed == points {
            child.kill().unwrap();
            assert!(!child.wait().unwrap().success());
            return End::Killed(format!("{passed}, {line}"));
        }
        words.write_all(b"\n").unwrap();
    }
    panic!("the process ended by itself: {:?}", child.wait());
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

/// In the child: says where it is, and waits to be let through or killed.
fn point(name: &str) {
    println!("{name}");
    io::stdin().lock().read_line(&mut String::new()).unwrap();
}

/// In the child: runs the agent, from the checkpoint if there is one.
#[tokio::main(flavor = "current_thread")]
async fn run_here(folder: Folder) {
    let folder: &'static Folder = Box::leak(Box::new(folder));
    let work = Function::with_call("work", "Works.", move |call: ToolCall, _: NoArguments| {
        work(folder, call.id)
    });
    let fake = scripted();
    let agent = on(&fake)
        .tool(work)
        .observe(move |event| listen(folder, event));
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
    folder.note("effects", &id);
    point(&format!("{id} has acted"));
    // Its sibling gets its turn.
    tokio::task::yield_now().await;
    point(&format!("{id} is about to report"));
    Ok(format!("did {id}"))
}

/// Replaces the file in one step, so that a reader finds the old or the new one.
fn save(
    folder: &Folder,
    checkpoint: &Checkpoint,
) -> Result<(), Box<dyn std::error::Error + Send + Sync>> {
    point("about to save");
    let aside = folder.0.join("checkpoint.part");
    fs::write(&aside, serde_json::to_vec(checkpoint)?)?;
    point("written aside");
    fs::rename(aside, folder.checkpoint())?;
    point("saved");
    Ok(())
}

fn listen(folder: &Folder, event: &AgentEvent) {
    match event {
        AgentEvent::ModelStarted { .. } => point("asking the model"),
        AgentEvent::ModelFinished { .. } => point("the model has answered"),
        AgentEvent::ToolFinished { result, .. } => {
            folder.note("told", &result.call_id);
            point(&format!("{} is told", result.call_id));
        }
        _ => {}
    }
}
