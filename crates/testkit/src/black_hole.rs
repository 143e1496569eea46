//! An address whose connections are never established.

use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};

/// A listener with a full backlog that never accepts: further connection attempts get no
/// reply at all.
#[derive(Debug)]
pub struct BlackHole {
    address: SocketAddr,
    _sockets: Vec<Socket>,
}

impl BlackHole {
    /// Listens on a free port of 127.0.0.1.
    pub fn open() -> Self {
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let listener = socket();
        listener.bind(&any.into()).expect("loopback can be bound");
        listener.listen(0).expect("a bound socket can listen");
        let address = listener
            .local_addr()
            .expect("a bound socket has an address");
        let mut sockets = vec![listener];
        for _ in 0..4 {
            let filler = socket();
            filler
                .set_nonblocking(true)
                .expect("a socket takes options");
            // Connections beyond the backlog stay half-open, as intended.
            let _ = filler.connect(&address);
            sockets.push(filler);
        }
        Self {
            address: address.as_socket().expect("an internet address"),
            _sockets: sockets,
        }
    }

    /// The address that never replies.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}

fn socket() -> Socket {
    Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket can be made")
}
