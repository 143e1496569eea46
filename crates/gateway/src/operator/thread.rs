//! Runs the operator listener on a dedicated thread, independent of the main runtime's
//! load.
//!
//! A current-thread runtime with its own drivers. Calls to providers on the operator's
//! behalf run on the heavy lane, in the main runtime's context, since pooled
//! connections outlive this thread.

use std::io;

use tokio::runtime::Builder;
use tokio::sync::oneshot;

use super::Operator;

/// A running listener; stops when dropped.
pub(crate) struct OperatorThread {
    /// Dropping it stops the thread.
    stop: Option<oneshot::Sender<()>>,
    /// None once the thread has ended.
    ended: Option<oneshot::Receiver<()>>,
}

impl OperatorThread {
    pub(crate) fn start(operator: Operator) -> io::Result<Self> {
        let (stop, stopped) = oneshot::channel::<()>();
        let (ending, ended) = oneshot::channel::<()>();
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let serve = move || {
            runtime.block_on(async {
                tokio::select! {
                    () = operator.run() => {}
                    _ = stopped => {}
                }
            });
            // Open connections end with their runtime.
            drop(runtime);
            drop(ending);
        };
        let thread = std::thread::Builder::new().name("operator".to_owned());
        thread.spawn(serve)?;
        Ok(Self {
            stop: Some(stop),
            ended: Some(ended),
        })
    }

    /// Completes when the listener ends.
    pub(crate) async fn ended(&mut self) {
        if let Some(ended) = &mut self.ended {
            let _ = ended.await;
            self.ended = None;
        }
    }

    /// Stops the listener and waits until its address is free.
    pub(crate) async fn stop(mut self) {
        self.stop = None;
        self.ended().await;
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;
    use std::io::{Read, Write};
    use std::net::{SocketAddr, TcpListener, TcpStream};
    use std::sync::{Arc, Mutex, mpsc};
    use std::time::Duration;

    use crate::{Gateway, ServeOptions};

    const SOON: Duration = Duration::from_secs(20);

    async fn gateway() -> Gateway {
        let file = tempfile::NamedTempFile::new().unwrap();
        let text = "[server]\nlisten = \"127.0.0.1:0\"\n[providers.demo]\nkind = \"demo\"\n";
        std::fs::write(file.path(), text).unwrap();
        let options = ServeOptions {
            config: Some(file.path().to_owned()),
            listen: None,
            operator_listen: None,
        };
        Gateway::start(&options, BTreeMap::new()).await.unwrap()
    }

    fn get(address: SocketAddr, path: &str) -> String {
        let mut stream = TcpStream::connect(address).unwrap();
        stream.set_read_timeout(Some(SOON)).unwrap();
        let head = format!("GET {path} HTTP/1.1\r\nhost: {address}\r\nconnection: close\r\n\r\n");
        stream.write_all(head.as_bytes()).unwrap();
        let mut response = String::new();
        stream.read_to_string(&mut response).unwrap();
        response
    }

    #[test]
    fn the_operator_listener_responds_while_the_main_runtime_is_blocked() {
        let mut builder = tokio::runtime::Builder::new_multi_thread();
        let main = builder.worker_threads(1).enable_all().build().unwrap();
        let gateway = main.block_on(gateway());
        let address = gateway.operator_address().unwrap();
        let (begin, begun) = mpsc::channel();
        let (release, released) = mpsc::channel::<()>();
        let running = main.spawn(gateway.run(std::future::pending()));
        // Starts the thread before the only worker is blocked.
        get(address, "/healthz");
        let released = Arc::new(Mutex::new(released));
        main.spawn(async move {
            begin.send(()).unwrap();
            let _ = released.lock().unwrap().recv_timeout(SOON);
        });
        begun.recv_timeout(SOON).unwrap();
        for path in ["/healthz", "/readyz", "/metrics", "/api/health"] {
            let response = get(address, path);
            assert!(response.starts_with("HTTP/1.1 200"), "{path}: {response}");
        }
        // No request waited for the worker.
        release.send(()).unwrap();
        running.abort();
    }

    #[tokio::test(flavor = "multi_thread")]
    async fn the_operator_address_is_free_after_the_gateway_ends() {
        let gateway = gateway().await;
        let address = gateway.operator_address().unwrap();
        gateway.run(async {}).await;
        TcpListener::bind(address).unwrap();
    }
}
