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
        "mcp_servers mcp_tools search_tools sandbox_tools vector_store_registry agent_list \
         agents",
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
    (METADATA, "model_cost_map_url general_prompts plugins"),
    (PASS, "default_vertex_config pass_through_endpoints"),
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
         datadog_params gcs_pub_sub_use_v1 input_callback langsmith_batch_size \
         argilla_batch_size argilla_transformation_object datadog_use_v1 \
         datadog_llm_observability_params generic_logger_headers newrelic_params \
         aws_sqs_callback_params s3_audit_callback_params generic_api_use_v1 \
         prometheus_initialize_budget_metrics prometheus_latency_buckets \
         prometheus_exclude_metrics prometheus_exclude_labels \
         prometheus_emit_stream_label prometheus_emit_input_sequence_length_label \
         prometheus_deployment_and_latency_caller_identity \
         prometheus_emit_rate_limit_labels \
         standard_logging_payload_excluded_fields disable_streaming_logging \
         allow_dynamic_callback_disabling global_disable_no_log_param \
         extra_spend_tag_headers",
    ),
    (
        LOGS,
        "set_verbose json_logs suppress_debug_info log_raw_request_response \
         suppress_startup_output log_client_error_tracebacks",
    ),
    (
        CACHE,
        "cache cache_params enable_redis_auth_cache \
         enable_caching_on_provider_specific_optional_params caching caching_with_models \
         default_redis_batch_cache_expiry",
    ),
    (
        GUARDRAILS,
        "guardrails skip_system_message_in_guardrail skip_tool_message_in_guardrail \
         presidio_ad_hoc_recognizers output_parse_pii banned_keywords_list blocked_user_list \
         llamaguard_model_name google_moderation_confidence_threshold \
         presidio_logging_only prompt_injection_params azure_content_safety_params \
         llm_guard_mode llamaguard_unsafe_content_categories pre_call_rules \
         post_call_rules guardrail_name_config_map openai_moderations_model_name",
    ),
    (
        MCP,
        "mcp_aliases mcp_servers mcp_semantic_tool_filter mcp_tool_search \
         public_mcp_servers compression_interception_params \
         code_interpreter_interception_params websearch_interception_params",
    ),
    (
        KEY_RULES,
        "key_generation_settings default_key_generate_params upperbound_key_generate_params \
         enable_key_alias_format_validation default_team_params default_team_settings \
         default_internal_user_params max_internal_user_budget \
         default_max_internal_user_budget max_ui_session_budget internal_user_budget_duration \
         max_end_user_budget max_end_user_budget_id overwrite_user_with_key_hash \
         max_user_budget default_soft_budget key_alias_pattern \
         validate_end_user_id_in_db scim_upsert_user scim_admin_group",
    ),
    (
        BUDGETS,
        "budget_reset_time budget_duration cost_discount_config cost_margin_config \
         provider_budget_config budget_exceeded_status_code \
         budget_exceeded_throttle_percentage budget_rollover priority_reservation",
    ),
    (
        PARAMETERS,
        "add_function_to_prompt disable_add_transform_inline_image_block \
         default_in_memory_ttl disable_copilot_system_to_assistant \
         enable_json_schema_validation enable_preview_features \
         LITELLM_DISABLE_STOP_SEQUENCE_LIMIT merge_reasoning_content_in_choices \
         use_chat_completions_url_for_anthropic_messages route_all_chat_openai_to_responses \
         default_redis_ttl public_model_groups public_model_groups_links modify_response \
         add_user_information_to_llm_headers filter_invalid_headers \
         disable_add_prefix_to_prompt openai_system_messages_first \
         enable_anthropic_prompt_caching anthropic_prompt_caching_ttl \
         reasoning_auto_summary vertex_ai_safety_settings custom_prompt_dict",
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
        "api_base api_key organization headers extra_headers openai_key azure_key \
         anthropic_key groq_key openrouter_key cohere_key replicate_key huggingface_key \
         togetherai_api_key",
    ),
    (FILES, "require_managed_files"),
    (
        "remote images are fetched from public addresses only, see [fetch]",
        "user_url_allowed_hosts",
    ),
    (
        RETRIES,
        "num_retries_per_request retry_policy content_policy_retries max_fallbacks \
         model_fallbacks",
    ),
    (
        METADATA,
        "custom_provider_map tag_budget_config model_cost_map_url responses model_alias_map",
    ),
    (
        "usage with its cost is in the ledger",
        "include_cost_in_streaming_usage",
    ),
    (
        "general_settings has this setting",
        "allow_requests_on_db_unavailable master_key",
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
         fail_closed_budget_enforcement fail_closed_rate_limit_enforcement \
         disable_budget_reservation database_max_idle_connection_lifetime \
         accounting_capture accounting_sync_ack accounting_sync_ack_timeout_seconds \
         accounting_sync_ack_failure_policy spend_capture_rate_check \
         disable_model_info_refresh",
    ),
    (REDIS, "coordination_redis"),
    (
        "litellm_settings has this setting",
        "max_budget budget_duration",
    ),
    ("content is never recorded", "store_prompts_in_spend_logs"),
    (
        "old rows go with their day, see retention in [ledger]",
        "maximum_spend_logs_retention_interval maximum_spend_logs_cleanup_batch_size \
         maximum_spend_logs_cleanup_max_batches maximum_spend_logs_cleanup_run_budget \
         maximum_spend_logs_cleanup_batch_timeout maximum_spend_logs_cleanup_cron \
         maximum_spend_logs_size maximum_spend_logs_cleanup_target_size \
         maximum_spend_logs_size_check_interval use_spend_logs_partitioning \
         maximum_autorouter_session_retention_period \
         maximum_health_check_retention_period maximum_daily_tag_spend_retention_period",
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
         default_team_disabled max_failed_login_attempts_per_source_overrides \
         failed_login_block_seconds password_policy_min_length \
         password_policy_require_uppercase password_policy_require_lowercase \
         password_policy_require_numbers password_policy_require_special_characters \
         password_policy_check_breached_passwords disable_password_login_when_sso_enabled \
         hide_default_credentials_hint enable_claude_code_gateway \
         claude_code_gateway_managed_settings claude_code_marketplace_auth_required \
         dangerously_permit_weak_or_unset_master_key enable_public_model_hub ui",
    ),
    (
        KEY_RULES,
        "custom_key_generate custom_key_update custom_key_policy user_api_key_cache_ttl \
         user_api_key_cache_max_size disable_auto_add_proxy_admin_to_teams enforced_params \
         enforce_user_param reject_clientside_metadata_tags enforce_fallback_model_access \
         enforce_fallback_budget token_rate_limit_type scope_spend_list_endpoints_to_caller \
         legacy_unscoped_spend_list_endpoints custom_team_metadata_validate \
         team_metadata_schema team_metadata_validation_timeout \
         team_metadata_validation_error_message disable_key_generate_for_org_admin \
         disable_custom_api_keys self_serve_budget_policy apply_user_budget_to_team_keys \
         use_team_public_model_name agent_access_default_deny \
         disable_fallbacks_on_per_model_rate_limits request_tag_mappings",
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
        "allowed_ips use_x_forwarded_for mcp_internal_ip_ranges mcp_trusted_proxy_ranges \
         trusted_proxy_ranges disable_requester_ip_address_logging",
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
         use_shared_health_check model_list_healthy_only \
         allow_public_health_readiness_details",
    ),
    (
        PASS,
        "pass_through_endpoints pass_through_request_timeout \
         use_client_credentials_pass_through_routes allow_client_side_credentials \
         forward_openai_org_id forward_llm_provider_auth_headers \
         vertex_ai_pass_through_drop_anthropic_betas enable_openai_websocket_passthrough \
         responses_websocket_session_limit_seconds passthrough_managed_object_ids \
         disable_bedrock_agent_runtime_passthrough",
    ),
    (
        FILES,
        "disable_batch_input_file_rate_limiting \
         skip_batch_input_file_rate_limiting_for_providers \
         skip_batch_input_file_rate_limiting_for_models max_batch_file_size_mb \
         max_file_size_mb allowed_file_extensions blocked_file_extensions \
         proxy_batch_polling_interval disable_responses_id_security \
         allow_unmanaged_response_ids max_batch_file_records \
         max_batch_file_uploads_per_day max_file_downloads_per_minute \
         track_unmanaged_batch_cost transcribe_media_buckets \
         vector_store_deny_by_default",
    ),
    (
        MCP,
        "user_mcp_management_mode enable_mcp_registry mcp_client_side_auth_header_name \
         mcp_required_fields require_end_user_mcp_access_defined \
         require_key_mcp_access_defined search_tools search_tool_deny_by_default \
         mcp_advertised_versions mcp_disabled_capabilities mcp_allowed_clients \
         mcp_require_explicit_server_scope mcp_client_id_header mcp_xff_num_trusted_hops \
         mcp_prefer_client_id_metadata_document mcp_allow_all_keys_respects_mcp_scope \
         mcp_session_token_signing",
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
    (
        TRACKING,
        "otel tracing store_audit_logs spend_logs_metadata_fields",
    ),
    (
        "errors always say what each attempt was answered",
        "expose_fallback_errors_to_caller include_call_id_in_error_body",
    ),
    (
        "majordomo lists its routes and targets",
        "return_wildcard_routes",
    ),
    (
        "remote images are fetched from public addresses only, see [fetch]",
        "user_url_validation user_url_allowed_hosts provider_url_destination_allowed_hosts",
    ),
    (METADATA, "plugins"),
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
         allow_client_keepalive_override fallback_on_unsupported_params",
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
