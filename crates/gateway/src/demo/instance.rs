//! Generates a minimal instance of a simple JSON Schema, within an [`InstanceBudget`].
//!
//! Schemas come from clients. Work and memory are bounded by the budget and by the size of the
//! schema, however the schema multiplies its parts.

use serde_json::{Map, Value, json};

use super::budget::{InstanceBudget, InstanceError};

/// Maximum size of a schema in bytes.
const MAX_SCHEMA_BYTES: usize = 256 << 10;
/// Maximum nesting depth, including references.
const MAX_DEPTH: usize = 64;
/// How many entries of `anyOf`, `oneOf` and `type` are considered.
const MAX_CHOICES: usize = 64;

/// Returns an instance as JSON text, or `{}` if the text is not a schema.
pub(super) fn instance_of(schema: &str) -> Result<String, InstanceError> {
    if schema.len() > MAX_SCHEMA_BYTES {
        return Err(InstanceError::Schema(MAX_SCHEMA_BYTES));
    }
    let Ok(root) = serde_json::from_str::<Value>(schema) else {
        return Ok("{}".to_owned());
    };
    let mut builder = InstanceBuilder {
        root: &root,
        budget: InstanceBudget::new(),
        followed: vec!["#"],
    };
    Ok(builder.make(&root, 0)?.to_string())
}

struct InstanceBuilder<'a> {
    root: &'a Value,
    budget: InstanceBudget,
    /// The references between the root and the current value.
    followed: Vec<&'a str>,
}

impl<'a> InstanceBuilder<'a> {
    fn make(&mut self, schema: &'a Value, depth: usize) -> Result<Value, InstanceError> {
        if depth > MAX_DEPTH {
            return Err(InstanceError::Depth(MAX_DEPTH));
        }
        self.budget.node()?;
        if let Some(reference) = schema["$ref"].as_str() {
            return self.referenced(reference, depth);
        }
        let fixed = schema.get("const").or(schema["enum"].get(0));
        if let Some(value) = fixed.or(schema.get("default")) {
            self.budget.copy(value)?;
            return Ok(value.clone());
        }
        if let Some(all) = schema["allOf"].as_array() {
            return self.all_of(all, depth);
        }
        for choices in ["anyOf", "oneOf"] {
            let choices = schema[choices].as_array().map_or(&[][..], Vec::as_slice);
            if let Some(chosen) = self.pick(choices)? {
                return self.make(chosen, depth + 1);
            }
        }
        match type_of(schema) {
            "object" => self.object(schema, depth),
            "array" => self.array(schema, depth),
            "string" => self.string(schema),
            "integer" => Ok(json!(number(schema).ceil() as i64)),
            "number" => Ok(json!(number(schema))),
            "boolean" => Ok(Value::Bool(true)),
            _ => Ok(Value::Null),
        }
    }

    fn referenced(&mut self, reference: &'a str, depth: usize) -> Result<Value, InstanceError> {
        // Resolving takes time proportional to its length.
        self.budget.bytes(reference.len())?;
        let pointer = reference.strip_prefix('#').unwrap_or(reference);
        let target = self.root.pointer(pointer).unwrap_or(&Value::Null);
        self.followed.push(reference);
        let made = self.make(target, depth + 1);
        self.followed.pop();
        made
    }

    /// The first choice that is neither null nor already being generated, so that a list
    /// whose `next` may be null ends at once.
    fn pick(&mut self, choices: &'a [Value]) -> Result<Option<&'a Value>, InstanceError> {
        let mut fallback = None;
        for choice in choices.iter().take(MAX_CHOICES) {
            let reference = choice["$ref"].as_str().unwrap_or_default();
            // Comparing takes time proportional to its length.
            self.budget.bytes(reference.len())?;
            if self.followed.contains(&reference) {
                continue;
            }
            if choice["type"] != "null" {
                return Ok(Some(choice));
            }
            fallback = fallback.or(Some(choice));
        }
        Ok(fallback.or(choices.first()))
    }

    /// Merges objects; otherwise returns the first instance.
    fn all_of(&mut self, all: &'a [Value], depth: usize) -> Result<Value, InstanceError> {
        let mut merged = Map::new();
        for schema in all {
            match self.make(schema, depth + 1)? {
                Value::Object(fields) => merged.extend(fields),
                other => return Ok(other),
            }
        }
        Ok(Value::Object(merged))
    }

    fn object(&mut self, schema: &'a Value, depth: usize) -> Result<Value, InstanceError> {
        let mut fields = Map::new();
        for name in schema["required"].as_array().into_iter().flatten() {
            self.budget.node()?;
            if let Some(name) = name.as_str() {
                let value = self.property(schema, name, depth)?;
                fields.insert(name.to_owned(), value);
            }
        }
        let least = size(schema, "minProperties");
        for name in schema["properties"]
            .as_object()
            .into_iter()
            .flat_map(Map::keys)
        {
            if fields.len() >= least {
                break;
            }
            if !fields.contains_key(name) {
                let value = self.property(schema, name, depth)?;
                fields.insert(name.clone(), value);
            }
        }
        // Names to generate if the schema has too few.
        for number in 1.. {
            if fields.len() >= least {
                break;
            }
            self.budget.node()?;
            let name = format!("demo{number}");
            self.budget.text(&name)?;
            fields.entry(name).or_insert(Value::Bool(true));
        }
        Ok(Value::Object(fields))
    }

    fn property(
        &mut self,
        schema: &'a Value,
        name: &str,
        depth: usize,
    ) -> Result<Value, InstanceError> {
        self.budget.text(name)?;
        self.make(&schema["properties"][name], depth + 1)
    }

    fn array(&mut self, schema: &'a Value, depth: usize) -> Result<Value, InstanceError> {
        let tuple = schema["prefixItems"].as_array();
        let tuple = tuple
            .or(schema["items"].as_array())
            .map_or(&[][..], Vec::as_slice);
        let mut items = Vec::new();
        for at in 0..size(schema, "minItems") {
            let item = tuple.get(at).unwrap_or(&schema["items"]);
            items.push(self.make(item, depth + 1)?);
        }
        Ok(Value::Array(items))
    }

    fn string(&mut self, schema: &Value) -> Result<Value, InstanceError> {
        let mut text = match schema["format"].as_str() {
            Some("date") => "2026-01-01",
            Some("time") => "09:00:00Z",
            Some("date-time") => "2026-01-01T09:00:00Z",
            Some("email") => "demo@example.com",
            Some("uri") => "https://example.com",
            Some("uuid") => "00000000-0000-4000-8000-000000000000",
            _ => "demo",
        }
        .to_owned();
        let missing = size(schema, "minLength").saturating_sub(text.len());
        self.budget.bytes(missing)?;
        self.budget.text(&text)?;
        text.extend(std::iter::repeat_n('o', missing));
        if schema["maxLength"].is_u64() {
            text.truncate(size(schema, "maxLength"));
        }
        Ok(Value::String(text))
    }
}

/// A bound of the schema, or 0.
fn size(schema: &Value, name: &str) -> usize {
    let bound = schema[name].as_u64().unwrap_or(0);
    usize::try_from(bound).unwrap_or(usize::MAX)
}

fn type_of(schema: &Value) -> &str {
    let named = match &schema["type"] {
        Value::String(name) => Some(name.as_str()),
        Value::Array(names) => {
            let mut names = names.iter().take(MAX_CHOICES).filter_map(Value::as_str);
            names.find(|name| *name != "null")
        }
        _ => None,
    };
    let guessed = || match schema {
        Value::Object(fields) if fields.contains_key("properties") => "object",
        Value::Object(fields) if fields.contains_key("items") => "array",
        // No constraint: a string will do.
        _ => "string",
    };
    named.unwrap_or_else(guessed)
}

fn number(schema: &Value) -> f64 {
    let bound = |name: &str| schema[name].as_f64();
    let least = bound("minimum").or(bound("exclusiveMinimum").map(|below| below + 1.0));
    let most = bound("maximum").or(bound("exclusiveMaximum").map(|above| above - 1.0));
    let number = least.unwrap_or_else(|| most.map_or(1.0, |most| most.min(1.0)));
    match bound("multipleOf").filter(|step| *step > 0.0) {
        Some(step) => (number / step).ceil() * step,
        None => number,
    }
}

#[cfg(test)]
mod tests;
