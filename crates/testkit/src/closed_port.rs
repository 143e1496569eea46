//! An address that refuses every connection, for as long as it is held.

use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};

/// A port that is bound and never listened on: connections to it are refused,
/// and nobody else can be given it meanwhile.
#[derive(Debug)]
pub struct ClosedPort {
    address: SocketAddr,
    _held: Socket,
}

impl ClosedPort {
    /// Takes a free port of 127.0.0.1.
    pub fn hold() -> Self {
        let any: SocketAddr = ([127, 0, 0, 1], 0).into();
        let socket = Socket::new(Domain::IPV4, Type::STREAM, None).expect("a socket can be made");
        socket.bind(&any.into()).expect("loopback can be bound");
        let address = socket.local_addr().expect("a bound socket has an address");
        Self {
            address: address.as_socket().expect("an internet address"),
            _held: socket,
        }
    }

    /// Where connections are refused.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
