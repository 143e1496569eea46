//! The `majordomo` command: a thin front end to the library and the gateway.
//!
//! Responses go to stdout and everything about them to stderr, so that output can be piped.
//! The exit code is 0 for success, 1 for a failure, 2 for a usage error.

mod access_output;
mod args;
mod browser;
mod capabilities;
mod chat;
mod chat_turn;
mod check;
mod completions;
mod doctor;
mod dry_run;
mod error;
mod explain;
mod fit;
mod health;
mod image;
mod image_args;
mod import;
mod init;
mod input;
mod key;
mod key_args;
mod ledger;
mod ledger_args;
mod log;
mod log_fields;
mod log_filter;
mod log_json;
#[cfg(test)]
mod man;
mod memory;
mod models;
mod new_file;
mod output;
mod prices;
mod serve;
mod setup;
mod team;
mod tool_args;
mod usage;

use std::num::NonZero;
use std::process::ExitCode;

use args::Command;
use error::CliError;

/// Large bodies come and go with every request. The system allocator returns their pages
/// each time and faults them in again; mimalloc keeps them for a moment.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> ExitCode {
    let command = match args::parse() {
        Ok(command) => command,
        Err(code) => return code,
    };
    // A prompt needs one thread; a gateway uses all cores. With a single core, the
    // current-thread runtime avoids handing tasks between threads.
    let cores = std::thread::available_parallelism().map_or(1, NonZero::get);
    let mut runtime = match &command {
        Command::Serve(_) if cores > 1 => tokio::runtime::Builder::new_multi_thread(),
        _ => tokio::runtime::Builder::new_current_thread(),
    };
    match runtime.enable_all().build() {
        Ok(runtime) => runtime.block_on(run(command)),
        Err(error) => {
            output::error(&format!("failed to start the async runtime: {error}"));
            ExitCode::FAILURE
        }
    }
}

async fn run(command: Command) -> ExitCode {
    let done = match command {
        Command::Serve(args) => serve::run(args).await,
        Command::Chat(args) => chat::run(args).await,
        Command::Image(args) => image::run(args).await,
        Command::Explain(args) => match &args.request {
            Some(request) => dry_run::run(&args, request).await,
            None => explain::run(&args).await,
        },
        Command::Models(args) => models::run(&args).await,
        Command::Fit(args) => fit::run(&args).await,
        Command::Check(args) => check::run(&args),
        Command::Health(args) => health::run(&args).await,
        Command::Key(args) => blocking(move || key::run(&args)).await,
        Command::Team(args) => blocking(move || team::run(&args)).await,
        Command::Usage(args) => blocking(move || usage::run(&args)).await,
        Command::Prices(args) => prices::run(&args),
        Command::Ledger(args) => blocking(move || ledger::run(&args)).await,
        Command::Init(args) => init::run(&args).await,
        Command::Doctor(args) => doctor::run(&args).await,
        Command::Import(args) => import::run(&args),
        Command::Schema => completions::schema(),
        Command::Completions(args) => completions::run(&args),
    };
    match done {
        // The reader of the output has seen enough.
        Ok(()) | Err(CliError::BrokenPipe) => ExitCode::SUCCESS,
        Err(CliError::Message(text)) => {
            output::error(&text);
            ExitCode::FAILURE
        }
        Err(CliError::Reported) => ExitCode::FAILURE,
        Err(CliError::Problems(problems)) => {
            output::diagnostics(&problems);
            ExitCode::FAILURE
        }
    }
}

/// Runs a command that blocks on its store, which a thread of the runtime must not do.
async fn blocking<F>(command: F) -> Result<(), error::CliError>
where
    F: FnOnce() -> Result<(), error::CliError> + Send + 'static,
{
    match tokio::task::spawn_blocking(command).await {
        Ok(done) => done,
        Err(error) => Err(error::CliError::new(error.to_string())),
    }
}
