//! Attribution of rejections to the request or to the shared credential, with codes
//! and messages as providers send them.

use super::*;

fn benches_credential(error: &Error) -> bool {
    matches!(
        error.class().verdict().health,
        HealthEffect::BenchCredential(_)
    )
}

#[test]
fn a_403_that_names_the_key_or_the_account_benches_the_credential() {
    for (provider, code) in [
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
        let error = with_code(403, code);
        assert!(benches_credential(&error), "{provider}: {error}");
    }
}

#[test]
fn any_other_403_fails_over_without_affecting_health() {
    let rows = [
        ("a proxy", status(403)),
        ("Cloudflare", with_message(403, "error code: 1020")),
        (
            "nginx",
            with_message(403, "<html><h1>403 Forbidden</h1></html>"),
        ),
        (
            "OpenAI",
            with_code(403, "unsupported_country_region_territory"),
        ),
        ("OpenAI", with_code(403, "model_not_found")),
        ("OpenAI", with_code(403, "missing_scope")),
        ("OpenAI", with_code(403, "insufficient_permissions")),
        ("OpenAI", with_code(403, "request_forbidden")),
        ("Anthropic", with_code(403, "permission_error")),
        ("Anthropic", with_code(403, "forbidden")),
        ("Google", with_code(403, "PERMISSION_DENIED")),
        ("Google", with_code(403, "LOCATION_POLICY_VIOLATED")),
        ("Google", with_code(403, "SECURITY_POLICY_VIOLATED")),
        ("Google", with_code(403, "IAM_PERMISSION_DENIED")),
        ("Google", with_code(403, "RATE_LIMIT_EXCEEDED")),
        ("Groq", with_code(403, "model_permission_blocked_org")),
        ("Groq", with_code(403, "model_permission_blocked_project")),
        ("Groq", with_code(403, "permissions_error")),
        (
            "OpenRouter",
            with_message(
                403,
                "Your chosen model requires moderation and your input was flagged",
            ),
        ),
        ("OpenRouter", with_code(403, "moderation")),
        ("OpenRouter", with_code(403, "content_filter")),
        ("Azure", with_code(403, "AccessDenied")),
        ("AWS", with_code(403, "AccessDeniedException")),
        ("Alibaba", with_code(403, "AccessDenied.Unpurchased")),
        ("Moonshot", with_code(403, "permission_denied_error")),
        ("GitHub", with_code(403, "no_access")),
        ("Ollama", with_message(403, "cloud models are disabled")),
        (
            "a stream",
            Error::new(ErrorKind::Provider, "").with_code("permission_error"),
        ),
        (
            "a stream",
            Error::new(ErrorKind::Provider, "").with_code("PERMISSION_DENIED"),
        ),
    ];
    for (provider, error) in rows {
        let verdict = error.class().verdict();
        assert_eq!(verdict.health, HealthEffect::None, "{provider}: {error}");
        // A content filter's 403 concerns the caller, like its 400.
        if error.class() != Class::Policy {
            assert_eq!(
                verdict.next_target,
                NextTarget::Advance,
                "{provider}: {error}"
            );
        }
    }
}

#[test]
fn text_echoed_from_a_client_never_benches_a_credential() {
    for echoed in [
        "Incorrect API key provided: sk-x",
        "API key not valid. Please pass a valid API key.",
        "Your credit balance is too low to access the API",
        "this organization has reached its spend limit",
        "insufficient_quota invalid_api_key",
    ] {
        for http in [400, 403, 404, 413, 422, 451, 500, 501, 503] {
            for error in [
                with_message(http, &format!("Invalid value: '{echoed}'")),
                with_message(http, &format!("flagged: {echoed}")),
                with_message(http, &format!("\"{echoed}\" is not a valid field")),
            ] {
                assert!(!benches_credential(&error), "{error}");
            }
        }
        assert!(!benches_credential(&with_message(403, echoed)), "{echoed}");
    }
}

#[test]
fn a_request_that_alone_exceeds_the_rate_limit_does_not_throttle_its_target() {
    let text = "Request too large for gpt on tokens per min (TPM): Limit 6000, Requested 9000.";
    for http in [413, 429] {
        let error = with_delay(with_message(http, text).with_code("rate_limit_exceeded"));
        assert_eq!(error.class(), Class::ContextLength, "HTTP {http}");
    }
    let rate = with_delay(with_message(429, "Rate limit reached").with_code("rate_limit_exceeded"));
    assert_eq!(rate.class(), Class::RateLimited);
}

#[test]
fn messages_without_a_code_are_matched_at_their_start() {
    let rows = [
        (
            with_message(
                400,
                "Your credit balance is too low to access the Anthropic API.",
            ),
            Class::Quota,
        ),
        (
            with_message(400, "Incorrect API key provided: xa***."),
            Class::Auth,
        ),
        (
            with_message(400, "API key not valid. Please pass a valid API key."),
            Class::Auth,
        ),
        (
            with_message(400, "User location is not supported for the API use.")
                .with_code("FAILED_PRECONDITION"),
            Class::Forbidden,
        ),
        (
            with_message(
                400,
                "Gemini API free tier is not available in your country.",
            )
            .with_code("FAILED_PRECONDITION"),
            Class::Quota,
        ),
        (
            with_message(
                400,
                "The File x is not in an ACTIVE state and usage is not allowed.",
            )
            .with_code("FAILED_PRECONDITION"),
            Class::Unsupported,
        ),
        (
            with_message(
                402,
                "This request requires more credits, or fewer max_tokens.",
            ),
            Class::Unsupported,
        ),
        (with_message(402, "Insufficient Balance"), Class::Quota),
    ];
    for (error, class) in rows {
        assert_eq!(error.class(), class, "{error}");
    }
}
