//! Documented settings without a counterpart.

use super::reasons::{
    ALERTS, BUDGETS, CACHE, CHECKS, DATABASE, DEFAULT_MODEL, FILES, GUARDRAILS, KEY_RULES, LOGIN,
    LOGS, MCP, METADATA, PARAMETERS, PASS, REDIS, RETRIES, Reasons, TAGS, TRACKING, TUNING,
};

pub(super) const TOP: Reasons = &[
    (TRACKING, "callback_settings"),
    (GUARDRAILS, "guardrails policies policy_attachments prompts"),
    (
        MCP,
        "mcp_servers mcp_tools search_tools vector_store_registry agent_list agents",
    ),
    (
        FILES,
        "assistant_settings files_settings finetune_settings batch_settings",
    ),
    ("import the other files one by one", "include"),
    (
        LOGIN,
        "worker_registry litellm_jwtauth default_team_settings",
    ),
    (METADATA, "model_cost_map_url general_prompts"),
];

pub(super) const LIBRARY: Reasons = &[
    (
        TRACKING,
        "success_callback failure_callback callbacks service_callback service_callbacks \
         langfuse_default_tags langfuse_enable_update_trace_keys prometheus_metrics_config \
         custom_prometheus_metadata_labels custom_prometheus_tags \
         require_auth_for_metrics_endpoint disable_end_user_cost_tracking \
         disable_end_user_cost_tracking_prometheus_only \
         enable_end_user_cost_tracking_prometheus_only audit_log_callbacks s3_callback_params \
         datadog_params gcs_pub_sub_use_v1",
    ),
    (
        LOGS,
        "set_verbose json_logs suppress_debug_info log_raw_request_response",
    ),
    (
        CACHE,
        "cache cache_params enable_redis_auth_cache \
         enable_caching_on_provider_specific_optional_params",
    ),
    (
        GUARDRAILS,
        "guardrails skip_system_message_in_guardrail skip_tool_message_in_guardrail \
         presidio_ad_hoc_recognizers output_parse_pii banned_keywords_list blocked_user_list \
         llamaguard_model_name google_moderation_confidence_threshold",
    ),
    (MCP, "mcp_aliases mcp_semantic_tool_filter"),
    (
        KEY_RULES,
        "key_generation_settings default_key_generate_params upperbound_key_generate_params \
         enable_key_alias_format_validation default_team_params default_team_settings \
         default_internal_user_params max_internal_user_budget \
         default_max_internal_user_budget max_ui_session_budget internal_user_budget_duration \
         max_end_user_budget max_end_user_budget_id overwrite_user_with_key_hash",
    ),
    (
        BUDGETS,
        "budget_reset_time budget_duration cost_discount_config cost_margin_config \
         provider_budget_config",
    ),
    (
        PARAMETERS,
        "add_function_to_prompt disable_add_transform_inline_image_block \
         default_in_memory_ttl disable_copilot_system_to_assistant \
         enable_json_schema_validation enable_preview_features \
         LITELLM_DISABLE_STOP_SEQUENCE_LIMIT merge_reasoning_content_in_choices \
         use_chat_completions_url_for_anthropic_messages route_all_chat_openai_to_responses \
         default_redis_ttl public_model_groups public_model_groups_links modify_response",
    ),
    (
        "certificates are verified with the machine's own roots",
        "ssl_verify ssl_certificate ssl_security_level ssl_ecdh_curve",
    ),
    (
        "both address families are tried",
        "force_ipv4 forward_traceparent_to_llm_provider",
    ),
    (
        "a provider's address is its base_url",
        "api_base api_key organization headers extra_headers",
    ),
    (FILES, "require_managed_files"),
    (
        "remote images are fetched from public addresses only, see [fetch]",
        "user_url_allowed_hosts",
    ),
    (
        RETRIES,
        "num_retries_per_request retry_policy content_policy_retries max_fallbacks",
    ),
    (
        METADATA,
        "custom_provider_map tag_budget_config model_cost_map_url",
    ),
];

pub(super) const GENERAL: Reasons = &[
    (
        DEFAULT_MODEL,
        "completion_model image_generation_model embedding_model moderation_model \
         infer_model_from_keys",
    ),
    (
        DATABASE,
        "database_connection_pool_limit database_connection_timeout database_connect_timeout \
         database_socket_timeout database_statement_timeout database_lock_timeout \
         database_extra_connection_params database_disable_prepared_statements \
         database_connection_pool_timeout database_type database_args \
         disable_prisma_schema_update allow_requests_on_db_unavailable store_model_in_db \
         supported_db_objects proxy_batch_write_at proxy_budget_rescheduler_min_time \
         proxy_budget_rescheduler_max_time use_redis_transaction_buffer disable_spend_updates \
         disable_reset_budget disable_error_logs disable_adding_master_key_hash_to_db \
         proxy_config_reload_interval_seconds scheduled_job_stagger \
         fail_closed_budget_enforcement disable_budget_reservation",
    ),
    ("content is never recorded", "store_prompts_in_spend_logs"),
    (
        "old rows go with their day, see retention in [ledger]",
        "maximum_spend_logs_retention_interval maximum_spend_logs_cleanup_batch_size \
         maximum_spend_logs_cleanup_max_batches maximum_spend_logs_cleanup_run_budget \
         maximum_spend_logs_cleanup_batch_timeout maximum_spend_logs_cleanup_cron",
    ),
    (
        LOGIN,
        "enable_jwt_auth litellm_jwtauth custom_auth custom_auth_run_common_checks custom_sso \
         custom_ui_sso_sign_in_handler auto_redirect_ui_login_to_sso ui_access_mode \
         allow_user_auth enable_oauth2_auth enable_oauth2_proxy_auth oauth2_config_mappings \
         disable_env_credential_login max_failed_login_attempts \
         max_failed_login_attempts_per_source failed_login_window_seconds \
         allow_cli_sso_verification_uri_complete enforce_rbac role_permissions \
         control_plane_url service_account_settings litellm_license custom_auth_settings \
         default_team_disabled",
    ),
    (
        KEY_RULES,
        "custom_key_generate custom_key_update custom_key_policy user_api_key_cache_ttl \
         user_api_key_cache_max_size disable_auto_add_proxy_admin_to_teams enforced_params \
         enforce_user_param reject_clientside_metadata_tags enforce_fallback_model_access \
         enforce_fallback_budget token_rate_limit_type scope_spend_list_endpoints_to_caller \
         legacy_unscoped_spend_list_endpoints",
    ),
    (
        "keys are taken from Authorization, x-api-key, x-goog-api-key and x-majordomo-key",
        "litellm_key_header_name",
    ),
    (
        "a key with asserts_users names end users, see [[keys]]",
        "user_header_name user_header_mappings missing_session_id",
    ),
    (
        "secrets come from the environment: use your service manager",
        "key_management_system key_management_settings use_azure_key_vault use_google_kms",
    ),
    (
        "limit addresses in front of majordomo",
        "allowed_ips use_x_forwarded_for mcp_internal_ip_ranges mcp_trusted_proxy_ranges",
    ),
    (
        "roles of keys decide what they may call, see [[keys]]",
        "allowed_routes public_routes admin_only_routes",
    ),
    (
        ALERTS,
        "alerting alerting_threshold alerting_args alert_types alert_to_webhook_url \
         alert_type_config spend_report_frequency",
    ),
    (
        CHECKS,
        "background_health_checks health_check_interval health_check_details \
         enable_health_check_routing background_health_check_model_groups \
         health_check_ignore_transient_errors health_check_concurrency \
         health_check_skip_disabled_background_models health_check_staleness_threshold \
         use_shared_health_check",
    ),
    (
        PASS,
        "pass_through_endpoints pass_through_request_timeout \
         use_client_credentials_pass_through_routes allow_client_side_credentials \
         forward_openai_org_id forward_llm_provider_auth_headers",
    ),
    (
        FILES,
        "disable_batch_input_file_rate_limiting \
         skip_batch_input_file_rate_limiting_for_providers \
         skip_batch_input_file_rate_limiting_for_models max_batch_file_size_mb \
         max_file_size_mb allowed_file_extensions blocked_file_extensions \
         proxy_batch_polling_interval disable_responses_id_security \
         allow_unmanaged_response_ids",
    ),
    (
        MCP,
        "user_mcp_management_mode enable_mcp_registry mcp_client_side_auth_header_name \
         mcp_required_fields require_end_user_mcp_access_defined \
         require_key_mcp_access_defined search_tools",
    ),
    (
        "see max_requests in [server] and concurrent in [limits]",
        "max_in_flight_requests_per_worker max_queued_requests_per_worker \
         admission_queue_timeout_seconds disable_retry_on_max_parallel_request_limit_error \
         max_response_size_mb",
    ),
    (
        "SIGTERM drains, see drain in [server]",
        "enable_drain_endpoint drain_endpoint_token",
    ),
    (TRACKING, "otel store_audit_logs"),
];

pub(super) const ROUTER: Reasons = &[
    (
        REDIS,
        "redis_host redis_password redis_port redis_db redis_url cache_kwargs",
    ),
    (CACHE, "cache_responses caching_groups client_ttl"),
    (
        RETRIES,
        "retry_policy allowed_fails_policy model_group_retry_policy retry_after max_fallbacks \
         max_retries",
    ),
    (
        TAGS,
        "enable_tag_filtering tag_filtering_match_any tag_routing_prefix plugins \
         routing_strategy_args routing_groups weights auto_router_capability_limit \
         heuristic_v2_router_limit",
    ),
    (PARAMETERS, "default_litellm_params"),
    (LOGS, "set_verbose debug_level"),
    (ALERTS, "alerting_config"),
    (BUDGETS, "provider_budget_config"),
    (FILES, "assistants_config"),
    (GUARDRAILS, "guardrail_list"),
    (MCP, "search_tools"),
    (
        TUNING,
        "default_priority polling_interval router_general_settings ignore_invalid_deployments \
         fallback_access_check fallback_budget_check stream_idle_timeout \
         allow_client_keepalive_override",
    ),
    (
        "affinity is a setting of a route",
        "model_group_affinity_config",
    ),
    (
        CHECKS,
        "enable_health_check_routing background_health_check_model_groups \
         health_check_staleness_threshold health_check_ignore_transient_errors",
    ),
];
