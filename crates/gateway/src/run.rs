//! Runs a gateway: from a file or from nothing, until it is told to stop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use majordomo::transport::{self, Transport};
use tokio::runtime::Handle as Runtime;

use crate::config::transition::AtStartup;
use crate::config::{self, Config, Detected, Problems, Watch};
use crate::operator::{Operator, OperatorThread};
use crate::reload::{Loader, Reload};
#[cfg(feature = "otel")]
use crate::telemetry::Telemetry;
use crate::{Limits, Server, State};

/// What `majordomo serve` was told.
#[derive(Clone, Debug, Default)]
pub struct Options {
    /// The file to read in place of the usual ones.
    pub config: Option<PathBuf>,
    /// The address to listen on in place of the file's.
    pub listen: Option<SocketAddr>,
}

/// Why a gateway does not start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is wrong.
    #[error("{0}")]
    Config(#[from] Problems),
    /// The address cannot be had.
    #[error("cannot listen on {address}: {reason}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        reason: std::io::Error,
    },
    /// The certificate or its key cannot be used.
    #[error("{0}; `tls` in [server] names the files")]
    Tls(String),
    /// The operator's address cannot be had.
    #[error(
        "cannot listen for the operator on {address}: {reason}; \
         choose another with `operator_listen` in [server]"
    )]
    Operator {
        /// The address.
        address: SocketAddr,
        /// What the system says.
        reason: std::io::Error,
    },
    /// Everybody could ask.
    #[error("{0}")]
    Open(String),
}

/// A gateway that listens, and what it found on its way there.
pub struct Gateway {
    server: Server,
    operator: Operator,
    watch: Option<Watch>,
    loader: Loader,
    /// What can be asked without a file; looked for only then.
    pub found: Option<Detected>,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    state: Arc<State>,
}

impl Gateway {
    /// Reads the configuration, makes the providers and takes the address.
    pub async fn start(
        options: &Options,
        environment: BTreeMap<String, String>,
    ) -> Result<Self, StartError> {
        Self::start_with(options, environment, Limits::default()).await
    }

    /// The same with other limits.
    pub async fn start_with(
        options: &Options,
        environment: BTreeMap<String, String>,
        limits: Limits,
    ) -> Result<Self, StartError> {
        let loader = Loader {
            transport: Transport::new(transport::TransportConfig::default()),
            environment,
            listen: options.listen,
        };
        let file = config::find(options.config.as_deref(), &loader.environment);
        let (watch, config) = match &file {
            Some(path) => {
                let (config, watch) = Watch::open(path, loader.environment.clone());
                let config = config?;
                config::warn_if_exposed(path, &config);
                (Some(watch), config)
            }
            None => (None, Config::empty()),
        };
        let state = loader.state(&loader.overridden(config), None)?;
        if let Some(reason) = config::refuse_open(state.server.listen, !state.keys.is_empty()) {
            return Err(StartError::Open(reason));
        }
        let found = match &file {
            Some(_) => None,
            None => Some(config::autodetect(&state.registry, &loader.environment).await),
        };
        let address = state.server.listen;
        let bound = Server::bind_with(Arc::clone(&state), limits).await;
        let server = bound.map_err(|reason| match reason.kind() {
            std::io::ErrorKind::InvalidInput => StartError::Tls(reason.to_string()),
            _ => StartError::Listen { address, reason },
        })?;
        let address = operator_address(&state.server);
        let bound = Operator::bind(address, server.context(), server.tls()).await;
        let operator = bound.map_err(|reason| StartError::Operator { address, reason })?;
        #[cfg(feature = "otel")]
        if let Some(telemetry) = Telemetry::start(&loader.environment, &loader.transport) {
            // The context is new, so nobody has set it before.
            let _ = server.context().telemetry.set(telemetry);
        }
        Ok(Self {
            server,
            operator,
            watch,
            loader,
            found,
            file,
            state,
        })
    }

    /// Where it listens.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.server.address()
    }

    /// Where the operator looks.
    pub fn operator_address(&self) -> std::io::Result<SocketAddr> {
        self.operator.address()
    }

    /// `https` with a certificate, else `http`; on both listeners.
    pub fn scheme(&self) -> &'static str {
        match self.server.tls() {
            Some(_) => "https",
            None => "http",
        }
    }

    /// Whether clients need a key.
    pub fn has_keys(&self) -> bool {
        !self.state.keys.is_empty()
    }

    /// The threads that work on large bodies, once there are any: their memory is
    /// theirs to give back.
    pub fn heavy_threads(&self) -> impl Fn() -> Option<Runtime> + Send + 'static {
        let context = self.server.context();
        move || context.lane.threads()
    }

    /// Everything that can be asked for by name. Providers are asked for their
    /// lists, so a gateway should be running meanwhile.
    pub fn models(&self) -> impl Future<Output = Vec<String>> + Send + 'static {
        let state = Arc::clone(&self.state);
        async move { state.names().await }
    }

    /// Serves until `stop`; a file that changes is put to work meanwhile.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        #[cfg(feature = "otel")]
        let context = self.server.context();
        let server = &self.state.server;
        let at_startup = AtStartup {
            listen: server.listen,
            operator_listen: server.operator_listen,
            bound: [
                self.server.address().unwrap_or(server.listen),
                self.operator.address().unwrap_or(server.operator_listen),
            ],
            tls: server.tls.is_some(),
        };
        let reload = Reload::new(
            self.loader,
            self.server.handle(),
            at_startup,
            self.server.tls(),
        );
        let serving = self.server.run(stop);
        let watching = async {
            match self.watch {
                Some(watch) => reload.run(watch).await,
                None => std::future::pending().await,
            }
        };
        let mut operator = match OperatorThread::start(self.operator) {
            Ok(operator) => operator,
            Err(error) => {
                tracing::error!(reason = %error, "no thread for the operator's listener");
                return;
            }
        };
        // The operator sees how the last requests end.
        tokio::select! {
            () = serving => {}
            () = watching => {}
            () = operator.ended() => {}
        }
        operator.stop().await;
        #[cfg(feature = "otel")]
        if let Some(telemetry) = context.telemetry.get() {
            telemetry.stop().await;
        }
    }
}

/// Clients on any free port leave the operator's to chance, too, unless it is named.
fn operator_address(server: &config::Server) -> SocketAddr {
    let mut address = server.operator_listen;
    if server.listen.port() == 0 && address == config::Server::default().operator_listen {
        address.set_port(0);
    }
    address
}
