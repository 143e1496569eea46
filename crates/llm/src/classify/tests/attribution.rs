//! Who is to blame for a refusal: the request, or the credential that every
//! client shares. Codes and sentences as providers send them.

use super::*;

fn blames_the_credential(error: &Error) -> bool {
    matches!(
        error.class().verdict().health,
        HealthEffect::BenchCredential(_)
    )
}

#[test]
fn a_403_that_names_the_key_or_the_account_benches_the_credential() {
    for (who, code) in [
        ("OpenAI", "invalid_api_key"),
        ("OpenAI", "account_deactivated"),
        ("OpenAI", "billing_not_active"),
        ("OpenAI", "insufficient_quota"),
        ("OpenAI", "mismatched_organization"),
        ("Anthropic", "authentication_error"),
        ("Anthropic", "billing_error"),
        ("Google", "API_KEY_INVALID"),
        ("Google", "API_KEY_SERVICE_BLOCKED"),
        ("Google", "API_KEY_HTTP_REFERRER_BLOCKED"),
        ("Google", "API_KEY_IP_ADDRESS_BLOCKED"),
        ("Google", "CONSUMER_SUSPENDED"),
        ("Google", "SERVICE_DISABLED"),
        ("Google", "BILLING_DISABLED"),
        ("Google", "ACCESS_TOKEN_SCOPE_INSUFFICIENT"),
        ("Groq", "organization_restricted"),
        ("Moonshot", "incorrect_api_key_error"),
        ("Moonshot", "invalid_authentication_error"),
        ("Moonshot", "exceeded_current_quota_error"),
        ("Alibaba", "InvalidApiKey"),
        ("Alibaba", "Arrearage"),
        ("AWS", "UnrecognizedClientException"),
        ("AWS", "ExpiredTokenException"),
        ("AWS", "InvalidSignatureException"),
    ] {
        let error = coded(403, code);
        assert!(blames_the_credential(&error), "{who}: {error}");
    }
}

#[test]
fn any_other_403_goes_on_to_the_next_target_and_blames_nobody() {
    let rows = [
        ("a proxy", status(403)),
        ("Cloudflare", said(403, "error code: 1020")),
        ("nginx", said(403, "<html><h1>403 Forbidden</h1></html>")),
        ("OpenAI", coded(403, "unsupported_country_region_territory")),
        ("OpenAI", coded(403, "model_not_found")),
        ("OpenAI", coded(403, "missing_scope")),
        ("OpenAI", coded(403, "insufficient_permissions")),
        ("OpenAI", coded(403, "request_forbidden")),
        ("Anthropic", coded(403, "permission_error")),
        ("Anthropic", coded(403, "forbidden")),
        ("Google", coded(403, "PERMISSION_DENIED")),
        ("Google", coded(403, "LOCATION_POLICY_VIOLATED")),
        ("Google", coded(403, "SECURITY_POLICY_VIOLATED")),
        ("Google", coded(403, "IAM_PERMISSION_DENIED")),
        ("Google", coded(403, "RATE_LIMIT_EXCEEDED")),
        ("Groq", coded(403, "model_permission_blocked_org")),
        ("Groq", coded(403, "model_permission_blocked_project")),
        ("Groq", coded(403, "permissions_error")),
        (
            "OpenRouter",
            said(
                403,
                "Your chosen model requires moderation and your input was flagged",
            ),
        ),
        ("OpenRouter", coded(403, "moderation")),
        ("OpenRouter", coded(403, "content_filter")),
        ("Azure", coded(403, "AccessDenied")),
        ("AWS", coded(403, "AccessDeniedException")),
        ("Alibaba", coded(403, "AccessDenied.Unpurchased")),
        ("Moonshot", coded(403, "permission_denied_error")),
        ("GitHub", coded(403, "no_access")),
        ("Ollama", said(403, "cloud models are disabled")),
        (
            "a stream",
            Error::new(ErrorKind::Provider, "").with_code("permission_error"),
        ),
        (
            "a stream",
            Error::new(ErrorKind::Provider, "").with_code("PERMISSION_DENIED"),
        ),
    ];
    for (who, error) in rows {
        let verdict = error.class().verdict();
        assert_eq!(verdict.health, HealthEffect::None, "{who}: {error}");
        // A content filter's 403 is the caller's, as its 400 is.
        if error.class() != Class::Policy {
            assert_eq!(verdict.next_target, NextTarget::Advance, "{who}: {error}");
        }
    }
}

#[test]
fn what_a_client_wrote_never_benches_a_credential() {
    for echoed in [
        "Incorrect API key provided: sk-x",
        "API key not valid. Please pass a valid API key.",
        "Your credit balance is too low to access the API",
        "this organization has reached its spend limit",
        "insufficient_quota invalid_api_key",
    ] {
        for http in [400, 403, 404, 413, 422, 451, 500, 501, 503] {
            for error in [
                said(http, &format!("Invalid value: '{echoed}'")),
                said(http, &format!("flagged: {echoed}")),
                said(http, &format!("\"{echoed}\" is not a valid field")),
            ] {
                assert!(!blames_the_credential(&error), "{error}");
            }
        }
        assert!(!blames_the_credential(&said(403, echoed)), "{echoed}");
    }
}

#[test]
fn a_request_that_is_above_a_rate_by_itself_throttles_nobody() {
    let text = "Request too large for gpt on tokens per min (TPM): Limit 6000, Requested 9000.";
    for http in [413, 429] {
        let error = waiting(said(http, text).with_code("rate_limit_exceeded"));
        assert_eq!(error.class(), Class::ContextLength, "HTTP {http}");
    }
    let rate = waiting(said(429, "Rate limit reached").with_code("rate_limit_exceeded"));
    assert_eq!(rate.class(), Class::RateLimited);
}

#[test]
fn a_provider_that_says_it_only_in_prose_is_understood_by_how_it_begins() {
    let rows = [
        (
            said(
                400,
                "Your credit balance is too low to access the Anthropic API.",
            ),
            Class::Quota,
        ),
        (said(400, "Incorrect API key provided: xa***."), Class::Auth),
        (
            said(400, "API key not valid. Please pass a valid API key."),
            Class::Auth,
        ),
        (
            said(400, "User location is not supported for the API use.")
                .with_code("FAILED_PRECONDITION"),
            Class::Forbidden,
        ),
        (
            said(
                400,
                "Gemini API free tier is not available in your country.",
            )
            .with_code("FAILED_PRECONDITION"),
            Class::Quota,
        ),
        (
            said(
                400,
                "The File x is not in an ACTIVE state and usage is not allowed.",
            )
            .with_code("FAILED_PRECONDITION"),
            Class::Unsupported,
        ),
        (
            said(
                402,
                "This request requires more credits, or fewer max_tokens.",
            ),
            Class::Unsupported,
        ),
        (said(402, "Insufficient Balance"), Class::Quota),
    ];
    for (error, class) in rows {
        assert_eq!(error.class(), class, "{error}");
    }
}
