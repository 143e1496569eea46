//! Documented parameters of deployments without a counterpart.

use super::reasons::{
    BUDGETS, CLOUD, FILES, GUARDRAILS, METADATA, NOT_SERVED, PARAMETERS, PASS, PRICES, RETRIES,
    Reasons, TAGS,
};

pub(super) const PARAMS: Reasons = &[
    (
        PARAMETERS,
        "temperature top_p top_k n stop max_tokens max_completion_tokens presence_penalty \
         frequency_penalty logit_bias user response_format seed tools tool_choice logprobs \
         top_logprobs parallel_tool_calls reasoning_effort thinking extra_body stream \
         metadata system input_type dimensions encoding_format modalities prediction \
         service_tier verbosity web_search_options additional_drop_params \
         allowed_openai_params cache_control_injection_points \
         merge_reasoning_content_in_choices supports_system_message hf_model_name \
         initial_prompt_value roles final_prompt_value bos_token eos_token keep_alive num_ctx \
         prompt_id prompt_variables",
    ),
    (
        CLOUD,
        "azure_ad_token tenant_id client_id client_secret azure_scope azure_username \
         azure_password vertex_project vertex_location vertex_credentials region_name \
         gcs_bucket_name bucket_name aws_access_key_id aws_secret_access_key \
         aws_session_token aws_region_name aws_session_name aws_profile_name aws_role_name \
         aws_web_identity_token aws_sts_endpoint aws_external_id aws_session_tags \
         aws_bedrock_runtime_endpoint aws_bedrock_project_id s3_bucket_name s3_endpoint_url \
         s3_region_name s3_access_key_id s3_secret_access_key s3_encryption_key_id \
         s3_bucket_owner aws_batch_role_arn s3_output_bucket_name bedrock_tags \
         watsonx_region_name project_id use_xai_oauth model_id bedrock_invocation_id \
         chatgpt_auth_file kubernetes_pod_discovery responses_api_version",
    ),
    (
        "a limit of one deployment; [limits] has those of callers",
        "itpm otpm tpd rpd daily_reset_time default_api_key_tpm_limit \
         default_api_key_rpm_limit",
    ),
    (
        RETRIES,
        "max_retries num_retries cooldown_time retry_policy",
    ),
    (BUDGETS, "max_budget budget_duration"),
    (
        TAGS,
        "tags tag_regex auto_router_config_path auto_router_config auto_router_default_model \
         auto_router_embedding_model auto_router_max_input_chars \
         auto_router_routing_compression auto_router_model_compression \
         complexity_router_config complexity_router_default_model \
         adaptive_router_default_model adaptive_router_config quality_router_config \
         quality_router_default_model",
    ),
    (GUARDRAILS, "guardrails"),
    (
        FILES,
        "max_file_size_mb vector_store_id vector_store_ids milvus_text_field milvus_db_name \
         milvus_partition_names valkey_host valkey_port valkey_password valkey_ssl \
         valkey_text_field valkey_embedding_field vector_bucket_name index_name \
         embedding_model",
    ),
    (
        PASS,
        "use_in_pass_through configurable_clientside_auth_params use_litellm_proxy \
         use_chat_completions_api",
    ),
    (
        PRICES,
        "input_cost_per_second output_cost_per_second output_cost_per_second_480p \
         output_cost_per_second_720p output_cost_per_second_768p output_cost_per_second_2k \
         output_cost_per_second_1080p output_cost_per_second_4k input_cost_per_pixel \
         output_cost_per_pixel input_cost_per_character output_cost_per_character \
         input_cost_per_query output_cost_per_image input_cost_per_audio_token \
         output_cost_per_audio_token input_cost_per_token_above_128k_tokens \
         output_cost_per_token_above_128k_tokens input_cost_per_token_above_200k_tokens \
         output_cost_per_token_above_200k_tokens input_cost_per_token_batches \
         output_cost_per_token_batches",
    ),
    (
        METADATA,
        "litellm_trace_id provider_affinity_header mock_response model_info \
         fireworks_forward_user_id thought_signature_in_tool_call_id output_vector_size",
    ),
    (
        "one timeout applies to streams and responses",
        "stream_idle_timeout keepalive_seconds allow_client_keepalive_override \
         timeout_by_service_tier stream_timeout_by_service_tier",
    ),
    (
        "parameters that a target does not support are always dropped, and listed",
        "drop_params",
    ),
    (
        "certificates are verified with the machine's own roots",
        "ssl_verify",
    ),
    (
        NOT_SERVED,
        "api_key api_base base_url api_version organization extra_headers headers timeout \
         stream_timeout ttft_timeout request_timeout rpm tpm weight order max_parallel_requests \
         custom_llm_provider litellm_credential_name input_cost_per_token output_cost_per_token \
         cache_read_input_token_cost cache_creation_input_token_cost",
    ),
];

pub(super) const DEPLOYMENT: Reasons = &[(
    "a limit of one deployment; [limits] has those of callers",
    "tpm rpm",
)];

pub(super) const INFO: Reasons = &[
    (
        METADATA,
        "id db_model updated_at updated_by created_at created_by base_model tier team_id \
         team_public_model_name member_auto_router blocked discoverable internal_router_model \
         description metadata health_check_model health_check_timeout health_check_max_tokens \
         disable_background_health_check litellm_provider version key created_by_user",
    ),
    (
        "the models of a key are in its `models`, see [[keys]]",
        "access_groups access_windows access_via_team_ids",
    ),
    (
        TAGS,
        "allow_fail_open enable_tag_filtering tags adaptive_router_preferences",
    ),
    (
        PRICES,
        "ptu_count web_search_billing_unit search_free_requests cost_per_ptu_per_hour ptu_effective_from ptu_effective_to \
         input_cost_per_second output_cost_per_second input_cost_per_character \
         output_cost_per_image input_cost_per_image input_cost_per_token_above_200k_tokens \
         output_cost_per_token_above_200k_tokens input_cost_per_audio_token \
         output_cost_per_audio_token input_cost_per_pixel output_cost_per_pixel",
    ),
    (
        "majordomo discovers this by itself, or does not need it",
        "output_vector_size default_api_key_tpm_limit default_api_key_rpm_limit rpm tpm \
         thinking_always_on reasoning_effort_levels reasoning_modes reasoning_contexts \
         default_reasoning_effort bedrock_output_config_effort_ceiling \
         bedrock_converse_supports_strict_tools token_count_framing token_count_model \
         token_count_tokenizer prompt_cache_min_tokens use_openai_responses_path \
         uses_embed_content provider_specific_entry",
    ),
    (
        NOT_SERVED,
        "supports_vision supports_function_calling supports_response_schema max_input_tokens \
         max_output_tokens max_tokens mode input_cost_per_token output_cost_per_token \
         cache_read_input_token_cost cache_creation_input_token_cost",
    ),
];
