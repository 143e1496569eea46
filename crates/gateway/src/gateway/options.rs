//! Options of the command line that override the configuration file.

use std::net::SocketAddr;
use std::path::PathBuf;

/// Options of `majordomo serve`.
#[derive(Clone, Debug, Default)]
#[non_exhaustive]
pub struct ServeOptions {
    /// The configuration file, instead of the default ones.
    pub config: Option<PathBuf>,
    /// Overrides `listen` of the file.
    pub listen: Option<SocketAddr>,
    /// Overrides `operator_listen` of the file.
    pub operator_listen: Option<SocketAddr>,
}

impl ServeOptions {
    /// Sets [`config`](Self::config).
    #[must_use]
    pub fn with_config(mut self, config: Option<PathBuf>) -> Self {
        self.config = config;
        self
    }

    /// Sets [`listen`](Self::listen).
    #[must_use]
    pub fn with_listen(mut self, listen: Option<SocketAddr>) -> Self {
        self.listen = listen;
        self
    }

    /// Sets [`operator_listen`](Self::operator_listen).
    #[must_use]
    pub fn with_operator_listen(mut self, operator_listen: Option<SocketAddr>) -> Self {
        self.operator_listen = operator_listen;
        self
    }
}
