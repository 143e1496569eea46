//! Error codes that concern the credential: the key or its account.
//!
//! A credential is shared by all models and clients, so only these codes may bench it
//! on a 403. Any other code concerns the request.

/// Returns `true` if the key is missing, invalid, expired or blocked, or its account is
/// not accessible.
pub(super) fn is_rejected_by(code: &str) -> bool {
    matches!(
        code,
        // OpenAI and compatible servers.
        "invalid_api_key"
            | "incorrect_api_key"
            | "incorrect_api_key_error"
            | "missing_api_key"
            | "expired_api_key"
            | "revoked_api_key"
            | "disabled_api_key"
            | "api_key_invalid"
            | "api_key_missing"
            | "api_key_not_found"
            | "api_key_expired"
            | "api_key_revoked"
            | "api_key_disabled"
            | "invalid_authentication"
            | "invalid_authentication_error"
            | "authentication_error"
            | "authentication_failed"
            | "account_deactivated"
            | "account_disabled"
            | "account_suspended"
            | "organization_deactivated"
            | "organization_disabled"
            | "organization_suspended"
            | "organization_restricted"
            | "invalid_organization"
            | "mismatched_organization"
            | "no_such_organization"
            | "project_archived"
            // Google's `google.api.ErrorReason`.
            | "UNAUTHENTICATED"
            | "API_KEY_INVALID"
            | "API_KEY_EXPIRED"
            | "API_KEY_SERVICE_BLOCKED"
            | "API_KEY_HTTP_REFERRER_BLOCKED"
            | "API_KEY_IP_ADDRESS_BLOCKED"
            | "API_KEY_ANDROID_APP_BLOCKED"
            | "API_KEY_IOS_APP_BLOCKED"
            | "CREDENTIALS_MISSING"
            | "ACCESS_TOKEN_EXPIRED"
            | "ACCESS_TOKEN_SCOPE_INSUFFICIENT"
            | "ACCESS_TOKEN_TYPE_UNSUPPORTED"
            | "ACCOUNT_STATE_INVALID"
            | "CONSUMER_INVALID"
            | "CONSUMER_SUSPENDED"
            | "SERVICE_DISABLED"
            | "USER_PROJECT_DENIED"
            // AWS.
            | "UnrecognizedClientException"
            | "InvalidClientTokenId"
            | "InvalidSignatureException"
            | "IncompleteSignatureException"
            | "SignatureDoesNotMatch"
            | "ExpiredTokenException"
            | "MissingAuthenticationTokenException"
            | "OptInRequired"
            // Alibaba.
            | "InvalidApiKey"
            | "AccountDisabled"
    )
}

/// Returns `true` if the account's credit or quota is exhausted.
pub(super) fn is_exhausted_by(code: &str) -> bool {
    matches!(
        code,
        "insufficient_quota"
            | "insufficient_credits"
            | "insufficient_balance"
            | "billing_error"
            | "billing_not_active"
            | "billing_hard_limit_reached"
            | "credit_balance_exhausted"
            | "enforced_spend_limit_reached"
            | "exceeded_current_quota_error"
            | "usage_not_included"
            | "BILLING_DISABLED"
            | "Arrearage"
    ) || is_daily_quota(code)
}

/// Google names the quota. A project's daily quota stays exhausted until tomorrow; the quota
/// of a single model says nothing about other models.
fn is_daily_quota(code: &str) -> bool {
    code.contains("PerDay") && !code.contains("PerModel")
}
