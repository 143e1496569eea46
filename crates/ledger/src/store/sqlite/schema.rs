//! The tables, as steps of a schema version. A step is never changed; a new one is added.

/// `ledger.db`: everything that outlives the days.
pub(super) const MAIN: &[&str] = &[
    // 1: names, rollups, open attempts.
    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
     INSERT INTO name VALUES (0, '');
     CREATE TABLE price (id INTEGER PRIMARY KEY, rates TEXT NOT NULL);
     CREATE TABLE rollup (
         quarter INTEGER NOT NULL, key INTEGER NOT NULL, team INTEGER NOT NULL,
         model INTEGER NOT NULL, target INTEGER NOT NULL,
         requests INTEGER NOT NULL, attempts INTEGER NOT NULL, input INTEGER NOT NULL,
         cache_read INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
         cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
         images INTEGER NOT NULL, cost INTEGER NOT NULL, correction INTEGER NOT NULL,
         unpriced INTEGER NOT NULL, estimated INTEGER NOT NULL, lost INTEGER NOT NULL,
         repriced INTEGER NOT NULL,
         PRIMARY KEY (quarter, key, team, model, target)) WITHOUT ROWID;
     CREATE TABLE tag_rollup (
         quarter INTEGER NOT NULL, tag INTEGER NOT NULL,
         requests INTEGER NOT NULL, attempts INTEGER NOT NULL, input INTEGER NOT NULL,
         cache_read INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
         cache_write_1h INTEGER NOT NULL, output INTEGER NOT NULL, reasoning INTEGER NOT NULL,
         images INTEGER NOT NULL, cost INTEGER NOT NULL, correction INTEGER NOT NULL,
         unpriced INTEGER NOT NULL, estimated INTEGER NOT NULL, lost INTEGER NOT NULL,
         repriced INTEGER NOT NULL,
         PRIMARY KEY (quarter, tag)) WITHOUT ROWID;
     CREATE TABLE rolled (
         day INTEGER PRIMARY KEY, attempt INTEGER NOT NULL, correction INTEGER NOT NULL,
         dropped INTEGER NOT NULL);
     CREATE TABLE open_attempt (
         request BLOB NOT NULL, number INTEGER NOT NULL, run TEXT NOT NULL, entry TEXT NOT NULL,
         PRIMARY KEY (request, number)) WITHOUT ROWID;",
    // 2: leases of budgets.
    "CREATE TABLE budget_window (
         budget TEXT NOT NULL, window INTEGER NOT NULL, settled INTEGER NOT NULL,
         PRIMARY KEY (budget, window)) WITHOUT ROWID;
     CREATE TABLE lease (
         id INTEGER PRIMARY KEY AUTOINCREMENT, budget TEXT NOT NULL, window INTEGER NOT NULL,
         node TEXT NOT NULL, amount INTEGER NOT NULL);
     CREATE INDEX lease_by_budget ON lease (budget, window);",
    // 3: how far withdrawn rows are in the rollups.
    "ALTER TABLE rolled ADD COLUMN withdrawn INTEGER NOT NULL DEFAULT 0;",
    // 4: days have batches. Days are summed again, because their recorded positions exceed
    // those of any file.
    "ALTER TABLE rolled RENAME COLUMN attempt TO batch;
     UPDATE rolled SET batch = 9223372036854775807 WHERE dropped = 0;",
    // 5: the cost of what no provider counted. Summed anew, as in step 4.
    "ALTER TABLE rollup ADD COLUMN estimated_cost INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE rollup ADD COLUMN estimated_correction INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE tag_rollup ADD COLUMN estimated_cost INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE tag_rollup ADD COLUMN estimated_correction INTEGER NOT NULL DEFAULT 0;
     UPDATE rolled SET batch = 9223372036854775807 WHERE dropped = 0;",
];

/// A day's file: the rows themselves. It has its own names, so that they are dropped with it.
pub(super) const DAY: &[&str] = &[
    // 1
    "CREATE TABLE name (id INTEGER PRIMARY KEY, text TEXT NOT NULL UNIQUE);
     INSERT INTO name VALUES (0, '');
     CREATE TABLE price (id INTEGER PRIMARY KEY, hash INTEGER NOT NULL UNIQUE, rates TEXT NOT NULL);
     CREATE TABLE request (
         id BLOB PRIMARY KEY, key INTEGER NOT NULL, team INTEGER NOT NULL, user INTEGER NOT NULL,
         tags INTEGER NOT NULL, dialect INTEGER NOT NULL, route INTEGER NOT NULL,
         rule INTEGER NOT NULL, model INTEGER NOT NULL, outcome INTEGER NOT NULL,
         status INTEGER NOT NULL, duration_ms INTEGER NOT NULL, first_token_ms INTEGER)
         WITHOUT ROWID;
     CREATE TABLE attempt (
         seq INTEGER PRIMARY KEY, request BLOB NOT NULL, number INTEGER NOT NULL,
         kind INTEGER NOT NULL, target INTEGER NOT NULL, price INTEGER,
         input INTEGER NOT NULL, cache_read INTEGER NOT NULL, cache_write_5m INTEGER NOT NULL,
         cache_write_1h INTEGER NOT NULL, image_input INTEGER NOT NULL, output INTEGER NOT NULL,
         reasoning INTEGER NOT NULL, images INTEGER NOT NULL, cost INTEGER,
         reported_cost INTEGER, settle INTEGER NOT NULL, failure INTEGER NOT NULL,
         UNIQUE (request, number));
     CREATE TABLE correction (
         seq INTEGER PRIMARY KEY, request BLOB NOT NULL, number INTEGER NOT NULL,
         made INTEGER NOT NULL, price INTEGER NOT NULL, difference INTEGER NOT NULL,
         was_unpriced INTEGER NOT NULL, UNIQUE (request, number, made));",
    // 2: attempts that were marked as lost until their own rows arrived.
    "CREATE TABLE withdrawn (
         seq INTEGER PRIMARY KEY, request BLOB NOT NULL, number INTEGER NOT NULL,
         target INTEGER NOT NULL, key INTEGER NOT NULL, team INTEGER NOT NULL,
         model INTEGER NOT NULL, input INTEGER NOT NULL, cost INTEGER);",
    // 3: requests with their attempts, packed; `low` and `high` are the bounds of their ids.
    // The tables of the rows are converted and dropped when the file is opened.
    "CREATE TABLE batch (
         seq INTEGER PRIMARY KEY, low BLOB NOT NULL, high BLOB NOT NULL, rows BLOB NOT NULL);
     CREATE INDEX batch_ids ON batch (high, low);
     ALTER TABLE correction ADD COLUMN target INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE correction ADD COLUMN key INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE correction ADD COLUMN team INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE correction ADD COLUMN model INTEGER NOT NULL DEFAULT 0;
     ALTER TABLE correction ADD COLUMN tags INTEGER NOT NULL DEFAULT 0;
     UPDATE correction SET target = a.target, key = r.key, team = r.team, model = r.model,
            tags = r.tags
     FROM attempt a JOIN request r ON r.id = a.request
     WHERE a.request = correction.request AND a.number = correction.number;",
    // 4: whether a correction is one of an estimate.
    "ALTER TABLE correction ADD COLUMN estimated INTEGER NOT NULL DEFAULT 0;",
];
