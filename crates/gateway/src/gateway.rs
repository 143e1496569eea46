//! Starts and runs a gateway, with or without a configuration file.

mod builder;
mod options;
mod stores;

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::Duration;

use majordomo::transport::{self, Transport};
use tokio::runtime::Handle as Runtime;
use tokio::time::{Instant, timeout};

use crate::cluster::Cluster;
use crate::config::transition::AtStartup;
use crate::config::{self, Config, ConfigWatch, Detected, Diagnostics};
use crate::operator::{Operator, OperatorThread};
use crate::quota::Webhook;
use crate::reload::{Reloader, StateLoader};
use crate::server::{ServerContext, certificate_host, local};
use crate::stored_keys::AccessWorker;
use crate::{GatewayState, Limits, RequestSink, Server};
pub use builder::GatewayBuilder;
pub use options::ServeOptions;
use stores::{add_ledger, await_budgets, keep_budgets, start_access};

/// How long startup waits for stores that do not respond.
const STORES: Duration = Duration::from_secs(2);
/// How long a stopping gateway tries to return its leases to the cluster.
const LEAVE: Duration = Duration::from_millis(100);

/// Why a gateway cannot start.
#[derive(Debug, thiserror::Error)]
pub enum StartError {
    /// The configuration is invalid.
    #[error("{0}")]
    Config(#[from] Diagnostics),
    /// The clients' address cannot be bound.
    #[error("cannot listen on {address}: {reason}; choose another with --listen")]
    Listen {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        reason: std::io::Error,
    },
    /// The certificate or its key is unusable.
    #[error("{0}; `tls` in [server] names the files")]
    Tls(String),
    /// The operator's address cannot be bound.
    #[error(
        "cannot listen for the operator on {address}: {reason}; \
         choose another with --operator-listen or `operator_listen` in [server]"
    )]
    Operator {
        /// The address.
        address: SocketAddr,
        /// The system's error.
        reason: std::io::Error,
    },
    /// The address is exposed without keys.
    #[error("{0}")]
    Open(String),
}

/// A gateway that is listening.
pub struct Gateway {
    /// The worker that owns the store of keys, if there is one.
    access: Option<AccessWorker>,
    server: Server,
    operator: Operator,
    watch: Option<ConfigWatch>,
    loader: StateLoader,
    /// Detected providers; only without a file.
    pub found: Option<Detected>,
    /// The configuration file, if any.
    pub file: Option<PathBuf>,
    state: Arc<GatewayState>,
}

impl Gateway {
    /// Loads the configuration, builds the providers and binds both listeners.
    pub async fn start(
        options: &ServeOptions,
        environment: BTreeMap<String, String>,
    ) -> Result<Self, StartError> {
        Self::start_with(options, environment, Limits::default()).await
    }

    /// Builds a gateway with more than options, for example with your own processors.
    pub fn builder() -> GatewayBuilder {
        GatewayBuilder::default()
    }

    /// Like [`start`](Self::start), with other limits.
    pub async fn start_with(
        options: &ServeOptions,
        environment: BTreeMap<String, String>,
        limits: Limits,
    ) -> Result<Self, StartError> {
        let builder = Self::builder().options(options.clone());
        builder
            .environment(environment)
            .limits(limits)
            .start()
            .await
    }

    async fn build(builder: GatewayBuilder) -> Result<Self, StartError> {
        let GatewayBuilder {
            options,
            environment,
            limits,
            processors,
        } = builder;
        let mut loader = StateLoader {
            transport: Transport::new(transport::TransportConfig::default()),
            environment,
            processors,
            listen: options.listen,
            operator_listen: options.operator_listen,
            cluster: None,
        };
        let file = config::find_config(options.config.as_deref(), &loader.environment);
        let (watch, config) = match &file {
            Some(path) => {
                let (config, watch) = ConfigWatch::open(path, loader.environment.clone());
                let config = config?;
                config::warn_if_exposed(path, &config);
                (Some(watch), config)
            }
            None => (None, Config::empty()),
        };
        let config = loader.with_overrides(config);
        loader.cluster = Cluster::new(&config, &loader.environment);
        let state = loader.state(&config, None)?;
        state.log_warnings();
        if let Some(reason) =
            config::exposed_without_keys(state.server.listen, !state.keys.is_keyless())
        {
            return Err(StartError::Open(reason));
        }
        if let Some(reason) = config::operator_exposed_without_role(
            state.server.operator_listen,
            state.config().has_operator_key(),
        ) {
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
        server.context().set_cluster(loader.cluster.clone());
        add_telemetry_sinks(&server, &loader);
        add_ledger(&server, &loader, &state);
        keep_budgets(&server, &loader, &state);
        let until = Instant::now() + STORES;
        let access = start_access(&server, &loader, &state).await;
        await_budgets(&server.context(), until).await;
        Ok(Self {
            access,
            server,
            operator,
            watch,
            loader,
            found,
            file,
            state,
        })
    }

    /// The clients' address.
    pub fn address(&self) -> std::io::Result<SocketAddr> {
        self.server.address()
    }

    /// The operator's address.
    pub fn operator_address(&self) -> std::io::Result<SocketAddr> {
        self.operator.address()
    }

    /// Hands the record of every request to a sink, from the next request on.
    pub fn add_sink(&self, sink: Arc<dyn RequestSink>) {
        self.server.add_sink(sink);
    }

    /// The scheme of both listeners: `https` with a certificate, else `http`.
    pub fn scheme(&self) -> &'static str {
        match self.server.tls() {
            Some(_) => "https",
            None => "http",
        }
    }

    /// The page's address on this machine, if the page is served.
    pub fn page_url(&self) -> std::io::Result<Option<String>> {
        if !self.state.config().page.enabled {
            return Ok(None);
        }
        let address = local(self.operator_address()?);
        Ok(Some(format!("{}://{address}/", self.scheme())))
    }

    /// The arguments with which curl on this machine reaches the gateway: the base URL,
    /// preceded by the options that make curl accept the certificate.
    pub fn curl_base(&self) -> std::io::Result<String> {
        let address = local(self.address()?);
        let Some(files) = &self.state.server.tls else {
            return Ok(format!("http://{address}"));
        };
        let cacert = format!(
            "--cacert {}",
            shell_quoted(&files.cert.display().to_string())
        );
        let (ip, port) = (address.ip(), address.port());
        Ok(match certificate_host(&files.cert, address) {
            None => format!("{cacert} https://{address}"),
            Some(host) if host == "localhost" || address.to_string().starts_with(&*host) => {
                format!("{cacert} https://{host}:{port}")
            }
            Some(host) => {
                // Without keys, only names of this machine are served.
                let local = match self.has_keys() {
                    true => "",
                    false => "-H 'host: localhost' ",
                };
                format!("{cacert} {local}--resolve {host}:{port}:{ip} https://{host}:{port}")
            }
        })
    }

    /// Whether clients need a key.
    pub fn has_keys(&self) -> bool {
        !self.server.context().keys().is_keyless()
    }

    /// The runtime of the heavy lane, once started: each of its threads must release its
    /// own memory.
    pub fn heavy_threads(&self) -> impl Fn() -> Option<Runtime> + Send + 'static {
        let context = self.server.context();
        move || context.lane.threads()
    }

    /// The names of all models. Providers are queried for their lists, so the gateway
    /// should already be running.
    pub fn models(&self) -> impl Future<Output = Vec<String>> + Send + 'static {
        let state = Arc::clone(&self.state);
        async move { state.names().await }
    }

    /// Serves until `stop` resolves, and reloads the configuration when it changes.
    pub async fn run(self, stop: impl Future<Output = ()>) {
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
            ledger: self.state.config().ledger.clone(),
            log: self.state.config().log.clone(),
            cluster: self.state.config().cluster.clone(),
        };
        let _ = context.at_startup.set(at_startup.clone());
        let quotas = context.quotas();
        let webhook = {
            let state = Arc::clone(&context.state);
            let alerts = move || state.load().config().limits.alerts.clone();
            Webhook::new(self.loader.transport.clone(), alerts)
        };
        let reload = Reloader::new(
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
                tracing::error!(reason = %error, "cannot start the thread of the operator's listener");
                return;
            }
        };
        let mut part = std::pin::pin!(take_part(&context));
        // The operator can observe the last requests.
        tokio::select! {
            () = serving => {}
            () = watching => {}
            () = operator.ended() => {}
            () = quotas.run(&webhook) => {}
            () = &mut part => {}
        }
        if let Some(cluster) = context.cluster() {
            quotas.release();
            // The other gateways need not wait until this one's leases expire.
            let _ = timeout(LEAVE, &mut part).await;
            cluster.leave().await;
        }
        operator.stop().await;
        quotas.stop().await;
        context.sinks().stop().await;
        let access = self.access;
        // Ends its thread.
        let _ = tokio::task::spawn_blocking(move || drop(access)).await;
    }
}

/// Joins the cluster, if there is one.
async fn take_part(context: &Arc<ServerContext>) {
    let Some(cluster) = context.cluster() else {
        return std::future::pending().await;
    };
    let hearing = Arc::clone(context);
    cluster.run(Box::new(move |news| hearing.hear(&news))).await;
}

/// Exports spans and metrics, if the environment names a collector. The only place that
/// depends on the feature.
#[cfg_attr(not(feature = "otel"), expect(unused_variables))]
fn add_telemetry_sinks(server: &Server, loader: &StateLoader) {
    #[cfg(feature = "otel")]
    {
        use crate::operator::current_metrics;
        use crate::telemetry::{MetricExport, Spans};

        let context = server.context();
        let registry = || {
            let state = Arc::clone(&context.state);
            move || state.load().registry.clone()
        };
        let StateLoader {
            environment,
            transport,
            ..
        } = loader;
        if let Some(spans) = Spans::start(environment, transport, registry()) {
            context.add_sink(Arc::new(spans));
        }
        // The context owns its sinks.
        let weak = Arc::downgrade(&context);
        let snapshot = move || weak.upgrade().map(|context| current_metrics(&context));
        let metrics = Arc::clone(&context.metrics);
        let export = MetricExport::start(environment, transport, metrics, registry(), snapshot);
        if let Some(export) = export {
            context.add_sink(Arc::new(export));
        }
    }
}

/// A word of a shell command.
fn shell_quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/._-+=:@".contains(c);
    match !word.is_empty() && word.chars().all(plain) {
        true => word.to_owned(),
        false => format!("'{}'", word.replace('\'', r"'\''")),
    }
}

/// If clients use any free port, so does the operator, unless configured.
fn operator_address(server: &config::ServerSettings) -> SocketAddr {
    let mut address = server.operator_listen;
    if server.listen.port() == 0 && address == config::ServerSettings::default().operator_listen {
        address.set_port(0);
    }
    address
}
