//! Why a key has no counterpart.

/// A reason, and the keys to which it applies.
pub(super) type Reasons = &'static [(&'static str, &'static str)];

pub(super) const TRACKING: &str =
    "majordomo reports to Prometheus, its ledger and OpenTelemetry, not to callbacks";
pub(super) const CACHE: &str = "majordomo does not cache responses";
pub(super) const REDIS: &str = "gateways share limits over Redis or Valkey, see [cluster]";
pub(super) const GUARDRAILS: &str = "majordomo has no guardrails";
pub(super) const MCP: &str = "majordomo is not an MCP gateway";
pub(super) const LOGIN: &str = "majordomo has keys and roles, but no users who sign in";
pub(super) const KEY_RULES: &str = "keys are created by `majordomo key new`, with their own limits";
pub(super) const PARAMETERS: &str = "majordomo does not add parameters to requests";
pub(super) const LOGS: &str = "logging is configured when majordomo starts, not here";
pub(super) const DATABASE: &str = "majordomo manages its own database connection";
pub(super) const CHECKS: &str = "targets are judged by their requests, not by probes";
pub(super) const ALERTS: &str = "majordomo alerts about budgets only, see [limits.alerts]";
pub(super) const TAGS: &str = "majordomo routes by smart rules, see [[routes.smart]]";
pub(super) const CLOUD: &str = "majordomo has no provider that needs this credential";
pub(super) const FILES: &str = "majordomo serves no files, batches or assistants";
pub(super) const RETRIES: &str = "[chain] has one number of retries, and [health] one threshold";
pub(super) const PRICES: &str =
    "[prices] has rates per token, image and request, and tiers by input";
pub(super) const CAPABILITIES: &str =
    "majordomo reads vision, tools and schemas from model_info, and needs no more";
pub(super) const PASS: &str = "majordomo has no pass-through endpoints of this kind";
pub(super) const TUNING: &str = "a setting for LiteLLM's own process";
pub(super) const METADATA: &str = "LiteLLM's own metadata";
pub(super) const BUDGETS: &str = "budgets belong to keys, teams and everyone, see [limits]";
pub(super) const DEFAULT_MODEL: &str =
    "clients name the model; a route may have the name that they send";
pub(super) const NOT_SERVED: &str = "the deployment is not served";
