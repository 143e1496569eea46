//! What clients do wrong, on raw sockets, and what must become of it. The names
//! of the cases are those of the fault catalogue: C for clients, F for files of
//! configuration, M for pictures, P for the process, S for security.
//!
//! Cases that are elsewhere, or that the product decides in another way:
//!
//! | case | where, or why not |
//! |---|---|
//! | C-19, lone surrogates | served: JavaScript cuts texts inside a character, and one such half must not end a conversation |
//! | C-23, during an upload | ends as `failed` with 400, not as `client_gone`: what came was no request |
//! | C-25 | the options of the socket are tested where they are set (`server/connection.rs`); no test unplugs a network |
//! | C-26, S-06 | beyond 120 wrong keys an address gets 429 for wrong keys, and only for those |
//! | C-28, `n` | more than one answer is the target's to refuse |
//! | F-02, F-04 | `tests/serve/reload.rs`, `tests/reload.rs` |
//! | F-06, F-08 | `crates/cli/tests/process/starting.rs`; `tests/mistakes` has a file for each mistake |
//! | F-07, mode of the file | not looked at: a file may hold no secret at all; `SECURITY.md` says who should have it |
//! | F-09, F-10 | `src/rules/tests`, `src/rules/processors/tests.rs` |
//! | F-11 | no fuzz target of its own: every mistake of `tests/mistakes` is told without a panic |
//! | L-02 to L-04, L-06 | `crates/cli/tests/process/load.rs` |
//! | M-26 | 400, not 422: the product says so where no target can take a request |
//! | P-03, P-11, P-12, P-14, P-16 | `crates/cli/tests/process` |
//! | P-10 | `crates/majordomo`: health and timers take the time from a clock that tests turn |
//! | P-13 | `src/server/answer.rs` and `src/server/held.rs`, since only there a panic can be made |
//! | S-05 | `examples/key_timing.rs`, by hand: a busy machine has no timing to test |
//! | S-07 | there is no key of the operator's own; off loopback any configured key opens the pages |
//! | S-09, S-29 | `crates/cli/tests/process/starting.rs` |
//! | S-21 to S-31 | `tests/fetch.rs`, `src/fetch/address.rs` |
//! | S-51 | beside S-50: a look changes nothing, and nothing else is allowed |

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
