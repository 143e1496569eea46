//! Removes Rust-specific formats from schemas.

use serde_json::Value;

/// The formats that all providers accept. Some reject others, such as `uint32` or
/// `double`.
const FORMATS: [&str; 9] = [
    "date-time",
    "date",
    "time",
    "duration",
    "email",
    "hostname",
    "ipv4",
    "ipv6",
    "uuid",
];

/// Removes formats that a provider may reject, at every level.
pub(super) fn make_portable(schema: &mut Value) {
    each_schema(schema, &mut |object| {
        let known = |format: &Value| format.as_str().is_some_and(|f| FORMATS.contains(&f));
        if object.get("format").is_some_and(|format| !known(format)) {
            object.remove("format");
        }
    });
}

/// Visits every nested schema object, innermost first.
pub(super) fn each_schema(
    schema: &mut Value,
    visit: &mut impl FnMut(&mut serde_json::Map<String, Value>),
) {
    let Value::Object(object) = schema else {
        return;
    };
    for (keyword, inner) in object.iter_mut() {
        match (keyword.as_str(), inner) {
            ("properties" | "$defs" | "patternProperties", Value::Object(named)) => {
                named.values_mut().for_each(|s| each_schema(s, visit));
            }
            ("anyOf" | "oneOf" | "allOf" | "prefixItems", Value::Array(list)) => {
                list.iter_mut().for_each(|s| each_schema(s, visit));
            }
            ("items" | "additionalProperties" | "not" | "contains", inner) => {
                each_schema(inner, visit);
            }
            _ => {}
        }
    }
    visit(object);
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn only_common_formats_remain_and_property_names_are_not_keywords() {
        let mut schema = json!({
            "format": "uint32",
            "properties": {"format": {"format": "double"}, "at": {"format": "date-time"}},
            "items": {"format": "int64"},
            "anyOf": [{"format": "float"}],
            "$defs": {"x": {"format": "char"}},
        });
        make_portable(&mut schema);
        let expected = json!({
            "properties": {"format": {}, "at": {"format": "date-time"}},
            "items": {},
            "anyOf": [{}],
            "$defs": {"x": {}},
        });
        assert_eq!(schema, expected);
    }
}
