//! Names of attributes and metrics: the current GenAI and HTTP semantic conventions, and our own.
//!
//! Spelled out here because the constants of the conventions' crate lag behind and are
//! deprecated.

pub(super) const SERVICE_VERSION: &str = "service.version";

pub(super) const ERROR_TYPE: &str = "error.type";
pub(super) const SERVER_ADDRESS: &str = "server.address";
pub(super) const SERVER_PORT: &str = "server.port";
pub(super) const HTTP_METHOD: &str = "http.request.method";
pub(super) const HTTP_ROUTE: &str = "http.route";
pub(super) const HTTP_STATUS: &str = "http.response.status_code";

pub(super) const OPERATION: &str = "gen_ai.operation.name";
pub(super) const PROVIDER: &str = "gen_ai.provider.name";
pub(super) const OUTPUT_TYPE: &str = "gen_ai.output.type";
pub(super) const REQUEST_MODEL: &str = "gen_ai.request.model";
pub(super) const REQUEST_STREAM: &str = "gen_ai.request.stream";
pub(super) const MAX_TOKENS: &str = "gen_ai.request.max_tokens";
pub(super) const TEMPERATURE: &str = "gen_ai.request.temperature";
pub(super) const TOP_P: &str = "gen_ai.request.top_p";
pub(super) const TOP_K: &str = "gen_ai.request.top_k";
pub(super) const SEED: &str = "gen_ai.request.seed";
pub(super) const FREQUENCY_PENALTY: &str = "gen_ai.request.frequency_penalty";
pub(super) const PRESENCE_PENALTY: &str = "gen_ai.request.presence_penalty";
pub(super) const REASONING_LEVEL: &str = "gen_ai.request.reasoning.level";
pub(super) const RESPONSE_ID: &str = "gen_ai.response.id";
pub(super) const RESPONSE_MODEL: &str = "gen_ai.response.model";
pub(super) const FINISH_REASONS: &str = "gen_ai.response.finish_reasons";
pub(super) const TIME_TO_FIRST_CHUNK: &str = "gen_ai.response.time_to_first_chunk";
pub(super) const INPUT_TOKENS: &str = "gen_ai.usage.input_tokens";
pub(super) const OUTPUT_TOKENS: &str = "gen_ai.usage.output_tokens";
pub(super) const CACHE_READ: &str = "gen_ai.usage.cache_read.input_tokens";
pub(super) const CACHE_WRITE: &str = "gen_ai.usage.cache_write.input_tokens";
pub(super) const REASONING: &str = "gen_ai.usage.reasoning.output_tokens";

pub(super) const TOKEN_TYPE: &str = "gen_ai.token.type";

/// Metrics of the conventions.
pub(super) const OPERATION_DURATION: &str = "gen_ai.client.operation.duration";
pub(super) const OPERATION_FIRST_CHUNK: &str = "gen_ai.client.operation.time_to_first_chunk";
pub(super) const TOKEN_USAGE: &str = "gen_ai.client.token.usage";

/// The id that the client receives as `x-majordomo-request-id`.
pub(super) const REQUEST_ID: &str = "majordomo.request.id";
/// The name of the client's key.
pub(super) const KEY: &str = "majordomo.key.name";
/// The dialect that the client speaks.
pub(super) const DIALECT: &str = "majordomo.dialect";
/// The requested route, alias or spec.
pub(super) const MODEL: &str = "majordomo.model";
/// The route and its matching rule.
pub(super) const ROUTE: &str = "majordomo.route";
pub(super) const RULE: &str = "majordomo.rule";
/// The serving or called target, `provider/model`.
pub(super) const TARGET: &str = "majordomo.target";
/// Skipped targets.
pub(super) const SKIPPED: &str = "majordomo.skipped";
/// Number of upstream calls, and of changes made for them.
pub(super) const ATTEMPTS: &str = "majordomo.attempts";
pub(super) const CHANGES: &str = "majordomo.changes";
/// The outcome, as in the log.
pub(super) const OUTCOME: &str = "majordomo.outcome";
/// Purpose of a call: the response, or an image description.
pub(super) const PURPOSE: &str = "majordomo.purpose";
