//! The lane alone, and the server's polls while large bodies are served.

mod bodies;
mod lane;
mod polls;
mod upstream;
