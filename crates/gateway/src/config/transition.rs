//! Decides whether a running gateway may switch to another configuration.
//!
//! A reload fails closed: a file may be empty because the disk is full, or truncated
//! because a write is in progress, and neither may remove protection. Removing it on
//! purpose requires a restart. The module is pure: it compares two configurations and
//! what was fixed at startup.

use std::net::SocketAddr;

use super::{Config, Server, refuse_open, refuse_open_operator};

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
}

/// Why a reload is rejected and the old configuration stays active.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub(crate) enum Refusal {
    /// The disk is full, or a write is in progress.
    #[error(
        "the file is empty; if nothing is to be configured any more, restart majordomo with it"
    )]
    Empty,
    #[error(
        "the file has no [[keys]] any more, and without the last key everybody who reaches the \
         gateway could ask; if that is meant, restart majordomo"
    )]
    LastKey,
    #[error(
        "the file has no `tls` in [server] any more, and clients would send their keys in plain \
         text; if that is meant, restart majordomo"
    )]
    TlsOff,
    #[error(
        "the file allows pages of {0} to ask (`origins` in [server]), and no key is configured; \
         add a key, or restart majordomo if everybody who opens that site may use the gateway"
    )]
    Origin(String),
    #[error("{0}; add a key, or listen on 127.0.0.1 and restart majordomo")]
    Open(String),
}

/// A setting of the new configuration that requires a restart.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Notice {
    pub(crate) setting: &'static str,
    /// One sentence that names the setting and the fix.
    pub(crate) text: String,
}

/// Checks whether `new` may replace `old`; returns the settings that require a restart.
pub(crate) fn judge(
    at_startup: &AtStartup,
    old: &Config,
    new: &Config,
) -> Result<Vec<Notice>, Refusal> {
    let keyed = !new.keys.is_empty();
    if new.source.is_blank() && !old.source.is_blank() {
        return Err(Refusal::Empty);
    }
    if !keyed && !old.keys.is_empty() {
        return Err(Refusal::LastKey);
    }
    if at_startup.tls && new.server.tls.is_none() {
        return Err(Refusal::TlsOff);
    }
    let site = new.server.origins.beyond(&old.server.origins);
    if let Some(site) = site.filter(|_| !keyed) {
        return Err(Refusal::Origin(site.to_owned()));
    }
    let [_, operator] = at_startup.bound;
    let mut open = at_startup
        .bound
        .iter()
        .filter_map(|at| refuse_open(*at, keyed));
    let roleless = refuse_open_operator(operator, new.opens_the_operators_listener());
    if let Some(reason) = open.next().or(roleless) {
        return Err(Refusal::Open(reason));
    }
    Ok(notices(at_startup, &new.server))
}

/// Settings that a listener reads only when it is bound.
fn notices(at_startup: &AtStartup, new: &Server) -> Vec<Notice> {
    let moved = |setting, was: SocketAddr, is: SocketAddr| {
        (was != is).then(|| Notice {
            setting,
            text: format!(
                "`{setting}` in [server] is {is} now, and the gateway still listens on {was}: \
                 restart majordomo to change it"
            ),
        })
    };
    let tls = (!at_startup.tls && new.tls.is_some()).then(|| Notice {
        setting: "tls",
        text: "`tls` in [server] is set now, and the gateway still speaks plain HTTP: restart \
               majordomo to change it"
            .to_owned(),
    });
    let listen = moved("listen", at_startup.listen, new.listen);
    let operator = moved(
        "operator_listen",
        at_startup.operator_listen,
        new.operator_listen,
    );
    [listen, operator, tls].into_iter().flatten().collect()
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    const KEY: &str = "[[keys]]\nname = \"a\"\nkey = \"sk-canary-client\"\n";
    const TLS: &str = "[server]\ntls = { cert = \"c.pem\", key = \"k.pem\" }\n";
    const ALIAS: &str = "[aliases]\na = \"demo/text\"\n";

    fn config(text: &str) -> Config {
        Config::parse("m.toml", text, &BTreeMap::new()).expect("the file is fine")
    }

    /// What is fixed in a gateway started with this file.
    fn at_startup(start: &Config) -> AtStartup {
        AtStartup {
            listen: start.server.listen,
            operator_listen: start.server.operator_listen,
            bound: [start.server.listen, start.server.operator_listen],
            tls: start.server.tls.is_some(),
        }
    }

    /// The settings that require a restart, or why the reload is rejected.
    type Judged<'a> = Result<&'a [&'a str], Refusal>;

    #[test]
    fn what_was_closed_stays_closed() {
        let moved = "[server]\nlisten = \"127.0.0.1:1\"\noperator_listen = \"127.0.0.1:2\"\n";
        let both = format!("{TLS}{KEY}");
        let rows: &[(&str, &str, Judged<'_>)] = &[
            // An empty file is never accepted.
            (ALIAS, "", Err(Refusal::Empty)),
            (ALIAS, " \n\t\n", Err(Refusal::Empty)),
            (ALIAS, "# [aliases]\n", Err(Refusal::Empty)),
            (ALIAS, "[aliases]\n[server]\n", Err(Refusal::Empty)),
            (KEY, "", Err(Refusal::Empty)),
            ("# one", "# two", Ok(&[])),
            // Keys may be changed, added and removed, except for the last.
            (KEY, ALIAS, Err(Refusal::LastKey)),
            (KEY, "keys = []\n", Err(Refusal::Empty)),
            (KEY, &format!("keys = []\n{ALIAS}"), Err(Refusal::LastKey)),
            (KEY, &KEY.replace("canary", "another"), Ok(&[])),
            (ALIAS, KEY, Ok(&[])),
            (ALIAS, "[chain]\nretries = 0\n", Ok(&[])),
            // TLS cannot be turned off.
            (TLS, ALIAS, Err(Refusal::TlsOff)),
            (&both, KEY, Err(Refusal::TlsOff)),
            (&both, TLS, Err(Refusal::LastKey)),
            (TLS, &TLS.replace("c.pem", "d.pem"), Ok(&[])),
            // Settings that require a restart are reported.
            (ALIAS, TLS, Ok(&["tls"])),
            (ALIAS, moved, Ok(&["listen", "operator_listen"])),
            (moved, ALIAS, Ok(&["listen", "operator_listen"])),
            (moved, moved, Ok(&[])),
        ];
        for (old, new, expected) in rows {
            let (before, after) = (config(old), config(new));
            let judged = judge(&at_startup(&before), &before, &after);
            let settings = judged.as_ref().map(|notices| {
                let settings = notices.iter().map(|notice| notice.setting);
                settings.collect::<Vec<_>>()
            });
            let expected = expected.as_ref().map(|settings| settings.to_vec());
            assert_eq!(settings, expected, "{old:?} to {new:?}");
            let told: Vec<String> = match &judged {
                Ok(notices) => notices.iter().map(|notice| notice.text.clone()).collect(),
                Err(refusal) => vec![refusal.to_string()],
            };
            for text in told {
                assert!(text.contains("restart majordomo"), "{text}");
            }
        }
    }

    #[test]
    fn an_address_that_others_reach_is_never_opened() {
        let public = SocketAddr::from(([192, 0, 2, 1], 4100));
        let config = config(ALIAS);
        for place in 0..2 {
            let mut at_startup = at_startup(&config);
            at_startup.bound[place] = public;
            let judged = judge(&at_startup, &config, &config);
            let refused = matches!(&judged, Err(Refusal::Open(why)) if why.contains("192.0.2.1"));
            assert!(refused, "{judged:?}");
        }
    }

    #[test]
    fn what_waits_for_a_restart_is_told_until_it_happens() {
        let start = config(ALIAS);
        let at_startup = at_startup(&start);
        let moved = config("[server]\nlisten = \"127.0.0.1:1\"\n");
        assert_eq!(judge(&at_startup, &start, &moved).map(|n| n.len()), Ok(1));
        assert_eq!(judge(&at_startup, &moved, &moved).map(|n| n.len()), Ok(1));
        assert_eq!(judge(&at_startup, &moved, &start), Ok(vec![]));
    }

    #[test]
    fn tls_that_was_never_spoken_may_be_left_out_again() {
        let (plain, secure) = (config(ALIAS), config(TLS));
        let at_startup = at_startup(&plain);
        assert_eq!(judge(&at_startup, &secure, &plain), Ok(vec![]));
    }

    #[test]
    fn a_site_is_added_only_where_keys_are_needed() {
        let sites =
            |names: &str, keys: &str| config(&format!("[server]\norigins = {names}\n{keys}"));
        let (a, ab) = (r#"["https://a"]"#, r#"["https://a", "https://b"]"#);
        let added = |old: &str, new: &str, keys: &str| {
            let (old, new) = (sites(old, keys), sites(new, keys));
            match judge(&at_startup(&old), &old, &new) {
                Err(Refusal::Origin(site)) => Some(site),
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
    fn an_operators_listener_that_others_reach_keeps_a_key_that_opens_it() {
        let key = |role: &str| config(&format!("{KEY}{role}"));
        let operator = key("role = \"operator\"\n");
        let mut at_startup = at_startup(&operator);
        at_startup.bound[1] = SocketAddr::from(([192, 0, 2, 1], 4101));
        let judged = judge(&at_startup, &operator, &key(""));
        let refused = matches!(&judged, Err(Refusal::Open(why)) if why.contains("role"));
        assert!(refused, "{judged:?}");
        assert_eq!(
            judge(&at_startup, &operator, &key("role = \"viewer\"\n")),
            Ok(vec![])
        );
    }
}
