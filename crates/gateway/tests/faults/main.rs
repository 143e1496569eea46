//! What clients do wrong, on raw sockets, and what must become of it. The names
//! of the cases are those of the fault catalogue: C for clients, F for files of
//! configuration, M for pictures, P for the process, S for security.
//!
//! Cases that are elsewhere, or that the product decides in another way:
//!
//! | case | where, or why not |
//! |---|---|
//! | C-09, memory | `c09_a_body_takes_at_most_twice_its_size_while_it_is_judged` in `crates/cli/tests/process/bodies.rs` |
//! | C-19, lone surrogates | served: JavaScript cuts texts inside a character, and one such half must not end a conversation |
//! | C-23, during an upload | ends as `failed` with 400, not as `client_gone`: what came was no request |
//! | C-25 | `tests/vanished`, which `./test` runs, pulls a cable; `keepalive_and_user_timeout_are_set_on_accepted_sockets` in `src/server/connection.rs` looks at the options alone |
//! | C-26, S-06 | beyond 120 wrong keys an address gets 429 for wrong keys, and only for those |
//! | C-28, `n` | more than one answer is the target's to refuse |
//! | F-02, F-04 | `tests/serve/reload.rs`, `tests/reload.rs` |
//! | F-06, F-08 | `crates/cli/tests/process/starting.rs`; `tests/mistakes` has a file for each mistake |
//! | F-07, mode of the file | `f07_a_file_with_keys_in_it_that_others_can_read_is_warned_of_once` in `crates/cli/tests/process/starting.rs` |
//! | F-09 | `patterns_that_make_backtracking_matchers_explode_run_in_linear_time` and `patterns_that_need_too_much_memory_are_rejected_at_load` in `crates/rules/src/text_match.rs` |
//! | F-10, at load | `every_circle_is_told_once_from_its_first_alias` in `src/config/circles.rs`; `describer_of_itself` and `alias_circle` in `tests/mistakes` |
//! | F-10, at run time | `describers_that_name_each_other_are_not_called_in_a_cycle` in `tests/serve/routes.rs`; `a_bypassed_rule_is_not_applied_again` in `crates/rules/src/processors/tests.rs` |
//! | F-11 | `a_damaged_file_is_either_accepted_or_rejected_with_a_diagnostic` and others in `tests/mutations.rs`; `fuzz/fuzz_targets/config.rs` |
//! | L-02 to L-04, L-06 | `l02_…` to `l06_…` in `crates/cli/tests/process/load.rs` |
//! | M-26 | 400, not 422: the product says so where no target can take a request |
//! | P-03, P-11, P-12, P-14, P-16 | `crates/cli/tests/process` |
//! | P-10 | `p10_a_wall_clock_that_jumps_lengthens_no_bench_and_ends_none` in `crates/majordomo/tests/upstream_faults/statuses.rs`; `a_trace_is_serialized_for_any_wall_clock_time` in `src/traces/record.rs`; `no_wall_clock_time_is_out_of_range_for_a_window` in `crates/rules/src/positions/time.rs` |
//! | P-13 | `src/server/answer.rs` and `src/server/held.rs`, since only there a panic can be made |
//! | S-05 | `examples/key_timing.rs`, by hand: a busy machine has no timing to test |
//! | S-07 | `operator.rs`: off loopback a key's role decides |
//! | S-52, clients' listener | `cors.rs` |
//! | S-09, S-29 | `crates/cli/tests/process/starting.rs` |
//! | S-21 to S-31 | `tests/fetch.rs`, `src/fetch/address.rs` |
//! | S-51 | beside S-50: a look changes nothing, and nothing else is allowed |

mod asker;
mod attribution;
mod bodies;
mod browsers;
mod budgets;
mod connections;
mod cors;
mod drain;
mod framing;
mod headers;
mod heads;
mod http2;
mod http2_floods;
mod images;
mod keys;
mod leaving;
mod names;
mod operator;
mod reload;
mod secrets;
mod stage;
mod tls;
