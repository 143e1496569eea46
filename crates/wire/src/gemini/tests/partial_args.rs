use majordomo_llm::{ErrorKind, Result};
use proptest::prelude::*;

use super::super::partial_args::{ArgumentText, PartialArg};
use crate::json;

fn assemble(args: &[&str]) -> Result<String> {
    let mut arguments = ArgumentText::default();
    let mut text = String::new();
    for arg in args {
        let arg = json::read_str(arg, PartialArg::read).unwrap();
        arguments.push(&arg, &mut text)?;
    }
    arguments.finish(&mut text);
    Ok(text)
}

#[test]
fn values_at_json_paths_become_one_json_text() {
    let rows: &[(&[&str], &str)] = &[
        (&[], ""),
        (
            &[
                r#"{"jsonPath":"$.a","stringValue":"x\"","willContinue":true}"#,
                r#"{"jsonPath":"$.a","stringValue":"y"}"#,
                r#"{"jsonPath":"$.b","numberValue":0.5}"#,
                r#"{"jsonPath":"$.c","boolValue":false}"#,
                r#"{"jsonPath":"$.d","nullValue":"NULL_VALUE"}"#,
            ],
            r#"{"a":"x\"y","b":0.5,"c":false,"d":null}"#,
        ),
        (
            &[
                r#"{"jsonPath":"$.l[0].a","stringValue":"1","willContinue":true}"#,
                r#"{"jsonPath":"$.l[0].b","stringValue":"2"}"#,
                r#"{"jsonPath":"$.l[1].a","stringValue":"3"}"#,
                r#"{"jsonPath":"$.m[2]","numberValue":4}"#,
            ],
            r#"{"l":[{"a":"1","b":"2"},{"a":"3"}],"m":[null,null,4]}"#,
        ),
        (
            &[r#"{"jsonPath":"$['a b'].x[\"c\\\"\"]","boolValue":true}"#],
            r#"{"a b":{"x":{"c\"":true}}}"#,
        ),
    ];
    for (args, expected) in rows {
        assert_eq!(assemble(args).unwrap(), *expected);
    }
}

#[test]
fn a_path_out_of_order_or_unsupported_is_an_error() {
    for args in [
        &[
            r#"{"jsonPath":"$.a","numberValue":1}"#,
            r#"{"jsonPath":"$.a","numberValue":2}"#,
        ][..],
        &[
            r#"{"jsonPath":"$.a.x","numberValue":1}"#,
            r#"{"jsonPath":"$.b","numberValue":1}"#,
            r#"{"jsonPath":"$.a.y","numberValue":1}"#,
        ],
        &[
            r#"{"jsonPath":"$.a[1]","numberValue":1}"#,
            r#"{"jsonPath":"$.a[0]","numberValue":1}"#,
        ],
        &[r#"{"jsonPath":"$.a[99999999]","numberValue":1}"#],
        &[r#"{"jsonPath":"a","numberValue":1}"#],
        &[r#"{"jsonPath":"$[?(@.x)]","numberValue":1}"#],
        &[r#"{"jsonPath":"$","numberValue":1}"#],
    ] {
        assert_eq!(
            assemble(args).unwrap_err().kind(),
            ErrorKind::BadResponse,
            "{args:?}"
        );
    }
}

proptest! {
    #[test]
    fn accepted_arguments_are_valid_json(
        args in prop::collection::vec(("(\\.[ab]|\\[[0-2]\\]|\\['a'\\]){1,3}", ".{0,3}", any::<bool>()), 0..6),
    ) {
        let args: Vec<String> = args
            .into_iter()
            .map(|(path, value, more)| {
                serde_json::json!({"jsonPath": format!("${path}"), "stringValue": value, "willContinue": more}).to_string()
            })
            .collect();
        let args: Vec<&str> = args.iter().map(String::as_str).collect();
        if let Ok(text) = assemble(&args) {
            prop_assert!(text.is_empty() || json::is_complete(&text), "{}", text);
        }
    }
}
