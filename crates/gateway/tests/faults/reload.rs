//! A file that goes wrong while it is served.

use tokio::time::timeout;

use crate::stage::{FOREVER, Stage, ask, header, logged};

const ROUTED: &str = r#"
[providers.other]
kind = "demo"
[[routes]]
model = "coder"
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "everything"
when = [ { position = "token", op = "ge", value = 0 } ]
services = [ { spec = "other/text" } ]
"#;

/// A good rule, and two that are wrong.
const BAD: &str = r#"
[[routes.smart]]
name = "misspelled"
when = [ { position = "modle", op = "contains", value = "x" } ]
services = [ { spec = "demo/text" } ]
[[routes.smart]]
name = "no number"
when = [ { position = "token", op = "ge", value = "many" } ]
services = [ { spec = "demo/text" } ]
"#;

#[tokio::test]
async fn r24_a_reload_with_bad_rules_reports_all_and_the_old_file_keeps_serving() {
    let stage = Stage::start(ROUTED).await;
    let target = async || {
        let answer = stage.raw(ask("coder", false)).await;
        header(&answer, "x-majordomo-target").map(str::to_owned)
    };
    assert_eq!(target().await.as_deref(), Some("other/text"));

    let served = ROUTED.replace("other/text", "demo/text");
    let file = stage.rewrite(&format!("{served}{BAD}"));
    let reported = async {
        loop {
            let log = logged();
            let places = [14, 18].map(|line| format!("{file}:{line}:"));
            if places.iter().all(|place| log.contains(place)) {
                break;
            }
            tokio::task::yield_now().await;
        }
    };
    let seen = timeout(FOREVER, reported).await;
    seen.unwrap_or_else(|_| panic!("not both are reported:\n{}", logged()));
    assert_eq!(target().await.as_deref(), Some("other/text"), "as before");

    stage.rewrite(&served);
    let put_right = async { while target().await.as_deref() != Some("demo/text") {} };
    let seen = timeout(FOREVER, put_right).await;
    seen.expect("a good file is put to work");
}
