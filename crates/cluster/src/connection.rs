//! Connections to the store, with our sockets and TLS and the driver's protocol.

use std::time::Duration;

use redis::aio::{MultiplexedConnection, PubSub};
use redis::{AsyncConnectionConfig, RedisConnectionInfo};
use secrecy::ExposeSecret;
use tokio::net::TcpStream;
use tokio::task::JoinHandle;

use crate::address::StateUrl;
use crate::call::{CallFailed, within};
use crate::tls::encrypt;

/// How long a new connection may take, including login.
const CONNECT: Duration = Duration::from_secs(1);

/// A connection for commands. Dropping it ends its task.
pub(crate) struct Connection {
    pub(crate) commands: MultiplexedConnection,
    driver: JoinHandle<()>,
}

impl Drop for Connection {
    fn drop(&mut self) {
        self.driver.abort();
    }
}

impl Connection {
    pub(crate) async fn open(url: &StateUrl) -> Result<Self, CallFailed> {
        within(CONNECT, async {
            let info = login(url);
            let tcp = socket(url).await?;
            let (commands, driver) = if url.tls {
                let stream = encrypt(tcp, &url.host, url.root.as_deref()).await?;
                let (commands, driver) =
                    MultiplexedConnection::new_with_config(&info, stream, config()).await?;
                (commands, tokio::spawn(driver))
            } else {
                let (commands, driver) =
                    MultiplexedConnection::new_with_config(&info, tcp, config()).await?;
                (commands, tokio::spawn(driver))
            };
            Ok::<_, CallFailed>(Self { commands, driver })
        })
        .await
    }
}

/// A connection that only receives messages.
pub(crate) async fn open_listener(url: &StateUrl) -> Result<PubSub, CallFailed> {
    within(CONNECT, async {
        let info = login(url);
        let tcp = socket(url).await?;
        Ok::<_, CallFailed>(if url.tls {
            let stream = encrypt(tcp, &url.host, url.root.as_deref()).await?;
            PubSub::new(&info, stream).await?
        } else {
            PubSub::new(&info, tcp).await?
        })
    })
    .await
}

/// The driver's own timeout is longer than any of our deadlines.
fn config() -> AsyncConnectionConfig {
    AsyncConnectionConfig::new().set_response_timeout(Some(CONNECT))
}

async fn socket(url: &StateUrl) -> Result<TcpStream, CallFailed> {
    let tcp = TcpStream::connect((url.host.as_str(), url.port)).await?;
    tcp.set_nodelay(true)?;
    Ok(tcp)
}

fn login(url: &StateUrl) -> RedisConnectionInfo {
    let mut info = RedisConnectionInfo::default().set_db(url.database);
    if let Some(user) = &url.user {
        info = info.set_username(user);
    }
    if let Some(password) = &url.password {
        info = info.set_password(password.expose_secret());
    }
    info
}
