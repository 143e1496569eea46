//! Decides whether a running gateway may switch to another configuration.
//!
//! A reload fails closed: a file may be empty because the disk is full, or truncated because a
//! write is in progress, and neither may remove protection. Removing it on purpose requires a
//! restart. The module is pure: it compares two configurations and the settings fixed at
//! startup.

use std::net::SocketAddr;

use super::{
    ClusterEntry, Config, KeyEntry, LedgerSettings, LogSettings, exposed_without_keys,
    operator_exposed_without_role,
};

/// Settings that are fixed until the process ends.
#[derive(Clone, Debug)]
pub(crate) struct AtStartup {
    /// The configured addresses.
    pub(crate) listen: SocketAddr,
    pub(crate) operator_listen: SocketAddr,
    /// The addresses actually bound, for clients and the operator.
    pub(crate) bound: [SocketAddr; 2],
    /// Whether the listeners use TLS.
    pub(crate) tls: bool,
    /// The ledger that is written to.
    pub(crate) ledger: LedgerSettings,
    /// The log that is written.
    pub(crate) log: LogSettings,
    /// The cluster that it takes part in.
    pub(crate) cluster: Option<ClusterEntry>,
}

/// Why a reload is rejected and the old configuration stays active.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum ReloadRejection {
    /// The disk is full, or a write is in progress.
    #[error("the file is empty; if that is intended, restart majordomo")]
    Empty,
    #[error(
        "the last of the [[keys]] was removed, which would let every client in; if that is \
         intended, restart majordomo"
    )]
    LastKey,
    #[error(
        "the file ends within the [[keys]] entry `{0}`, which allows more than before: it looks \
         cut off; if that is intended, restart majordomo"
    )]
    WiderKey(String),
    #[error(
        "`tls` in [server] was removed, and clients would send their keys in plain text; if that \
         is intended, restart majordomo"
    )]
    TlsOff,
    #[error(
        "`origins` in [server] now allows {0}, but no key is configured; add a key, or restart \
         majordomo if every visitor of that site may use the gateway"
    )]
    Origin(String),
    #[error("{0}; add a key, or listen on 127.0.0.1 and restart majordomo")]
    Open(String),
}

/// A setting of the new configuration that requires a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct RestartNotice {
    pub(crate) setting: &'static str,
    /// One sentence that names the setting and the fix.
    pub(crate) text: String,
}

/// Checks whether `new` may replace `old`; returns the settings that require a restart.
pub(crate) fn check_reload(
    at_startup: &AtStartup,
    old: &Config,
    new: &Config,
) -> Result<Vec<RestartNotice>, ReloadRejection> {
    let has_keys = !new.keys.is_empty();
    if new.source.is_blank() && !old.source.is_blank() {
        return Err(ReloadRejection::Empty);
    }
    if !has_keys && !old.keys.is_empty() {
        return Err(ReloadRejection::LastKey);
    }
    if let Some(key) = new
        .source
        .is_cut_from(&old.source)
        .then(|| wider_key(old, new))
        .flatten()
    {
        return Err(ReloadRejection::WiderKey(key));
    }
    if at_startup.tls && new.server.tls.is_none() {
        return Err(ReloadRejection::TlsOff);
    }
    let site = new.server.origins.beyond(&old.server.origins);
    if let Some(site) = site.filter(|_| !has_keys) {
        return Err(ReloadRejection::Origin(site.to_owned()));
    }
    let [_, operator] = at_startup.bound;
    let mut open = at_startup
        .bound
        .iter()
        .filter_map(|at| exposed_without_keys(*at, has_keys));
    let roleless = operator_exposed_without_role(operator, new.has_operator_key());
    if let Some(reason) = open.next().or(roleless) {
        return Err(ReloadRejection::Open(reason));
    }
    Ok(notices(at_startup, new))
}

/// A key that lost a restriction.
fn wider_key(old: &Config, new: &Config) -> Option<String> {
    let wider = |key: &&KeyEntry| {
        let before = old.keys.iter().find(|before| before.name == key.name);
        before.is_some_and(|before| key.lacks_restriction_of(before))
    };
    new.keys.iter().find(wider).map(|key| key.name.clone())
}

/// Settings that are read only when a listener is bound, or the ledger or the log opened.
fn notices(at_startup: &AtStartup, config: &Config) -> Vec<RestartNotice> {
    let new = &config.server;
    let moved = |setting, was: SocketAddr, is: SocketAddr| {
        (was != is).then(|| RestartNotice {
            setting,
            text: format!(
                "`{setting}` in [server] is now {is}, but the gateway still listens on {was}: \
                 restart majordomo to apply it"
            ),
        })
    };
    let tls = (!at_startup.tls && new.tls.is_some()).then(|| RestartNotice {
        setting: "tls",
        text: "`tls` in [server] is now set, but the gateway still serves plain HTTP: restart \
             majordomo to apply it"
            .to_owned(),
    });
    let listen = moved("listen", at_startup.listen, new.listen);
    let operator = moved(
        "operator_listen",
        at_startup.operator_listen,
        new.operator_listen,
    );
    let ledger = (at_startup.ledger != config.ledger).then(|| RestartNotice {
        setting: "ledger",
        text: "[ledger] has changed, but the gateway still records as before: restart majordomo \
             to apply it"
            .to_owned(),
    });
    let log = (at_startup.log != config.log).then(|| RestartNotice {
        setting: "log",
        text: "[log] has changed, but lines are still written as before: restart majordomo to \
             apply it"
            .to_owned(),
    });
    let part = |entry: &Option<ClusterEntry>| {
        let entry = entry.as_ref();
        entry.map(|it| (it.state.clone(), it.name.clone(), it.nodes))
    };
    let cluster = (part(&at_startup.cluster) != part(&config.cluster)).then(|| RestartNotice {
        setting: "cluster",
        text: "[cluster] has changed, but the gateway takes part as before: restart majordomo to \
             apply it"
            .to_owned(),
    });
    [listen, operator, tls, ledger, log, cluster]
        .into_iter()
        .flatten()
        .collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const KEY: &str = "[[keys]]\nname = \"a\"\nkey = \"sk-canary-client\"\n";
    const NARROW: &str =
        "[[keys]]\nname = \"a\"\nkey = \"sk-canary-client\"\nmodels = [\"coder\"]\n";
    const TLS: &str = "[server]\ntls = { cert = \"c.pem\", key = \"k.pem\" }\n";
    const ALIAS: &str = "[aliases]\na = \"demo/text\"\n";

    fn config(text: &str) -> Config {
        Config::parse("m.toml", text, &BTreeMap::new()).expect("the file is fine")
    }

    /// The fixed settings of a gateway that was started with this file.
    fn at_startup(start: &Config) -> AtStartup {
        AtStartup {
            listen: start.server.listen,
            operator_listen: start.server.operator_listen,
            bound: [start.server.listen, start.server.operator_listen],
            tls: start.server.tls.is_some(),
            ledger: start.ledger.clone(),
            log: start.log.clone(),
            cluster: start.cluster.clone(),
        }
    }

    /// The settings that require a restart, or why the reload is rejected.
    type Checked<'a> = Result<&'a [&'a str], ReloadRejection>;

    #[test]
    fn a_reload_never_removes_protection() {
        let moved = "[server]\nlisten = \"127.0.0.1:1\"\noperator_listen = \"127.0.0.1:2\"\n";
        let both = format!("{TLS}{KEY}");
        let rows: &[(&str, &str, Checked<'_>)] = &[
            // An empty file is never accepted.
            (ALIAS, "", Err(ReloadRejection::Empty)),
            (ALIAS, " \n\t\n", Err(ReloadRejection::Empty)),
            (ALIAS, "# [aliases]\n", Err(ReloadRejection::Empty)),
            (ALIAS, "[aliases]\n[server]\n", Err(ReloadRejection::Empty)),
            (KEY, "", Err(ReloadRejection::Empty)),
            // A file that was cut off must not widen a key's permissions.
            (NARROW, KEY, Err(ReloadRejection::WiderKey("a".to_owned()))),
            (
                NARROW,
                "[[keys]]\nname = \"a\"\nkey = \"sk-canary-other\"\n",
                Ok(&[]),
            ),
            ("# one", "# two", Ok(&[])),
            // Keys may be changed, added and removed, except for the last.
            (KEY, ALIAS, Err(ReloadRejection::LastKey)),
            (KEY, "keys = []\n", Err(ReloadRejection::Empty)),
            (
                KEY,
                &format!("keys = []\n{ALIAS}"),
                Err(ReloadRejection::LastKey),
            ),
            (KEY, &KEY.replace("canary", "another"), Ok(&[])),
            (ALIAS, KEY, Ok(&[])),
            (ALIAS, "[chain]\nretries = 0\n", Ok(&[])),
            // TLS cannot be turned off.
            (TLS, ALIAS, Err(ReloadRejection::TlsOff)),
            (&both, KEY, Err(ReloadRejection::TlsOff)),
            (&both, TLS, Err(ReloadRejection::LastKey)),
            (TLS, &TLS.replace("c.pem", "d.pem"), Ok(&[])),
            // Settings that require a restart are reported.
            (ALIAS, TLS, Ok(&["tls"])),
            (ALIAS, moved, Ok(&["listen", "operator_listen"])),
            (moved, ALIAS, Ok(&["listen", "operator_listen"])),
            (moved, moved, Ok(&[])),
            (ALIAS, "[ledger]\nstore = \"off\"\n", Ok(&["ledger"])),
            (ALIAS, "[ledger]\nretention = \"30d\"\n", Ok(&["ledger"])),
            (ALIAS, "[log]\nformat = \"json\"\n", Ok(&["log"])),
            (ALIAS, "[log]\nlevel = \"info\"\n", Ok(&[])),
            (
                ALIAS,
                "[ledger]\nstore = \"sqlite\"\n[chain]\nretries = 0\n",
                Ok(&[]),
            ),
        ];
        for (old, new, expected) in rows {
            let (before, after) = (config(old), config(new));
            let checked = check_reload(&at_startup(&before), &before, &after);
            let settings = checked.as_ref().map(|notices| {
                let settings = notices.iter().map(|notice| notice.setting);
                settings.collect::<Vec<_>>()
            });
            let expected = expected.as_ref().map(|settings| settings.to_vec());
            assert_eq!(settings, expected, "{old:?} to {new:?}");
            let texts: Vec<String> = match &checked {
                Ok(notices) => notices.iter().map(|notice| notice.text.clone()).collect(),
                Err(refusal) => vec![refusal.to_string()],
            };
            for text in texts {
                assert!(text.contains("restart majordomo"), "{text}");
            }
        }
    }

    #[test]
    fn an_exposed_address_is_never_left_without_keys() {
        let public = SocketAddr::from(([192, 0, 2, 1], 4100));
        let config = config(ALIAS);
        for place in 0..2 {
            let mut at_startup = at_startup(&config);
            at_startup.bound[place] = public;
            let checked = check_reload(&at_startup, &config, &config);
            let refused =
                matches!(&checked, Err(ReloadRejection::Open(why)) if why.contains("192.0.2.1"));
            assert!(refused, "{checked:?}");
        }
    }

    #[test]
    fn a_setting_that_requires_a_restart_is_reported_until_restart() {
        let start = config(ALIAS);
        let at_startup = at_startup(&start);
        let moved = config("[server]\nlisten = \"127.0.0.1:1\"\n");
        assert_eq!(
            check_reload(&at_startup, &start, &moved).map(|n| n.len()),
            Ok(1)
        );
        assert_eq!(
            check_reload(&at_startup, &moved, &moved).map(|n| n.len()),
            Ok(1)
        );
        assert_eq!(check_reload(&at_startup, &moved, &start), Ok(vec![]));
    }

    #[test]
    fn tls_that_never_took_effect_may_be_removed() {
        let (plain, secure) = (config(ALIAS), config(TLS));
        let at_startup = at_startup(&plain);
        assert_eq!(check_reload(&at_startup, &secure, &plain), Ok(vec![]));
    }

    #[test]
    fn an_origin_is_added_only_if_keys_are_configured() {
        let sites =
            |names: &str, keys: &str| config(&format!("[server]\norigins = {names}\n{keys}"));
        let (a, ab) = (r#"["https://a"]"#, r#"["https://a", "https://b"]"#);
        let added = |old: &str, new: &str, keys: &str| {
            let (old, new) = (sites(old, keys), sites(new, keys));
            match check_reload(&at_startup(&old), &old, &new) {
                Err(ReloadRejection::Origin(site)) => Some(site),
                other => {
                    assert_eq!(other, Ok(vec![]));
                    None
                }
            }
        };
        assert_eq!(added(a, ab, "").as_deref(), Some("https://b"));
        assert_eq!(added("[]", a, "").as_deref(), Some("https://a"));
        assert_eq!(added(ab, a, ""), None, "taking one away closes");
        assert_eq!(added(a, a, ""), None);
        assert_eq!(added("[]", ab, KEY), None);
    }

    #[test]
    fn an_exposed_operator_listener_keeps_a_key_with_a_role() {
        let key = |role: &str| config(&format!("{KEY}{role}"));
        let operator = key("role = \"operator\"\n");
        let mut at_startup = at_startup(&operator);
        at_startup.bound[1] = SocketAddr::from(([192, 0, 2, 1], 4101));
        let checked = check_reload(&at_startup, &operator, &key(""));
        let refused = matches!(&checked, Err(ReloadRejection::Open(why)) if why.contains("role"));
        assert!(refused, "{checked:?}");
        assert_eq!(
            check_reload(&at_startup, &operator, &key("role = \"viewer\"\n")),
            Ok(vec![])
        );
    }
}
