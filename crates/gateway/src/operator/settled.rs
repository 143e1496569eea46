//! Requests of the page in the ledger.

use serde_json::Value;

use super::walk::{Running, send};

const OPERATOR: [(&str, &str); 1] = [("authorization", "Bearer secret-of-ops-0123456789")];

fn config(folder: &std::path::Path) -> String {
    format!(
        "[ledger]\nstore = \"sqlite://{}/ledger\"\n[providers.demo]\nkind = \"demo\"\n\
         [[keys]]\nname = \"laptop\"\nkey = \"secret-of-laptop-0123456789\"\n\
         budget = {{ month = \"9 USD\" }}\n\
         [[keys]]\nname = \"ops\"\nkey = \"secret-of-ops-0123456789\"\nrole = \"operator\"\n",
        folder.display()
    )
}

async fn get(gateway: &Running, path: &str) -> Value {
    let (status, text) = send(gateway.operator, "GET", path, &OPERATOR, "").await;
    assert_eq!(status, 200, "{path}: {text}");
    serde_json::from_str(&text).expect("JSON")
}

fn ids(report: &Value) -> Vec<&str> {
    let requests = report["requests"].as_array().expect("a list").iter();
    let mut ids: Vec<_> = requests.filter_map(|it| it["id"].as_str()).collect();
    ids.sort_unstable();
    ids
}

#[tokio::test]
async fn a_request_of_the_page_is_settled_under_the_id_by_which_it_is_known() {
    let folder = tempfile::tempdir().expect("a folder");
    let text = config(folder.path());
    let gateway = Running::start(folder.path(), &text).await;
    let body = r#"{"model":"demo/text","messages":[{"role":"user","content":"hello"}]}"#;
    for (path, body) in [
        ("/api/playground?key=laptop", body),
        ("/api/try", r#"{"model":"demo/text"}"#),
    ] {
        let (status, text) = send(gateway.operator, "POST", path, &OPERATOR, body).await;
        assert_eq!(status, 200, "{path}: {text}");
    }
    let recent = get(&gateway, "/api/requests").await;
    let stored = get(&gateway, "/api/requests?since=1d").await;
    assert_eq!(ids(&recent).len(), 2);
    assert_eq!(ids(&recent), ids(&stored));
    gateway.stop().await;

    // Nothing looks as if it had been open when the process ended.
    let gateway = Running::start(folder.path(), &text).await;
    let usage = get(&gateway, "/api/usage").await;
    assert_eq!(
        (&usage["total"]["attempts"], &usage["total"]["lost"]),
        (&2.into(), &0.into())
    );
    gateway.stop().await;
}
