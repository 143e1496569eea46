//! The keys of LiteLLM's configuration.
//!
//! The names are those of the reference of all settings and of the parameters of a
//! deployment, as documented for version 1.103, and those of the types that describe
//! the file in version 1.109.

pub(crate) const TOP: &str = "\
    environment_variables model_list litellm_settings general_settings router_settings \
    callback_settings worker_registry guardrails mcp_servers search_tools vector_store_registry \
    credential_list assistant_settings files_settings finetune_settings include prompts \
    sandbox_tools policies policy_attachments agents agent_list mcp_tools default_vertex_config";

pub(crate) const LIBRARY: &str = "\
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
    default_team_settings num_retries allowed_fails fallbacks model_group_alias \
    prometheus_deployment_and_latency_caller_identity prometheus_metrics_config \
    compression_interception_params code_interpreter_interception_params \
    websearch_interception_params responses mcp_semantic_tool_filter suppress_startup_output \
    presidio_logging_only prompt_injection_params azure_content_safety_params scim_upsert_user \
    scim_admin_group input_callback langsmith_batch_size prometheus_latency_buckets \
    prometheus_exclude_metrics prometheus_exclude_labels prometheus_emit_stream_label \
    pre_call_rules post_call_rules log_client_error_tracebacks \
    add_user_information_to_llm_headers filter_invalid_headers disable_streaming_logging \
    extra_spend_tag_headers enable_anthropic_prompt_caching include_cost_in_streaming_usage \
    reasoning_auto_summary default_soft_budget budget_exceeded_status_code max_user_budget \
    priority_reservation openai_key anthropic_key model_fallbacks model_alias_map";

pub(crate) const GENERAL: &str = "\
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
    use_redis_transaction_buffer use_shared_health_check user_header_mappings user_header_name \
    accounting_capture accounting_sync_ack accounting_sync_ack_timeout_seconds \
    accounting_sync_ack_failure_policy request_tag_mappings plugins \
    dangerously_permit_weak_or_unset_master_key coordination_redis \
    fail_closed_rate_limit_enforcement include_call_id_in_error_body enable_claude_code_gateway \
    claude_code_gateway_managed_settings database_max_idle_connection_lifetime database_type \
    database_args otel max_batch_file_records max_batch_file_uploads_per_day \
    max_file_downloads_per_minute model_list_healthy_only return_wildcard_routes \
    max_failed_login_attempts_per_source_overrides failed_login_block_seconds \
    vector_store_deny_by_default search_tool_deny_by_default enable_public_model_hub \
    responses_websocket_session_limit_seconds enable_openai_websocket_passthrough \
    vertex_ai_pass_through_drop_anthropic_betas transcribe_media_buckets \
    self_serve_budget_policy claude_code_marketplace_auth_required \
    disable_requester_ip_address_logging spend_logs_metadata_fields \
    disable_fallbacks_on_per_model_rate_limits spend_capture_rate_check \
    maximum_autorouter_session_retention_period maximum_health_check_retention_period \
    maximum_daily_tag_spend_retention_period maximum_spend_logs_size \
    maximum_spend_logs_cleanup_target_size maximum_spend_logs_size_check_interval \
    use_spend_logs_partitioning mcp_advertised_versions mcp_disabled_capabilities \
    mcp_allowed_clients mcp_require_explicit_server_scope mcp_client_id_header \
    mcp_xff_num_trusted_hops mcp_prefer_client_id_metadata_document trusted_proxy_ranges \
    password_policy_min_length password_policy_require_uppercase \
    password_policy_require_lowercase password_policy_require_numbers \
    password_policy_require_special_characters disable_password_login_when_sso_enabled \
    apply_user_budget_to_team_keys agent_access_default_deny user_url_validation \
    user_url_allowed_hosts provider_url_destination_allowed_hosts \
    expose_fallback_errors_to_caller disable_model_info_refresh tracing \
    custom_team_metadata_validate team_metadata_schema track_unmanaged_batch_cost \
    use_team_public_model_name disable_key_generate_for_org_admin hide_default_credentials_hint \
    disable_custom_api_keys password_policy_check_breached_passwords \
    team_metadata_validation_timeout team_metadata_validation_error_message \
    allow_public_health_readiness_details passthrough_managed_object_ids \
    disable_bedrock_agent_runtime_passthrough mcp_allow_all_keys_respects_mcp_scope \
    mcp_session_token_signing";

pub(crate) const ROUTER: &str = "\
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
    health_check_staleness_threshold health_check_ignore_transient_errors routing_groups plugins \
    max_retries weights fallback_on_unsupported_params";

pub(crate) const PARAMETERS: &str = "\
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
    max_tokens top_p extra_headers extra_body stream_idle_timeout ttft_timeout \
    aws_bedrock_control_plane_endpoint anthropic_federation_rule_id anthropic_organization_id \
    anthropic_service_account_id anthropic_federation_workspace_id anthropic_identity_token_file \
    anthropic_identity_token anthropic_identity_source anthropic_issuer_url \
    anthropic_issuer_subject anthropic_issuer_audience anthropic_issuer_ttl_seconds \
    anthropic_issuer_signing_key_ref anthropic_keycloak_token_url anthropic_keycloak_client_id \
    anthropic_keycloak_auth_method anthropic_keycloak_client_secret_ref anthropic_keycloak_scope \
    anthropic_disable_workload_identity_federation openai_identity_provider_id \
    openai_service_account_id openai_identity_token_file token_exchange_endpoint \
    token_exchange_profile token_exchange_scope token_exchange_audience input_cost_per_pixel \
    cache_creation_input_audio_token_cost input_cost_per_token_cache_hit \
    input_cost_per_image_above_128k_tokens input_cost_per_audio_per_second_above_128k_tokens \
    input_cost_per_video_per_second_above_128k_tokens \
    input_cost_per_video_per_second_above_15s_interval \
    input_cost_per_video_per_second_above_8s_interval responses_api_version tpd rpd \
    daily_reset_time timeout_by_service_tier stream_timeout_by_service_tier chatgpt_auth_file \
    fireworks_forward_user_id thought_signature_in_tool_call_id kubernetes_pod_discovery \
    model_name litellm_params";

pub(crate) const INFO: &str = "\
    id mode input_cost_per_token output_cost_per_token max_tokens base_model db_model updated_at \
    updated_by created_at created_by tier team_id team_public_model_name member_auto_router blocked \
    discoverable access_windows ptu_count cost_per_ptu_per_hour ptu_effective_from ptu_effective_to \
    allow_fail_open enable_tag_filtering internal_router_model max_input_tokens max_output_tokens \
    supports_vision supports_function_calling supports_response_schema \
    supports_parallel_function_calling supports_web_search supports_url_context supports_reasoning \
    supports_fast_mode supported_openai_params access_groups disable_background_health_check \
    health_check_model \
    supports_system_messages supports_tool_choice supports_assistant_prefill \
    supports_prompt_caching supports_prompt_cache_breakpoint \
    supports_thinking_cache_preservation supports_computer_use supports_audio_input \
    supports_video_input supports_box_questions supports_embedding_image_input \
    supports_audio_output supports_pdf_input supports_native_streaming \
    supports_native_structured_output supports_bedrock_native_structured_output \
    supports_sampling_params supports_adaptive_thinking supports_legacy_thinking \
    thinking_always_on supports_tool_search supports_mid_conversation_system \
    supports_none_reasoning_effort supports_minimal_reasoning_effort \
    supports_low_reasoning_effort supports_xhigh_reasoning_effort supports_max_reasoning_effort \
    reasoning_effort_levels reasoning_modes reasoning_contexts default_reasoning_effort \
    supports_output_config supports_image_size supports_anthropic_thinking_payload \
    supports_anthropic_compaction supported_audio_formats vertex_ai_audio_api \
    bedrock_output_config_effort_ceiling bedrock_converse_supports_strict_tools \
    supports_regex_lookaround token_count_framing token_count_model token_count_tokenizer key \
    prompt_cache_min_tokens off_peak_pricing input_cost_per_second output_cost_per_second \
    output_cost_per_second_1080p output_cost_per_second_480p output_cost_per_second_720p \
    output_cost_per_second_768p output_cost_per_second_2k output_cost_per_second_4k \
    web_search_billing_unit search_free_requests litellm_provider supported_endpoints \
    use_openai_responses_path tpm rpm provider_specific_entry uses_embed_content";

/// Keys of both a deployment and its `model_info`.
pub(crate) const BOTH: &str = "\
    input_cost_per_character output_cost_per_character cache_read_input_token_cost \
    explicit_cache_read_input_token_cost cache_creation_input_token_cost \
    cache_creation_input_token_cost_above_1hr cache_creation_input_token_cost_above_12hr \
    cache_creation_input_token_cost_above_12hr_flex \
    cache_creation_input_token_cost_above_12hr_priority \
    cache_creation_input_token_cost_above_12hr_above_272k_tokens \
    cache_creation_input_token_cost_above_12hr_above_272k_tokens_flex \
    cache_creation_input_token_cost_above_12hr_above_272k_tokens_priority \
    cache_creation_input_token_cost_above_12hr_batches \
    cache_creation_input_token_cost_above_12hr_ultrafast \
    cache_creation_input_token_cost_above_12hr_above_272k_tokens_batches \
    cache_creation_input_token_cost_above_12hr_above_272k_tokens_ultrafast tiered_pricing \
    cost_per_second input_cost_per_text_message output_cost_per_image_512 \
    output_cost_per_image_1024 output_cost_per_image_1536 output_cost_per_pixel \
    input_cost_per_token_flex input_cost_per_token_priority input_cost_per_token_balanced \
    input_cost_per_token_ultrafast cache_creation_input_token_cost_above_100k_tokens \
    cache_creation_input_token_cost_above_1hr_above_100k_tokens \
    cache_creation_input_token_cost_above_200k_tokens \
    cache_creation_input_token_cost_above_272k_tokens \
    cache_creation_input_token_cost_above_272k_tokens_priority \
    cache_creation_input_token_cost_above_272k_tokens_flex \
    cache_creation_input_token_cost_above_272k_tokens_ultrafast \
    cache_creation_input_token_cost_flex cache_creation_input_token_cost_priority \
    cache_creation_input_token_cost_ultrafast cache_read_input_token_cost_flex \
    cache_read_input_token_cost_priority cache_read_input_token_cost_balanced \
    cache_read_input_token_cost_ultrafast cache_read_input_token_cost_above_100k_tokens \
    cache_read_input_token_cost_above_200k_tokens \
    cache_read_input_token_cost_above_200k_tokens_priority \
    cache_read_input_token_cost_above_272k_tokens_priority \
    cache_read_input_token_cost_above_272k_tokens_flex \
    cache_read_input_token_cost_above_272k_tokens_ultrafast cache_read_input_token_cost_batches \
    cache_read_input_token_cost_above_100k_tokens_batches \
    cache_read_input_token_cost_above_200k_tokens_batches \
    cache_read_input_token_cost_above_272k_tokens_batches \
    cache_read_input_audio_token_cost_batches cache_creation_input_token_cost_batches \
    cache_creation_input_token_cost_above_100k_tokens_batches \
    cache_creation_input_token_cost_above_200k_tokens_batches \
    cache_creation_input_token_cost_above_272k_tokens_batches cache_read_input_audio_token_cost \
    cache_read_input_audio_token_cost_flex cache_read_input_audio_token_cost_priority \
    cache_read_input_image_token_cost input_cost_per_character_above_128k_tokens \
    input_cost_per_audio_token input_cost_per_audio_token_flex \
    input_cost_per_audio_token_priority input_cost_per_token_above_128k_tokens \
    input_cost_per_token_above_100k_tokens input_cost_per_token_above_200k_tokens \
    input_cost_per_token_above_200k_tokens_priority \
    input_cost_per_token_above_272k_tokens_priority input_cost_per_token_above_272k_tokens_flex \
    input_cost_per_token_above_272k_tokens_ultrafast \
    input_cost_per_token_above_200k_tokens_batches \
    input_cost_per_token_above_100k_tokens_batches \
    input_cost_per_token_above_272k_tokens_batches input_cost_per_query input_cost_per_image \
    input_cost_per_audio_per_second input_cost_per_video_per_second \
    input_cost_per_audio_token_batches input_cost_per_image_token_batches \
    input_cost_per_token_batches input_cost_per_video_token_batches \
    output_cost_per_token_batches output_cost_per_token_flex output_cost_per_token_priority \
    output_cost_per_token_balanced output_cost_per_token_ultrafast output_cost_per_audio_token \
    output_cost_per_token_above_128k_tokens output_cost_per_token_above_100k_tokens \
    output_cost_per_token_above_200k_tokens output_cost_per_token_above_200k_tokens_priority \
    output_cost_per_token_above_272k_tokens_priority \
    output_cost_per_token_above_272k_tokens_flex \
    output_cost_per_token_above_272k_tokens_ultrafast \
    output_cost_per_token_above_200k_tokens_batches \
    output_cost_per_token_above_100k_tokens_batches \
    output_cost_per_token_above_272k_tokens_batches output_cost_per_character_above_128k_tokens \
    output_cost_per_image output_cost_per_image_token output_cost_per_image_token_batches \
    output_cost_per_video_token output_cost_per_reasoning_token \
    output_cost_per_reasoning_token_flex output_cost_per_reasoning_token_priority \
    output_cost_per_video_per_second output_cost_per_audio_per_second \
    search_context_cost_per_query search_queries_cost_per_query \
    google_maps_grounding_cost_per_query citation_cost_per_token \
    cache_read_input_token_cost_above_272k_tokens cache_read_input_token_cost_above_512k_tokens \
    input_cost_per_image_token input_cost_per_video_token input_cost_per_token_above_272k_tokens \
    input_cost_per_token_above_512k_tokens output_cost_per_token_above_272k_tokens \
    output_cost_per_token_above_512k_tokens output_vector_size ocr_cost_per_page \
    ocr_cost_per_page_batches ocr_cost_per_credit annotation_cost_per_page \
    annotation_cost_per_page_batches regional_processing_uplift_multiplier_eu \
    regional_processing_uplift_multiplier_us regional_endpoint_uplift_multiplier";
