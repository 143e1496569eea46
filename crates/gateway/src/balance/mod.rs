//! Orders the services of a pool: tactics, statistics, affinity.
