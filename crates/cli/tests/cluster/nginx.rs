//! nginx as the load balancer: round robin, and its own defaults of what is sent again.

use std::net::{SocketAddr, TcpListener};
use std::process::{Child, Command, Stdio};

use majordomo_testkit::started;
use tokio::net::TcpStream;

use crate::world::until;

pub(crate) struct Nginx {
    /// A connection per request to a gateway.
    pub(crate) plain: SocketAddr,
    /// Connections to gateways are kept.
    pub(crate) keeping: SocketAddr,
    child: Child,
    _folder: tempfile::TempDir,
}

impl Drop for Nginx {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Nginx {
    /// Starts the server that `tests/cluster/run` names.
    pub(crate) async fn start(servers: &[SocketAddr]) -> Option<Self> {
        let program = started("MAJORDOMO_NGINX")?;
        let free = [(); 2].map(|()| TcpListener::bind(("127.0.0.1", 0)).expect("loopback"));
        let [plain, keeping] = free
            .each_ref()
            .map(|free| free.local_addr().expect("an address"));
        drop(free);
        let folder = tempfile::tempdir().expect("a folder");
        let servers: String = servers
            .iter()
            .map(|server| format!("server {server} max_fails=1 fail_timeout=1s; "))
            .collect();
        let temporary: String = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
            .map(|kind| format!("{kind}_temp_path {kind}; "))
            .concat();
        let conf = format!(
            "daemon off; master_process off; pid nginx.pid; error_log error.log;\n\
             events {{ worker_connections 256; }}\n\
             http {{ access_log off; {temporary}\n\
             upstream plain {{ {servers} }}\n\
             upstream keeping {{ {servers} keepalive 16; }}\n\
             server {{ listen {plain}; location / {{ proxy_pass http://plain; }} }}\n\
             server {{ listen {keeping}; location / {{ proxy_pass http://keeping; \
             proxy_http_version 1.1; proxy_set_header Connection \"\"; }} }} }}\n"
        );
        let file = folder.path().join("nginx.conf");
        std::fs::write(&file, conf).expect("its file");
        let child = Command::new(program)
            .arg("-p")
            .arg(folder.path())
            .arg("-c")
            .arg(&file)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .stderr(Stdio::null())
            .spawn()
            .expect("nginx starts");
        for address in [plain, keeping] {
            until("nginx listens", async || {
                TcpStream::connect(address).await.is_ok()
            })
            .await;
        }
        Some(Self {
            plain,
            keeping,
            child,
            _folder: folder,
        })
    }
}
