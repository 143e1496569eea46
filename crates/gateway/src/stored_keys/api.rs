//! Executes requests for keys, teams and the audit log on a store.
//!
//! Called by the gateway's worker, and by commands when no gateway is running.

use majordomo_ledger::{
    AccessChange, AccessStore, AuditStamp, StoreError, StoredAccess, StoredKey, StoredSecret,
    StoredTeam,
};
use majordomo_limits::LimitPolicy;
use secrecy::ExposeSecret;
use serde_json::{Map, Value, json};

use super::request::AccessRequest;
use super::settings::{check_name, parse_settings, read_key, read_team};
use super::view::{file_key, file_team, stored_key, stored_team};
use crate::config::{Config, KeyEntry, TeamEntry};
use crate::keys::generate_secret;

/// Keys and teams of the configuration file, which cannot be changed here.
#[derive(Clone, Debug, Default)]
pub(crate) struct FileEntries {
    pub(crate) keys: Vec<KeyEntry>,
    pub(crate) teams: Vec<TeamEntry>,
    /// Each node of the cluster would have its own budgets.
    budgets_are_apart: bool,
}

impl FileEntries {
    pub(crate) fn of(config: &Config) -> Self {
        Self {
            keys: config.keys.clone(),
            teams: config.teams.clone(),
            budgets_are_apart: !config.shares_budgets(),
        }
    }

    /// The keys and the teams as `/api/keys` and `/api/teams` list them.
    pub(crate) fn views(&self, now_millis: i64) -> (Vec<Value>, Vec<Value>) {
        let keys = self.keys.iter().map(|key| file_key(key, now_millis));
        (keys.collect(), self.teams.iter().map(file_team).collect())
    }

    fn has_key(&self, name: &str) -> bool {
        self.keys.iter().any(|key| key.name == name)
    }

    fn has_team(&self, name: &str) -> bool {
        self.teams.iter().any(|team| team.name == name)
    }
}

/// The reply to a request. It may contain a new secret, so it is never logged.
#[derive(Clone, PartialEq)]
pub(crate) struct AccessReply {
    pub(crate) status: u16,
    pub(crate) body: Value,
}

impl AccessReply {
    pub(crate) fn error(status: u16, text: impl Into<String>) -> Self {
        Self {
            status,
            body: json!({ "error": text.into() }),
        }
    }

    pub(crate) fn unavailable(error: &StoreError) -> Self {
        match error {
            StoreError::Refused(text) => Self::error(409, text),
            error => Self::error(503, error.to_string()),
        }
    }

    fn ok(body: Value) -> Self {
        Self { status: 200, body }
    }
}

/// Runs a request. `who` is written to the audit log.
pub(crate) fn respond(
    store: &mut dyn AccessStore,
    file: &FileEntries,
    request: AccessRequest,
    who: &str,
    now_millis: i64,
) -> AccessReply {
    let stamp = AuditStamp {
        who: who.to_owned(),
        at_millis: now_millis,
    };
    let replied = AccessApi { store, file, stamp }.run(request);
    replied.unwrap_or_else(|refusal| refusal)
}

struct AccessApi<'a> {
    store: &'a mut dyn AccessStore,
    file: &'a FileEntries,
    stamp: AuditStamp,
}

type Replied = Result<AccessReply, AccessReply>;

impl AccessApi<'_> {
    fn run(&mut self, request: AccessRequest) -> Replied {
        match request {
            AccessRequest::ListKeys => self.list_keys(),
            AccessRequest::CreateKey { name, settings } => self.create_key(name, settings),
            AccessRequest::UpdateKey { name, settings } => self.update_key(name, settings),
            AccessRequest::RotateKey { name, overlap } => {
                let overlap = i64::try_from(overlap.as_millis()).unwrap_or(i64::MAX);
                let end = self.stamp.at_millis.saturating_add(overlap);
                self.rotate_key(name, end)
            }
            AccessRequest::FreezeKey { name, frozen } => {
                self.not_in_file(&name)?;
                let change = AccessChange::FreezeKey {
                    name: name.clone(),
                    frozen,
                };
                self.apply(&change)?;
                self.show_key(&name, None)
            }
            AccessRequest::DeleteKey { name } => {
                self.not_in_file(&name)?;
                self.apply(&AccessChange::DeleteKey { name: name.clone() })?;
                Ok(AccessReply::ok(json!({ "deleted": name })))
            }
            AccessRequest::ListTeams => self.list_teams(),
            AccessRequest::PutTeam { name, settings } => self.put_team(name, settings),
            AccessRequest::DeleteTeam { name } => self.delete_team(name),
            AccessRequest::Audit(query) => {
                let rows = self.store.audit(&query).map_err(unavailable)?;
                Ok(AccessReply::ok(json!({ "audit": rows })))
            }
        }
    }

    fn load(&mut self) -> Result<StoredAccess, AccessReply> {
        self.store.load().map_err(unavailable)
    }

    fn apply(&mut self, change: &AccessChange) -> Result<(), AccessReply> {
        self.store.apply(change, &self.stamp).map_err(unavailable)
    }

    fn not_in_file(&self, name: &str) -> Result<(), AccessReply> {
        match self.file.has_key(name) {
            true => Err(AccessReply::error(
                409,
                format!("the key `{name}` is in the configuration file: change it there"),
            )),
            false => Ok(()),
        }
    }

    fn list_keys(&mut self) -> Replied {
        let stored = self.load()?;
        let now = self.stamp.at_millis;
        let of_file = self.file.keys.iter().map(|key| file_key(key, now));
        let of_store = stored.keys.iter().map(|key| stored_key(key, now));
        let keys: Vec<Value> = of_file.chain(of_store).collect();
        Ok(AccessReply::ok(json!({ "keys": keys })))
    }

    /// The entry of a key, and its secret if it is new.
    fn show_key(&mut self, name: &str, secret: Option<&str>) -> Replied {
        let stored = self.load()?;
        let Some(key) = stored.keys.iter().find(|key| key.name == name) else {
            return Err(AccessReply::error(404, format!("there is no key `{name}`")));
        };
        let mut body = json!({ "key": stored_key(key, self.stamp.at_millis) });
        if let Some(secret) = secret {
            body["secret"] = json!(secret);
        }
        Ok(AccessReply::ok(body))
    }

    fn create_key(&mut self, name: String, mut settings: Map<String, Value>) -> Replied {
        check_name("key", &name).map_err(invalid)?;
        if self.file.has_key(&name) {
            let text = format!("there is already a key named `{name}`, in the configuration file");
            return Err(AccessReply::error(409, text));
        }
        settings.retain(|_, value| !value.is_null());
        self.check_key(&name, &settings)?;
        let (secret, sha256) = new_secret()?;
        let key = StoredKey {
            name: name.clone(),
            settings: Value::from(settings).to_string(),
            secrets: vec![StoredSecret {
                sha256,
                until_millis: None,
            }],
            frozen: false,
            created_millis: self.stamp.at_millis,
        };
        self.apply(&AccessChange::CreateKey(key))?;
        let mut reply = self.show_key(&name, Some(secret.expose_secret()))?;
        reply.status = 201;
        Ok(reply)
    }

    fn update_key(&mut self, name: String, changed: Map<String, Value>) -> Replied {
        self.not_in_file(&name)?;
        let stored = self.load()?;
        let key = stored.keys.iter().find(|key| key.name == name);
        let settings = key.map_or("{}", |key| &key.settings);
        let mut settings = parse_settings(settings).map_err(invalid)?;
        settings.extend(changed);
        settings.retain(|_, value| !value.is_null());
        self.check_key(&name, &settings)?;
        let change = AccessChange::UpdateKey {
            name: name.clone(),
            settings: Value::from(settings).to_string(),
        };
        self.apply(&change)?;
        self.show_key(&name, None)
    }

    fn check_key(&mut self, name: &str, settings: &Map<String, Value>) -> Result<(), AccessReply> {
        let entry = read_key(name, settings).map_err(invalid)?;
        self.check_budget(&entry.limits)?;
        let Some(team) = entry.team else {
            return Ok(());
        };
        let stored = self.load()?;
        let known = stored.teams.iter().any(|known| known.name == team);
        match known || self.file.has_team(&team) {
            true => Ok(()),
            false => Err(invalid(format!(
                "there is no team `{team}`: create it first"
            ))),
        }
    }

    fn check_budget(&self, limits: &LimitPolicy) -> Result<(), AccessReply> {
        match self.file.budgets_are_apart && !limits.budget.is_empty() {
            true => Err(invalid(
                "each node of this cluster would have its own budget: set `store = \
                 \"postgres://…\"` in [ledger]"
                    .to_owned(),
            )),
            false => Ok(()),
        }
    }

    fn rotate_key(&mut self, name: String, overlap_until_millis: i64) -> Replied {
        self.not_in_file(&name)?;
        let (secret, sha256) = new_secret()?;
        let change = AccessChange::RotateKey {
            name: name.clone(),
            sha256,
            overlap_until_millis,
        };
        self.apply(&change)?;
        self.show_key(&name, Some(secret.expose_secret()))
    }

    fn list_teams(&mut self) -> Replied {
        let stored = self.load()?;
        let of_file = self.file.teams.iter().map(file_team);
        let of_store = stored.teams.iter().map(stored_team);
        let teams: Vec<Value> = of_file.chain(of_store).collect();
        Ok(AccessReply::ok(json!({ "teams": teams })))
    }

    fn put_team(&mut self, name: String, mut settings: Map<String, Value>) -> Replied {
        check_name("team", &name).map_err(invalid)?;
        self.team_not_in_file(&name)?;
        settings.retain(|_, value| !value.is_null());
        let entry = read_team(&name, &settings).map_err(invalid)?;
        self.check_budget(&entry.limits)?;
        let team = StoredTeam {
            name,
            settings: Value::from(settings).to_string(),
        };
        let body = json!({ "team": stored_team(&team) });
        self.apply(&AccessChange::PutTeam(team))?;
        Ok(AccessReply::ok(body))
    }

    fn delete_team(&mut self, name: String) -> Replied {
        self.team_not_in_file(&name)?;
        let stored = self.load()?;
        let member = stored.keys.iter().find(|key| {
            let settings = parse_settings(&key.settings);
            settings.is_ok_and(|settings| settings.get("team") == Some(&json!(name)))
        });
        if let Some(member) = member {
            let text = format!(
                "the key `{}` belongs to the team `{name}`: move or delete it first",
                member.name
            );
            return Err(AccessReply::error(409, text));
        }
        self.apply(&AccessChange::DeleteTeam { name: name.clone() })?;
        Ok(AccessReply::ok(json!({ "deleted": name })))
    }

    fn team_not_in_file(&self, name: &str) -> Result<(), AccessReply> {
        match self.file.has_team(name) {
            true => Err(AccessReply::error(
                409,
                format!("the team `{name}` is in the configuration file: change it there"),
            )),
            false => Ok(()),
        }
    }
}

fn new_secret() -> Result<(majordomo::dsn::SecretString, String), AccessReply> {
    generate_secret().map_err(|error| {
        AccessReply::error(500, format!("the system has no random bytes: {error}"))
    })
}

fn invalid(text: String) -> AccessReply {
    AccessReply::error(400, text)
}

fn unavailable(error: StoreError) -> AccessReply {
    AccessReply::unavailable(&error)
}
