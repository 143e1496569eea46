//! Runs a gateway: from a file or from nothing, until it is told to stop.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;

use majordomo::transport::{self, Transport};

use crate::config::{self, Config, Found, Problems, Watch};
use crate::operator::Operator;
#[cfg(feature = "otel")]
use crate::telemetry::Telemetry;
use crate::{Handle, Limits, Server, State};

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
    pub found: Option<Found>,
    /// The file, if there is one.
    pub file: Option<PathBuf>,
    state: Arc<State>,
}

/// Makes a state of a configuration, the same way each time.
#[derive(Clone)]
struct Loader {
    environment: BTreeMap<String, String>,
    transport: Transport,
    listen: Option<SocketAddr>,
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
            transport: Transport::new(transport::Config::default()),
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
        let state = loader.state(&config, None)?;
        if let Some(reason) = config::refuse_open(state.server.listen, !state.keys.is_empty()) {
            return Err(StartError::Open(reason));
        }
        let found = match &file {
            Some(_) => None,
            None => Some(config::look_around(&state.registry, &loader.environment).await),
        };
        let address = state.server.listen;
        let bound = Server::bind_with(Arc::clone(&state), limits).await;
        let server = bound.map_err(|reason| match reason.kind() {
            std::io::ErrorKind::InvalidInput => StartError::Tls(reason.to_string()),
            _ => StartError::Listen { address, reason },
        })?;
        let address = operator_address(&state.server);
        let bound = Operator::bind(address, server.house()).await;
        let operator = bound.map_err(|reason| StartError::Operator { address, reason })?;
        #[cfg(feature = "otel")]
        if let Some(telemetry) = Telemetry::start(&loader.environment, &loader.transport) {
            // The house is new, so nobody has set it before.
            let _ = server.house().telemetry.set(telemetry);
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

    /// Whether clients need a key.
    pub fn has_keys(&self) -> bool {
        !self.state.keys.is_empty()
    }

    /// Everything that can be asked for by name. Providers are asked for their
    /// lists, so a gateway should be running meanwhile.
    pub fn models(&self) -> impl Future<Output = Vec<String>> + Send + 'static {
        let state = Arc::clone(&self.state);
        async move { state.names().await }
    }

    /// Serves until `stop`; a file that changes is put to work meanwhile.
    pub async fn run(self, stop: impl Future<Output = ()>) {
        let handle = self.server.handle();
        #[cfg(feature = "otel")]
        let house = self.server.house();
        let server = &self.state.server;
        let held = [
            self.server.address().unwrap_or(server.listen),
            self.operator.address().unwrap_or(server.operator_listen),
        ];
        let serving = self.server.run(stop);
        let watching = async {
            match self.watch {
                Some(watch) => reload(watch, self.loader, handle, held).await,
                None => std::future::pending().await,
            }
        };
        // The operator sees how the last requests end.
        tokio::select! {
            () = serving => {}
            () = watching => {}
            () = self.operator.run() => {}
        }
        #[cfg(feature = "otel")]
        if let Some(telemetry) = house.telemetry.get() {
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

impl Loader {
    fn state(&self, config: &Config, earlier: Option<&State>) -> Result<Arc<State>, Problems> {
        let mut config = config.clone();
        if let Some(listen) = self.listen {
            config.server.listen = listen;
        }
        let state = State::new(&config, &self.environment, &self.transport, earlier)?;
        Ok(Arc::new(state))
    }
}

/// Puts each new version of the file to work, or says what is wrong with it.
async fn reload(mut watch: Watch, loader: Loader, handle: Handle, held: [SocketAddr; 2]) {
    loop {
        let changed = watch.next().await;
        let earlier = handle.state();
        let read = changed.and_then(|config| loader.state(&config, Some(&earlier)));
        let read = read.map_err(|problems| format!("\n{problems}"));
        match read.and_then(|state| swap(&handle, held, state)) {
            Ok(()) => tracing::info!("the configuration was read anew"),
            Err(reason) => {
                tracing::error!("the old configuration stays: {reason}");
                handle.stays(reason);
            }
        }
    }
}

/// Puts a state to work, unless it would open an address that we hold: a file
/// without keys may name others, but those are only taken at the next start.
fn swap(handle: &Handle, held: [SocketAddr; 2], state: Arc<State>) -> Result<(), String> {
    let has_keys = !state.keys.is_empty();
    let mut open = held
        .iter()
        .filter_map(|at| config::refuse_open(*at, has_keys));
    if let Some(reason) = open.next() {
        return Err(reason);
    }
    handle.swap(state);
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn state(loader: &Loader, text: &str) -> Arc<State> {
        let config = Config::parse("m.toml", text, &loader.environment);
        let config = config.expect("the file is fine");
        loader.state(&config, None).expect("the state is fine")
    }

    #[tokio::test]
    async fn a_reload_without_keys_does_not_open_an_address_that_others_reach() {
        let loader = Loader {
            environment: BTreeMap::new(),
            transport: Transport::new(transport::Config::default()),
            listen: Some(SocketAddr::from(([127, 0, 0, 1], 0))),
        };
        let keyed = state(
            &loader,
            "[[keys]]\nname = \"a\"\nkey = \"sk-canary-client\"\n",
        );
        let server = Server::bind(keyed).await.expect("a free port");
        let handle = server.handle();
        let public = SocketAddr::from(([192, 0, 2, 1], 4100));

        let loopback = server.address().expect("an address");

        for held in [[public, loopback], [loopback, public]] {
            let refused = swap(&handle, held, state(&loader, ""));
            assert!(refused.is_err_and(|reason| reason.contains("no key is configured")));
            assert!(!handle.state().keys.is_empty());
        }

        swap(&handle, [loopback; 2], state(&loader, "")).expect("loopback needs no key");
        assert!(handle.state().keys.is_empty());
    }
}
