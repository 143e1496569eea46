//! `majordomo doctor`: diagnoses problems and suggests remedies.
//!
//! One file per subject. Each problem comes with a remedy; no finding shows a key. Nothing is
//! changed: a folder is tested with a file that is removed again.

mod finding;
mod ports;
mod providers;
mod storage;

use std::collections::BTreeMap;
use std::io::Write;

use majordomo::transport::{Transport, TransportConfig as Client};
use majordomo_gateway::config::Variables;
use majordomo_gateway::{Config, GatewayState, check_tls, environment, find_config};
use serde_json::json;

use crate::error::CliError;
use crate::tool_args::DoctorArgs;
use finding::{Finding, Findings};

pub(crate) async fn run(args: &DoctorArgs) -> Result<(), CliError> {
    let environment = environment();
    let mut findings = Findings::default();
    findings.ok("version", version());
    let config = configuration(args, &environment, &mut findings);
    let transport = Transport::new(Client::default());
    ports::check(&config, &transport, &mut findings).await;
    storage::permissions(args, &config, &environment, &mut findings);
    match GatewayState::new(&config, &environment, &transport, None) {
        Ok(state) => {
            providers::keys(&state, &environment, &mut findings);
            match args.offline {
                true => findings.skip("providers", "not called, because of --offline"),
                false => providers::call(&state, &transport, &mut findings).await,
            }
        }
        Err(problems) => findings.broken(
            "providers",
            problems.to_string(),
            "correct the configuration; `majordomo check` says where",
        ),
    }
    let place = config.ledger.place(&environment);
    let ledger = tokio::task::spawn_blocking(move || storage::ledger(place)).await;
    findings.extend(ledger.unwrap_or_default());
    print(args, &findings)
}

fn version() -> String {
    let (os, arch) = (std::env::consts::OS, std::env::consts::ARCH);
    format!("majordomo {} on {os} {arch}", env!("CARGO_PKG_VERSION"))
}

/// The configuration, or the defaults if it is invalid.
fn configuration(
    args: &DoctorArgs,
    environment: &BTreeMap<String, String>,
    findings: &mut Findings,
) -> Config {
    const SUBJECT: &str = "configuration";
    let Some(path) = find_config(args.config.config.as_deref(), environment) else {
        findings.ok(
            SUBJECT,
            "no file: the environment is used; `majordomo init` writes one",
        );
        return Config::empty();
    };
    let shown = path.display();
    let config = match Config::load_with(&path, environment, Variables::Optional) {
        Ok(config) => config,
        Err(problems) => {
            let remedy = format!("correct it, and see `majordomo check --config {shown}`");
            findings.broken(SUBJECT, problems.to_string(), remedy);
            return Config::empty();
        }
    };
    match Config::load(&path, environment) {
        Ok(_) => findings.ok(SUBJECT, format!("{shown} is valid")),
        Err(problems) => findings.broken(
            SUBJECT,
            problems.to_string(),
            "set the variable where majordomo is started, or write `${NAME:-default}`",
        ),
    }
    if let Err(problems) = check_tls(&config) {
        let remedy = "give `tls` a certificate and its private key, as PEM files";
        findings.broken("certificate", problems.to_string(), remedy);
    }
    config
}

fn print(args: &DoctorArgs, findings: &Findings) -> Result<(), CliError> {
    let broken = findings.broken_count();
    let mut stdout = anstream::stdout().lock();
    if args.json {
        let list: Vec<_> = findings.list().iter().map(Finding::json).collect();
        writeln!(
            stdout,
            "{:#}",
            json!({ "findings": list, "broken": broken })
        )?;
    } else {
        write!(stdout, "{findings}")?;
    }
    match broken {
        0 => Ok(()),
        _ => Err(CliError::Reported),
    }
}
