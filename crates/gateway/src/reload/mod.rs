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
use majordomo_rules::Processors;

use crate::cluster::Cluster;
use crate::config::transition::{self, AtStartup, RestartNotice};
use crate::config::{self, Config, ConfigWatch, Diagnostics, TlsFiles, WatchedFiles};
use crate::server::{Identity, TlsAcceptorHandle};
use crate::{GatewayState, Handle};

/// Builds states from configurations.
#[derive(Clone)]
pub(crate) struct StateLoader {
    pub(crate) environment: BTreeMap<String, String>,
    pub(crate) transport: Transport,
    /// The processors that rules can name; they outlive every configuration.
    pub(crate) processors: Processors,
    /// Overrides `listen` of the file.
    pub(crate) listen: Option<SocketAddr>,
    /// Overrides `operator_listen` of the file.
    pub(crate) operator_listen: Option<SocketAddr>,
    /// Fixed when the gateway starts.
    pub(crate) cluster: Option<Cluster>,
}

impl StateLoader {
    pub(crate) fn state(
        &self,
        config: &Config,
        earlier: Option<&GatewayState>,
    ) -> Result<Arc<GatewayState>, Diagnostics> {
        let state = GatewayState::with_processors(
            config,
            &self.environment,
            &self.transport,
            &self.processors,
            earlier,
            self.cluster.as_ref(),
        )?;
        Ok(Arc::new(state))
    }

    /// Applies the command line to the configuration.
    pub(crate) fn with_overrides(&self, mut config: Config) -> Config {
        if let Some(listen) = self.listen {
            config.server.listen = listen;
        }
        if let Some(listen) = self.operator_listen {
            config.server.operator_listen = listen;
        }
        config
    }
}

/// Reloads a running gateway.
pub(crate) struct Reloader {
    loader: StateLoader,
    handle: Handle,
    at_startup: AtStartup,
    tls: Option<TlsAcceptorHandle>,
    /// Why the newest configuration is not in effect.
    config_fault: Option<String>,
    /// Why the newest certificate is not in effect.
    tls_fault: Option<String>,
}

/// A checked configuration, ready to be applied.
struct PreparedReload {
    state: Arc<GatewayState>,
    notices: Vec<RestartNotice>,
    /// `None` without TLS.
    identity: Option<Result<Identity, String>>,
}

impl Reloader {
    pub(crate) fn new(
        loader: StateLoader,
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
    pub(crate) async fn run(mut self, mut watch: ConfigWatch) {
        let mut certificate = WatchedFiles::new(self.certificate_paths());
        loop {
            tokio::select! {
                read = watch.next() => {
                    if let Ok(config) = &read {
                        config::warn_if_exposed(watch.path(), config);
                    }
                    self.reload_config(read).await;
                    if certificate.paths() != self.certificate_paths() {
                        certificate = WatchedFiles::new(self.certificate_paths());
                        // It may have changed between reading and watching.
                        self.reload_certificate().await;
                    } else if self.config_fault.is_some() {
                        // SIGHUP also reloads the certificate.
                        self.reload_certificate().await;
                    }
                }
                () = certificate.changed() => {
                    certificate.snapshot();
                    self.reload_certificate().await;
                }
            }
        }
    }

    /// The files of the active certificate; empty without TLS.
    fn certificate_paths(&self) -> Vec<PathBuf> {
        let files = self.certificate_files();
        files.map_or_else(Vec::new, |tls| vec![tls.cert, tls.key])
    }

    fn certificate_files(&self) -> Option<TlsFiles> {
        let state = self.handle.state();
        self.tls.as_ref().and(state.server.tls.clone())
    }

    /// Applies a new configuration, or records why it is rejected.
    async fn reload_config(&mut self, read: Result<Config, Diagnostics>) {
        let ready = match read {
            Ok(config) => {
                let (loader, at_startup) = (self.loader.clone(), self.at_startup.clone());
                let old = self.handle.state();
                // Reads files and compiles patterns: off the async threads.
                let prepared = tokio::task::spawn_blocking(move || {
                    prepare(&loader, &at_startup, &old, config)
                });
                prepared.await.unwrap_or_else(|_| Err(PANICKED.to_owned()))
            }
            Err(diagnostics) => Err(format!("\n{diagnostics}")),
        };
        match ready {
            Ok(ready) => self.apply(ready),
            Err(reason) => {
                tracing::error!("the old configuration stays in effect: {reason}");
                self.config_fault = Some(reason);
            }
        }
        self.publish();
    }

    fn apply(&mut self, ready: PreparedReload) {
        ready.state.log_warnings();
        self.handle.swap(ready.state);
        self.config_fault = None;
        if let Some(identity) = ready.identity {
            self.replace_certificate(identity);
        }
        let mut notes = Vec::new();
        for notice in ready.notices {
            tracing::warn!(setting = notice.setting, "{}", notice.text);
            notes.push(notice.text);
        }
        self.handle.notes(notes);
        tracing::info!("configuration reloaded");
    }

    /// Applies the newest certificate, or records why it is rejected.
    async fn reload_certificate(&mut self) {
        let Some(files) = self.certificate_files() else {
            return;
        };
        let loaded = tokio::task::spawn_blocking(move || Identity::load(&files)).await;
        self.replace_certificate(loaded.unwrap_or_else(|_| Err(PANICKED.to_owned())));
        self.publish();
    }

    fn replace_certificate(&mut self, identity: Result<Identity, String>) {
        let Some(tls) = &self.tls else {
            return;
        };
        match identity {
            Ok(identity) => {
                tls.replace(identity);
                self.tls_fault = None;
                tracing::info!("certificate reloaded");
            }
            Err(reason) => {
                let reason = format!("the old certificate stays in effect: {reason}");
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
const PANICKED: &str = "loading it panicked, which is a bug in majordomo";

/// Does all fallible work of a reload.
fn prepare(
    loader: &StateLoader,
    at_startup: &AtStartup,
    old: &GatewayState,
    config: Config,
) -> Result<PreparedReload, String> {
    let config = loader.with_overrides(config);
    let notices = transition::check_reload(at_startup, old.config(), &config)
        .map_err(|rejection| rejection.to_string())?;
    let files = config.server.tls.as_ref().filter(|_| at_startup.tls);
    let identity = files.map(Identity::load);
    // Newly named files belong to the configuration: the gateway would not start with
    // them. Files renewed in place only affect the certificate.
    if files != old.config().server.tls.as_ref()
        && let Some(Err(reason)) = &identity
    {
        return Err(config.source.scrubbed(reason));
    }
    let state = loader.state(&config, Some(old));
    let state = state.map_err(|diagnostics| format!("\n{diagnostics}"))?;
    Ok(PreparedReload {
        state,
        notices,
        identity,
    })
}

#[cfg(test)]
mod tests;
