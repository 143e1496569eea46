//! An address that refuses every connection.

use std::net::SocketAddr;

use socket2::{Domain, Socket, Type};

/// A port that is bound but never listened on: connections to it are refused, and no other
/// process can get the port.
#[derive(Debug)]
pub struct ClosedPort {
    address: SocketAddr,
    _held: Socket,
}

impl ClosedPort {
    /// Binds a free port of 127.0.0.1.
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

    /// The address that refuses connections.
    pub fn address(&self) -> SocketAddr {
        self.address
    }
}
