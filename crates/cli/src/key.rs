//! `majordomo key`: creates, lists and changes keys for clients of the gateway.

use std::io::Write;

use majordomo::dsn::ExposeSecret;
use majordomo_gateway::{AccessRequest, AccessTools, parse_overlap};
use serde_json::{Map, Value, json};

use crate::access_output::{failed, limit_settings, print_json, tools};
use crate::error::CliError;
use crate::key_args::{AccessArgs, KeyArgs, KeyCommand, KeySettings};
use crate::output;

pub(crate) fn run(args: &KeyArgs) -> Result<(), CliError> {
    let common = &args.common;
    let name = |name: &String| name.clone();
    let request = match &args.command {
        KeyCommand::New {
            name,
            entry,
            settings,
        } => return new(common, name, *entry, settings_of(settings)?),
        KeyCommand::Set { name, settings } => AccessRequest::UpdateKey {
            name: name.clone(),
            settings: settings_of(settings)?,
        },
        KeyCommand::List => return list(common),
        KeyCommand::Freeze { name: key } => AccessRequest::FreezeKey {
            name: name(key),
            frozen: true,
        },
        KeyCommand::Unfreeze { name: key } => AccessRequest::FreezeKey {
            name: name(key),
            frozen: false,
        },
        KeyCommand::Rotate { name, overlap } => AccessRequest::RotateKey {
            name: name.clone(),
            overlap: parse_overlap(overlap).ok_or_else(|| {
                CliError::new(format!(
                    "`{overlap}` is not a duration such as 24h, of at most 90 days"
                ))
            })?,
        },
        KeyCommand::Delete { name } => AccessRequest::DeleteKey { name: name.clone() },
    };
    let reply = tools(common)?.run(&request).map_err(failed)?;
    show(common, &reply)
}

fn new(
    common: &AccessArgs,
    name: &str,
    entry: bool,
    settings: Map<String, Value>,
) -> Result<(), CliError> {
    if name.trim().is_empty() {
        return Err(CliError::new(
            "the name of the key is empty; use one that identifies the client",
        ));
    }
    // A file that lacks its first key is invalid, and this command is the hint for it.
    let tools = if entry { None } else { tools(common).ok() };
    let Some(tools) = tools.filter(AccessTools::stores_keys) else {
        return print_entry(name, &settings);
    };
    let request = AccessRequest::CreateKey {
        name: name.to_owned(),
        settings: settings.clone(),
    };
    let reply = tools.run(&request).map_err(failed)?;
    let secret = reply["secret"].as_str().unwrap_or_default();
    show_secret(secret)?;
    if common.json {
        return print_json(&reply["key"]);
    }
    // As in the configuration file, which may have it as well: it then counts there.
    let entry = AccessTools::entry_of(name, secret, &settings).map_err(failed)?;
    writeln!(anstream::stdout(), "{}", entry.trim_end())?;
    Ok(())
}

/// Shows a stored secret, once.
fn show_secret(secret: &str) -> Result<(), CliError> {
    writeln!(anstream::stderr(), "{secret}")?;
    output::note("this key is stored and works within a second; it is not shown again");
    Ok(())
}

/// Prints a key that is not stored, and the entry for the configuration file.
fn print_entry(name: &str, settings: &Map<String, Value>) -> Result<(), CliError> {
    let key = AccessTools::new_entry(name, settings).map_err(failed)?;
    // On stderr, so that the entry can be redirected into the file and the key is still seen.
    // Without stderr, the key cannot be shown.
    let mut stderr = anstream::stderr();
    writeln!(stderr, "{}", key.secret.expose_secret())?;
    output::note("this key is not shown again; its entry belongs in majordomo.toml:");
    // A file to append to may lack its last newline.
    writeln!(anstream::stdout(), "\n{}", key.entry.trim_end())?;
    Ok(())
}

/// Prints the reply of the gateway or the store: a new secret to stderr, everything else to
/// stdout.
fn show(common: &AccessArgs, reply: &Value) -> Result<(), CliError> {
    if let Some(secret) = reply["secret"].as_str() {
        show_secret(secret)?;
    }
    if let Some(deleted) = reply["deleted"].as_str() {
        return match common.json {
            true => print_json(reply),
            false => {
                output::note(&format!("deleted the key {deleted}"));
                Ok(())
            }
        };
    }
    match common.json {
        true => print_json(&reply["key"]),
        false => table(std::slice::from_ref(&reply["key"])),
    }
}

fn list(common: &AccessArgs) -> Result<(), CliError> {
    let reply = tools(common)?
        .run(&AccessRequest::ListKeys)
        .map_err(failed)?;
    let keys = reply["keys"].as_array().map_or(&[][..], Vec::as_slice);
    match common.json {
        true => print_json(&reply["keys"]),
        false if keys.is_empty() => {
            output::note("no keys; `majordomo key new NAME` creates one");
            Ok(())
        }
        false => table(keys),
    }
}

fn table(keys: &[Value]) -> Result<(), CliError> {
    let text = |value: &Value| value.as_str().unwrap_or("-").to_owned();
    let rows: Vec<[String; 7]> = keys
        .iter()
        .map(|key| {
            let models = key["models"].as_array().map(|models| {
                let names: Vec<&str> = models.iter().filter_map(Value::as_str).collect();
                names.join(",")
            });
            [
                text(&key["name"]),
                text(&key["team"]),
                text(&key["role"]),
                text(&key["state"]),
                text(&key["expires"]),
                models.unwrap_or_else(|| "all".to_owned()),
                text(&key["origin"]),
            ]
        })
        .collect();
    let heading = ["key", "team", "role", "state", "expires", "models", "from"];
    output::table(heading, &rows)
}

fn settings_of(args: &KeySettings) -> Result<Map<String, Value>, CliError> {
    let mut settings = limit_settings(&args.limits)?;
    for (name, value) in [
        ("team", &args.team),
        ("role", &args.role),
        ("scope", &args.scope),
        ("expires", &args.expires),
    ] {
        if let Some(value) = value {
            settings.insert(name.to_owned(), json!(value));
        }
    }
    if !args.models.is_empty() {
        settings.insert("models".to_owned(), json!(args.models));
    }
    if args.asserts_users {
        settings.insert("asserts_users".to_owned(), json!(true));
    }
    Ok(settings)
}
