//! Every key of LiteLLM's documented configuration is mapped, approximated or reported.
//!
//! The names are those of the reference of all settings and of the parameters of a
//! deployment, as documented for version 1.103.

use majordomo_import::{FieldOutcome, import};

const TOP: &str = "\
    environment_variables model_list litellm_settings general_settings router_settings \
    callback_settings worker_registry guardrails mcp_servers search_tools vector_store_registry \
    credential_list assistant_settings files_settings finetune_settings include prompts";

const LIBRARY: &str = "\
    success_callback failure_callback callbacks service_callback service_callbacks \
    turn_off_message_logging modify_params enable_preview_features \
    LITELLM_DISABLE_STOP_SEQUENCE_LIMIT disable_stop_sequence_limit redact_user_api_key_info \
    mcp_aliases langfuse_default_tags langfuse_enable_update_trace_keys set_verbose json_logs \
    request_correlation_in_logs default_fallbacks request_timeout force_ipv4 \
    disable_aiohttp_transport http2 content_policy_fallbacks context_window_fallbacks cache \
    cache_params enable_redis_auth_cache disable_end_user_cost_tracking \
    disable_end_user_cost_tracking_prometheus_only enable_end_user_cost_tracking_prometheus_only \
    cost_discount_config cost_margin_config key_generation_settings \
    disable_add_transform_inline_image_block use_chat_completions_url_for_anthropic_messages \
    route_all_chat_openai_to_responses skip_system_message_in_guardrail \
    skip_tool_message_in_guardrail disable_hf_tokenizer_download enable_json_schema_validation \
    enable_key_alias_format_validation require_managed_files user_url_validation \
    user_url_allowed_hosts disable_copilot_system_to_assistant default_team_params budget_reset_time \
    overwrite_user_with_key_hash drop_params add_function_to_prompt ssl_verify \
    return_response_headers telemetry max_budget budget_duration max_internal_user_budget \
    default_max_internal_user_budget max_ui_session_budget store_audit_logs \
    default_key_generate_params upperbound_key_generate_params default_internal_user_params \
    default_team_settings num_retries allowed_fails fallbacks model_group_alias";

const GENERAL: &str = "\
    completion_model enable_drain_endpoint drain_endpoint_token disable_spend_logs \
    disable_spend_updates disable_master_key_return disable_env_credential_login \
    disable_retry_on_max_parallel_request_limit_error disable_reset_budget \
    disable_adding_master_key_hash_to_db disable_responses_id_security allow_unmanaged_response_ids \
    disable_auto_add_proxy_admin_to_teams enforce_fallback_model_access enforce_fallback_budget \
    enable_jwt_auth enforce_user_param reject_clientside_metadata_tags missing_session_id \
    disable_batch_input_file_rate_limiting skip_batch_input_file_rate_limiting_for_providers \
    skip_batch_input_file_rate_limiting_for_models disable_budget_reservation allowed_routes \
    key_management_system master_key database_url database_connection_pool_limit \
    database_connection_timeout database_connect_timeout database_socket_timeout \
    database_statement_timeout database_lock_timeout database_extra_connection_params \
    database_disable_prepared_statements allow_requests_on_db_unavailable \
    fail_closed_budget_enforcement custom_auth max_parallel_requests global_max_parallel_requests \
    max_in_flight_requests_per_worker max_queued_requests_per_worker admission_queue_timeout_seconds \
    cancel_on_disconnect infer_model_from_keys background_health_checks health_check_interval \
    alerting alerting_threshold use_client_credentials_pass_through_routes health_check_details \
    public_routes alert_types enforced_params enable_oauth2_auth use_x_forwarded_for \
    service_account_settings image_generation_model store_model_in_db supported_db_objects \
    user_mcp_management_mode store_prompts_in_spend_logs scope_spend_list_endpoints_to_caller \
    legacy_unscoped_spend_list_endpoints max_request_size_mb max_response_size_mb \
    max_batch_file_size_mb max_file_size_mb allowed_file_extensions blocked_file_extensions \
    proxy_budget_rescheduler_min_time proxy_budget_rescheduler_max_time proxy_batch_write_at \
    proxy_batch_polling_interval proxy_config_reload_interval_seconds scheduled_job_stagger \
    alerting_args custom_key_generate custom_key_update custom_key_policy allowed_ips \
    embedding_model default_team_disabled alert_to_webhook_url key_management_settings \
    allow_user_auth user_api_key_cache_ttl user_api_key_cache_max_size disable_prisma_schema_update \
    litellm_key_header_name moderation_model custom_sso allow_cli_sso_verification_uri_complete \
    allow_client_side_credentials admin_only_routes use_azure_key_vault use_google_kms \
    spend_report_frequency ui_access_mode max_failed_login_attempts \
    max_failed_login_attempts_per_source failed_login_window_seconds litellm_jwtauth litellm_license \
    oauth2_config_mappings pass_through_endpoints pass_through_request_timeout \
    enable_oauth2_proxy_auth forward_openai_org_id forward_client_headers_to_llm_api \
    maximum_spend_logs_retention_period maximum_spend_logs_retention_interval alert_type_config \
    always_include_stream_usage sse_keepalive_ping_interval_seconds auto_redirect_ui_login_to_sso \
    control_plane_url custom_auth_run_common_checks custom_ui_sso_sign_in_handler \
    database_connection_pool_timeout disable_error_logs enable_health_check_routing \
    background_health_check_model_groups health_check_ignore_transient_errors enable_mcp_registry \
    enforce_rbac forward_llm_provider_auth_headers health_check_concurrency \
    health_check_skip_disabled_background_models health_check_staleness_threshold \
    maximum_spend_logs_cleanup_batch_size maximum_spend_logs_cleanup_max_batches \
    maximum_spend_logs_cleanup_run_budget maximum_spend_logs_cleanup_batch_timeout \
    maximum_spend_logs_cleanup_cron mcp_client_side_auth_header_name mcp_internal_ip_ranges \
    mcp_required_fields mcp_trusted_proxy_ranges require_end_user_mcp_access_defined \
    require_key_mcp_access_defined role_permissions search_tools token_rate_limit_type \
    use_redis_transaction_buffer use_shared_health_check user_header_mappings user_header_name";

const ROUTER: &str = "\
    routing_strategy redis_host redis_password redis_port redis_db enable_pre_call_check \
    content_policy_fallbacks fallbacks enable_tag_filtering enable_weighted_failover \
    fallback_access_check fallback_budget_check tag_filtering_match_any tag_routing_prefix \
    cooldown_time disable_cooldowns retry_policy allowed_fails allowed_fails_policy \
    default_max_parallel_requests default_priority polling_interval max_fallbacks \
    default_litellm_params timeout stream_timeout ttft_timeout stream_idle_timeout keepalive_seconds \
    allow_client_keepalive_override debug_level client_ttl cache_kwargs routing_strategy_args \
    model_group_alias num_retries default_fallbacks caching_groups alerting_config assistants_config \
    set_verbose retry_after provider_budget_config enable_pre_call_checks model_group_retry_policy \
    context_window_fallbacks redis_url cache_responses router_general_settings \
    optional_pre_call_checks deployment_affinity_ttl_seconds model_group_affinity_config \
    ignore_invalid_deployments auto_router_capability_limit heuristic_v2_router_limit search_tools \
    guardrail_list enable_health_check_routing background_health_check_model_groups \
    health_check_staleness_threshold health_check_ignore_transient_errors routing_groups plugins";

const PARAMETERS: &str = "\
    model api_key api_base api_version azure_ad_token tenant_id client_id client_secret azure_scope \
    azure_username azure_password vertex_project vertex_location vertex_credentials region_name \
    gcs_bucket_name bucket_name aws_access_key_id aws_secret_access_key aws_session_token \
    aws_region_name aws_session_name aws_profile_name aws_role_name aws_web_identity_token \
    aws_sts_endpoint aws_external_id aws_session_tags aws_bedrock_runtime_endpoint \
    aws_bedrock_project_id s3_bucket_name s3_endpoint_url s3_region_name s3_access_key_id \
    s3_secret_access_key s3_encryption_key_id s3_bucket_owner aws_batch_role_arn \
    s3_output_bucket_name bedrock_tags watsonx_region_name custom_llm_provider tpm rpm itpm otpm \
    timeout stream_timeout max_retries drop_params organization configurable_clientside_auth_params \
    litellm_credential_name provider_affinity_header litellm_trace_id max_file_size_mb \
    default_api_key_tpm_limit default_api_key_rpm_limit max_budget budget_duration keepalive_seconds \
    allow_client_keepalive_override use_in_pass_through use_litellm_proxy use_chat_completions_api \
    use_xai_oauth merge_reasoning_content_in_choices model_info mock_response tags tag_regex \
    auto_router_config_path auto_router_config auto_router_default_model auto_router_embedding_model \
    auto_router_max_input_chars auto_router_routing_compression auto_router_model_compression \
    complexity_router_config complexity_router_default_model adaptive_router_default_model \
    adaptive_router_config quality_router_config quality_router_default_model vector_store_id \
    milvus_text_field milvus_db_name milvus_partition_names valkey_host valkey_port valkey_password \
    valkey_ssl valkey_text_field valkey_embedding_field order weight max_parallel_requests \
    vector_bucket_name index_name embedding_model input_cost_per_token output_cost_per_token \
    input_cost_per_second output_cost_per_second output_cost_per_second_480p \
    output_cost_per_second_720p output_cost_per_second_768p output_cost_per_second_2k \
    output_cost_per_second_1080p output_cost_per_second_4k num_retries cooldown_time temperature \
    max_tokens top_p extra_headers extra_body stream_idle_timeout ttft_timeout";

const INFO: &str = "\
    id mode input_cost_per_token output_cost_per_token max_tokens base_model db_model updated_at \
    updated_by created_at created_by tier team_id team_public_model_name member_auto_router blocked \
    discoverable access_windows ptu_count cost_per_ptu_per_hour ptu_effective_from ptu_effective_to \
    allow_fail_open enable_tag_filtering internal_router_model max_input_tokens max_output_tokens \
    supports_vision supports_function_calling supports_response_schema \
    supports_parallel_function_calling supports_web_search supports_url_context supports_reasoning \
    supports_fast_mode supported_openai_params access_groups disable_background_health_check \
    health_check_model";

/// A file in which one key has a value of some type.
fn file(section: &str, key: &str, value: &str) -> String {
    let deployment = |parameters: &str, rest: &str| {
        format!("{{\"model_name\": \"a\", \"litellm_params\": {{ {parameters} }} {rest} }}")
    };
    let entry = format!("\"{key}\": {value}");
    match section {
        "litellm_params" => {
            let model = if key == "model" {
                ""
            } else {
                "\"model\": \"openai/x\", "
            };
            format!(
                "{{ \"model_list\": [ {} ] }}",
                deployment(&format!("{model}{entry}"), "")
            )
        }
        "model_info" => {
            let info = format!(", \"model_info\": {{ {entry} }}");
            format!(
                "{{ \"model_list\": [ {} ] }}",
                deployment("\"model\": \"openai/x\"", &info)
            )
        }
        "" => format!("{{ \"model_list\": [], {entry} }}"),
        section => format!("{{ \"model_list\": [], \"{section}\": {{ {entry} }} }}"),
    }
}

#[test]
fn every_documented_key_is_mapped_approximated_or_reported_with_a_reason() {
    let mut checked = 0;
    let mut wrong = Vec::new();
    for (section, keys) in [
        ("", TOP),
        ("litellm_settings", LIBRARY),
        ("general_settings", GENERAL),
        ("router_settings", ROUTER),
        ("litellm_params", PARAMETERS),
        ("model_info", INFO),
    ] {
        for key in keys.split_whitespace() {
            checked += 1;
            for value in [
                "true",
                "5",
                "\"text\"",
                "[\"a\"]",
                "{ \"a\": \"b\" }",
                "[ { \"a\": [\"b\"] } ]",
            ] {
                let text = file(section, key, value);
                let imported = import(&text).unwrap_or_else(|error| panic!("{text}: {error}"));
                let fields = imported.report.fields.iter();
                let mut about = fields.filter(|field| {
                    let mut parts = field.path.split(['.', '[']);
                    parts.any(|part| part == key)
                });
                let is_known = about.any(|field| field.note != "unknown to this importer");
                // A collection in the place of a scalar may be anything.
                let is_scalar = !value.starts_with(['[', '{']);
                if !is_known && (is_scalar || section.is_empty()) && !is_section(key, value) {
                    wrong.push(format!("{section}.{key} = {value}"));
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert!(checked > 400, "{checked}");
}

/// Sections and lists have no scalar to account for.
fn is_section(key: &str, value: &str) -> bool {
    const CONTAINERS: [&str; 14] = [
        "environment_variables",
        "model_list",
        "litellm_settings",
        "general_settings",
        "router_settings",
        "credential_list",
        "fallbacks",
        "content_policy_fallbacks",
        "context_window_fallbacks",
        "default_fallbacks",
        "model_group_alias",
        "optional_pre_call_checks",
        "extra_headers",
        "deployment_affinity_ttl_seconds",
    ];
    CONTAINERS.contains(&key) && !value.is_empty()
}

#[test]
fn containers_account_for_their_items() {
    for (text, path) in [
        (
            "litellm_settings: { fallbacks: [ { a: [b] } ] }",
            "litellm_settings.fallbacks[0].a",
        ),
        (
            "router_settings: { model_group_alias: { a: b } }",
            "router_settings.model_group_alias.a",
        ),
        (
            "router_settings: { optional_pre_call_checks: [session_affinity] }",
            "router_settings.optional_pre_call_checks[0]",
        ),
        (
            "router_settings: { default_fallbacks: [x] }",
            "router_settings.default_fallbacks[0]",
        ),
        ("environment_variables: { A: b }", "environment_variables.A"),
    ] {
        let report = import(text).unwrap().report;
        let found = report.fields.iter().find(|field| field.path == path);
        let found = found.unwrap_or_else(|| panic!("{path}: {report}"));
        assert_ne!(found.note, "unknown to this importer", "{path}");
        assert!(!matches!(found.outcome, FieldOutcome::Mapped) || !found.note.is_empty());
    }
}
