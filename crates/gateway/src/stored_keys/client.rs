//! The backend of the commands `key` and `team`: the running gateway, or the store.

use std::collections::BTreeMap;
use std::io::{Read, Write};
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, TcpStream};
use std::path::Path;
use std::time::Duration;

use secrecy::ExposeSecret;
use serde_json::{Map, Value};

use super::api::{AccessReply, FileEntries, respond};
use super::place::AccessPlace;
use super::request::AccessRequest;
use super::settings::{check_name, entry_text, read_key};
use crate::config::{Config, Diagnostics, Variables, find_config};
use crate::keys::{NewKey, generate_secret, hash_of};
use crate::ledger_sink::now_millis;

/// How long a gateway on this machine may take to accept a connection.
const CONNECT: Duration = Duration::from_millis(500);
/// How long it may take to respond.
const ANSWER: Duration = Duration::from_secs(10);
/// The largest response that is read.
const LARGEST: u64 = 64 << 20;
/// The variable with the key of an operator, for a gateway whose operator's listener is not
/// on loopback.
const KEY_VARIABLE: &str = "MAJORDOMO_OPERATOR_KEY";

/// Keys and teams of a configuration, for commands.
pub struct AccessTools {
    place: Option<AccessPlace>,
    file: FileEntries,
    /// The operator's listener, if it does not use TLS.
    gateway: Option<SocketAddr>,
    key: Option<String>,
}

/// Why a command failed.
#[derive(Debug, thiserror::Error)]
#[error("{0}")]
pub struct AccessFailure(String);

impl AccessTools {
    /// Reads the configuration that `majordomo serve` uses.
    ///
    /// # Errors
    ///
    /// Fails if the file is invalid.
    pub fn load(
        config: Option<&Path>,
        environment: &BTreeMap<String, String>,
    ) -> Result<Self, Diagnostics> {
        let config = match find_config(config, environment) {
            // No provider is called, so their keys may be missing.
            Some(path) => Config::load_with(&path, environment, Variables::Optional)?,
            None => Config::empty(),
        };
        let listen = config.server.operator_listen;
        let plain = config.server.tls.is_none() && listen.port() != 0;
        Ok(Self {
            place: AccessPlace::of(&config.ledger, environment),
            file: FileEntries::of(&config),
            gateway: plain.then(|| on_this_machine(listen)),
            key: environment.get(KEY_VARIABLE).cloned(),
        })
    }

    /// Whether keys can be stored. Without a store, they belong in the configuration file.
    pub fn stores_keys(&self) -> bool {
        self.place.is_some()
    }

    /// Sends a request to the running gateway, or executes it on the store if no gateway
    /// responds. A gateway that is running after all notices the change within a second.
    ///
    /// # Errors
    ///
    /// Fails with a sentence for people.
    pub fn run(&self, request: &AccessRequest) -> Result<Value, AccessFailure> {
        let connected = self
            .gateway
            .map(|at| TcpStream::connect_timeout(&at, CONNECT));
        let reply = match (connected, self.gateway) {
            (Some(Ok(stream)), Some(at)) => self.ask(stream, at, request).map_err(|error| {
                AccessFailure(format!("the gateway at {at} did not respond: {error}"))
            })?,
            _ => self.ask_store(request)?,
        };
        if reply.status < 300 {
            return Ok(reply.body);
        }
        let text = reply.body["error"].as_str().unwrap_or("no reason");
        Err(AccessFailure(text.to_owned()))
    }

    fn ask_store(&self, request: &AccessRequest) -> Result<AccessReply, AccessFailure> {
        let Some(place) = &self.place else {
            let text = "keys are not stored: `store` in [ledger] is \"off\", or there is no \
                        state folder";
            return Err(AccessFailure(text.to_owned()));
        };
        let opened = place.open(place.had_keys());
        let mut store = opened.map_err(|error| AccessFailure(error.to_string()))?;
        let request = request.clone();
        Ok(respond(
            &mut *store,
            &self.file,
            request,
            "command",
            now_millis(),
        ))
    }

    /// Sends the request on a new connection.
    fn ask(
        &self,
        mut stream: TcpStream,
        at: SocketAddr,
        request: &AccessRequest,
    ) -> std::io::Result<AccessReply> {
        stream.set_read_timeout(Some(ANSWER))?;
        stream.set_write_timeout(Some(ANSWER))?;
        let (method, path, body) = request.to_http();
        let body = body.map(|body| body.to_string()).unwrap_or_default();
        let key = self
            .key
            .as_deref()
            .filter(|key| !key.contains(['\r', '\n']));
        let key = key.map_or_else(String::new, |key| format!("x-api-key: {key}\r\n"));
        let head = format!(
            "{method} {path} HTTP/1.1\r\nhost: {at}\r\n{key}content-type: application/json\r\n\
             content-length: {}\r\nconnection: close\r\n\r\n",
            body.len()
        );
        stream.write_all(head.as_bytes())?;
        stream.write_all(body.as_bytes())?;
        let mut answer = Vec::new();
        stream.take(LARGEST).read_to_end(&mut answer)?;
        read_answer(&answer)
            .ok_or_else(|| std::io::Error::other("it is not majordomo's operator listener"))
    }

    /// Generates a key for the configuration file; it is not stored anywhere.
    ///
    /// # Errors
    ///
    /// Fails if the settings are invalid, or if the system has no random bytes.
    pub fn new_entry(name: &str, settings: &Map<String, Value>) -> Result<NewKey, AccessFailure> {
        check_name("key", name).map_err(AccessFailure)?;
        read_key(name, settings).map_err(AccessFailure)?;
        let (secret, _) = generate_secret()
            .map_err(|error| AccessFailure(format!("failed to obtain random bytes: {error}")))?;
        let entry = Self::entry_of(name, secret.expose_secret(), settings)?;
        Ok(NewKey { secret, entry })
    }

    /// The entry for the configuration file of a key with this secret.
    ///
    /// # Errors
    ///
    /// Fails if the settings cannot be written.
    pub fn entry_of(
        name: &str,
        secret: &str,
        settings: &Map<String, Value>,
    ) -> Result<String, AccessFailure> {
        entry_text(name, &hash_of(secret), settings).map_err(AccessFailure)
    }
}

/// The address at which this process can reach a listener.
fn on_this_machine(mut listen: SocketAddr) -> SocketAddr {
    if listen.ip().is_unspecified() {
        listen.set_ip(match listen.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    listen
}

/// The status and body of a whole response.
fn read_answer(answer: &[u8]) -> Option<AccessReply> {
    let end = answer.windows(4).position(|four| four == b"\r\n\r\n")?;
    let head = std::str::from_utf8(answer.get(..end)?).ok()?;
    let status = head.strip_prefix("HTTP/1.1 ")?.get(..3)?.parse().ok()?;
    let body = answer.get(end + 4..)?;
    let body = match serde_json::from_slice(body) {
        Ok(body) => body,
        // The trust boundary refuses in plain text.
        Err(_) if status >= 400 => {
            let text = String::from_utf8_lossy(body).trim().to_owned();
            serde_json::json!({ "error": text })
        }
        Err(_) => return None,
    };
    Some(AccessReply { status, body })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn answers_are_json_or_a_refusal_in_plain_text() {
        let read = |text: &str| read_answer(text.as_bytes()).map(|it| (it.status, it.body));
        assert_eq!(
            read("HTTP/1.1 200 OK\r\na: b\r\n\r\n{\"keys\":[]}"),
            Some((200, serde_json::json!({ "keys": [] })))
        );
        assert_eq!(
            read("HTTP/1.1 403 Forbidden\r\n\r\nno\n"),
            Some((403, serde_json::json!({ "error": "no" })))
        );
        for foreign in ["", "SSH-2.0-OpenSSH\r\n", "HTTP/1.1 200 OK\r\n\r\n<html>"] {
            assert_eq!(read(foreign), None, "{foreign}");
        }
    }
}
