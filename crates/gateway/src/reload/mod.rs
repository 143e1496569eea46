//! Applies new versions of the configuration and the certificate at run time.
//!
//! The file is read by [`ConfigWatch`], checked by [`transition`] and built into a
//! [`GatewayState`], which replaces the old one as a whole or not at all. The
//! certificate's files are watched separately: a renewed certificate is used even while
//! the configuration is broken, and a broken certificate does not delay the removal of a
//! key. The operator sees every version that is not in effect.
//!
//! May use `config`, `server` and `state`.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use majordomo::transport::Transport;

use crate::config::transition::{self, AtStartup, Notice};
use crate::config::{self, Config, Files, Problems, Tls, Watch};
use crate::server::{Identity, TlsAcceptorHandle};
use crate::{Handle, State};

/// Builds states from configurations.
#[derive(Clone)]
pub(crate) struct Loader {
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) transport: Transport,
    /// Overrides `listen` of the file.
    pub(crate) listen: Option<SocketAddr>,
}

impl Loader {
    pub(crate) fn state(
        &self,
        config: &Config,
        earlier: Option<&State>,
    ) -> Result<Arc<State>, Problems> {
        let state = State::new(config, &self.environment, &self.transport, earlier)?;
        Ok(Arc::new(state))
    }

    /// Applies the command line to the configuration.
    pub(crate) fn overridden(&self, mut config: Config) -> Config {
        if let Some(listen) = self.listen {
            config.server.listen = listen;
        }
        config
    }
}

/// Reloads a running gateway.
pub(crate) struct Reload {
    loader: Loader,
    handle: Handle,
    at_startup: AtStartup,
    tls: Option<TlsAcceptorHandle>,
    /// Why the newest configuration is not in effect.
    config_fault: Option<String>,
    /// Why the newest certificate is not in effect.
    tls_fault: Option<String>,
}

/// A checked configuration, ready to be applied.
struct Ready {
    state: Arc<State>,
    notices: Vec<Notice>,
    /// `None` without TLS.
    identity: Option<Result<Identity, String>>,
}

impl Reload {
    pub(crate) fn new(
        loader: Loader,
        handle: Handle,
        at_startup: AtStartup,
        tls: Option<TlsAcceptorHandle>,
    ) -> Self {
        Self {
            loader,
            handle,
            at_startup,
            tls,
            config_fault: None,
            tls_fault: None,
        }
    }

    /// Follows the configuration and the certificate until dropped.
    pub(crate) async fn run(mut self, mut watch: Watch) {
        let mut certificate = Files::new(self.certificate_paths());
        loop {
            tokio::select! {
                read = watch.next() => {
                    if let Ok(config) = &read {
                        config::warn_if_exposed(watch.path(), config);
                    }
                    self.configuration(read).await;
                    if certificate.paths() != self.certificate_paths() {
                        certificate = Files::new(self.certificate_paths());
                        // It may have changed between reading and watching.
                        self.certificate().await;
                    } else if self.config_fault.is_some() {
                        // SIGHUP also reloads the certificate.
                        self.certificate().await;
                    }
                }
                () = certificate.changed() => {
                    certificate.note();
                    self.certificate().await;
                }
            }
        }
    }

    /// The files of the active certificate; empty without TLS.
    fn certificate_paths(&self) -> Vec<PathBuf> {
        let files = self.files();
        files.map_or_else(Vec::new, |tls| vec![tls.cert, tls.key])
    }

    fn files(&self) -> Option<Tls> {
        let state = self.handle.state();
        self.tls.as_ref().and(state.server.tls.clone())
    }

    /// Applies a new configuration, or records why it is rejected.
    async fn configuration(&mut self, read: Result<Config, Problems>) {
        let ready = match read {
            Ok(config) => {
                let (loader, at_startup) = (self.loader.clone(), self.at_startup.clone());
                let old = self.handle.state();
                // Reads files and compiles patterns: off the async threads.
                let made = tokio::task::spawn_blocking(move || {
                    prepare(&loader, &at_startup, &old, config)
                });
                made.await.unwrap_or_else(|_| Err(PANICKED.to_owned()))
            }
            Err(problems) => Err(format!("\n{problems}")),
        };
        match ready {
            Ok(ready) => self.take(ready),
            Err(reason) => {
                tracing::error!("the old configuration stays: {reason}");
                self.config_fault = Some(reason);
            }
        }
        self.publish();
    }

    fn take(&mut self, ready: Ready) {
        self.handle.swap(ready.state);
        self.config_fault = None;
        if let Some(identity) = ready.identity {
            self.serve(identity);
        }
        let mut notes = Vec::new();
        for notice in ready.notices {
            tracing::warn!(setting = notice.setting, "{}", notice.text);
            notes.push(notice.text);
        }
        self.handle.notes(notes);
        tracing::info!("the configuration was read anew");
    }

    /// Applies the newest certificate, or records why it is rejected.
    async fn certificate(&mut self) {
        let Some(files) = self.files() else {
            return;
        };
        let loaded = tokio::task::spawn_blocking(move || Identity::load(&files)).await;
        self.serve(loaded.unwrap_or_else(|_| Err(PANICKED.to_owned())));
        self.publish();
    }

    fn serve(&mut self, identity: Result<Identity, String>) {
        let Some(tls) = &self.tls else {
            return;
        };
        match identity {
            Ok(identity) => {
                tls.replace(identity);
                self.tls_fault = None;
                tracing::info!("the certificate was read anew");
            }
            Err(reason) => {
                let reason = format!("the old certificate stays: {reason}");
                tracing::error!("{reason}");
                self.tls_fault = Some(reason);
            }
        }
    }

    fn publish(&self) {
        let faults = [&self.config_fault, &self.tls_fault];
        let faults: Vec<&str> = faults.into_iter().flatten().map(String::as_str).collect();
        match faults.is_empty() {
            true => self.handle.is_fresh(),
            false => self.handle.stays(faults.join("\n")),
        }
    }
}

/// After a panic, everything stays as it was.
const PANICKED: &str = "it could not be read, which is a bug of majordomo";

/// Does all fallible work of a reload.
fn prepare(
    loader: &Loader,
    at_startup: &AtStartup,
    old: &State,
    config: Config,
) -> Result<Ready, String> {
    let config = loader.overridden(config);
    let notices = transition::judge(at_startup, old.config(), &config)
        .map_err(|refusal| refusal.to_string())?;
    let files = config.server.tls.as_ref().filter(|_| at_startup.tls);
    let identity = files.map(Identity::load);
    // Newly named files belong to the configuration: the gateway would not start with
    // them. Files renewed in place only affect the certificate.
    if files != old.config().server.tls.as_ref()
        && let Some(Err(reason)) = &identity
    {
        return Err(reason.clone());
    }
    let state = loader.state(&config, Some(old));
    let state = state.map_err(|problems| format!("\n{problems}"))?;
    Ok(Ready {
        state,
        notices,
        identity,
    })
}

#[cfg(test)]
mod tests;
