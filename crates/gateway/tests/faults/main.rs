//! What clients do wrong, on raw sockets, and what must become of it. The names
//! of the cases are those of the fault catalogue: C for clients, P for the process.

mod asker;
mod bodies;
mod budgets;
mod connections;
mod drain;
mod framing;
mod headers;
mod heads;
mod http2;
mod http2_floods;
mod images;
mod keys;
mod leaving;
mod operator;
mod reload;
mod secrets;
mod stage;
mod tls;
