//! The command `majordomo`: arguments in, texts out. What it does is the
//! library's; what is here is how it is asked for and how it is told.
//!
//! Answers go to stdout and everything about them to stderr, so that output can
//! be piped. The exit code is 0 for an answer, 1 for a failure, 2 for a command
//! line that cannot be understood.

mod args;
mod chat;
mod check;
mod dry_run;
mod explain;
mod failure;
mod fit;
mod input;
mod key;
mod log;
mod memory;
mod models;
mod paint;
mod serve;
mod takes;
mod turn;

use std::num::NonZero;
use std::process::ExitCode;

use args::Command;
use failure::Failure;

/// Large bodies come and go with every request. The system's allocator gives their
/// pages back each time and faults them in again; this one keeps them for a moment.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = match args::read() {
        Ok(command) => command,
        Err(code) => return code,
    };
    // One question needs one thread; a gateway uses all there are. Where there is
    // only one, nothing has to be handed from thread to thread.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut runtime = match &command {
        Command::Serve(_) if cores > 1 => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    match runtime.enable_all().build() {
        Ok(runtime) => runtime.block_on(run(command)),
        Err(error) => {
            paint::error(&format!("the system gives no threads or timers: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Serve(args) => serve::run(args).await,
        Command::Chat(args) => chat::run(args).await,
        Command::Explain(args) => match &args.request {
            Some(request) => dry_run::run(&args, request).await,
            None => explain::run(&args),
        },
        Command::Models => models::run().await,
        Command::Fit(args) => fit::run(&args),
        Command::Check(args) => check::run(&args),
        Command::Key(args) => key::run(&args),
    };
    match done {
        // Whoever read the output has seen enough.
        Ok(()) | Err(Failure::Closed) => ExitCode::SUCCESS,
        Err(Failure::Told(text)) => {
            paint::error(&text);
            ExitCode::FAILURE
        }
        Err(Failure::Listed(problems)) => {
            paint::errors(&problems);
            ExitCode::FAILURE
        }
    }
}
