//! `majordomo team`: creates, lists and changes teams of keys.

use majordomo_gateway::AccessRequest;
use serde_json::Value;

use crate::access_output::{failed, limit_settings, print_json, tools};
use crate::error::CliError;
use crate::key_args::{TeamArgs, TeamCommand};
use crate::output;

pub(crate) fn run(args: &TeamArgs) -> Result<(), CliError> {
    let request = match &args.command {
        TeamCommand::Set { name, limits } => AccessRequest::PutTeam {
            name: name.clone(),
            settings: limit_settings(limits)?,
        },
        TeamCommand::List => AccessRequest::ListTeams,
        TeamCommand::Delete { name } => AccessRequest::DeleteTeam { name: name.clone() },
    };
    let reply = tools(&args.common)?.run(&request).map_err(failed)?;
    if let Some(deleted) = reply["deleted"].as_str().filter(|_| !args.common.json) {
        output::note(&format!("deleted the team {deleted}"));
        return Ok(());
    }
    let teams = match (&reply["teams"], &reply["team"]) {
        (Value::Array(teams), _) => teams.clone(),
        (_, Value::Null) => Vec::new(),
        (_, team) => vec![team.clone()],
    };
    match &args.command {
        _ if !args.common.json => table(&teams),
        TeamCommand::Set { .. } => print_json(&reply["team"]),
        TeamCommand::List => print_json(&reply["teams"]),
        TeamCommand::Delete { .. } => print_json(&reply),
    }
}

fn table(teams: &[Value]) -> Result<(), CliError> {
    if teams.is_empty() {
        output::note("no teams; `majordomo team set NAME` creates one");
        return Ok(());
    }
    let listed = |value: &Value| {
        let Some(fields) = value.as_object().filter(|fields| !fields.is_empty()) else {
            return "-".to_owned();
        };
        let fields = fields.iter().map(|(name, value)| match value {
            Value::String(text) => format!("{name} {text}"),
            value => format!("{name} {value}"),
        });
        fields.collect::<Vec<_>>().join(", ")
    };
    let rows: Vec<[String; 4]> = teams
        .iter()
        .map(|team| {
            let text = |name: &str| team[name].as_str().unwrap_or("-").to_owned();
            [
                text("name"),
                listed(&team["budget"]),
                listed(&team["limits"]),
                text("origin"),
            ]
        })
        .collect();
    output::table(["team", "budget", "limits", "from"], &rows)
}
