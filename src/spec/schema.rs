//! The JSON Schema of a spec, from the types that read it. A scenario's is cut from the spec's by the list that
//! the reader uses, so the two cannot drift.

use serde_json::{Map, Value, json};

use super::root::OVERLAY_KEYS;
use super::root::RawSpec;

/// Keys that stand wherever their table does. All others may be in another of the texts that are laid over one
/// another: an include or a scenario says only what it changes, and the reader tells what is missing in the end.
const ALWAYS_THERE: &[(&str, &str)] = &[
    ("Setup", "name"),
    ("Phase", "name"),
    ("Expect", "claim"),
    ("ReportTable", "title"),
    ("Column", "value"),
    ("PublishedTable", "name"),
];

/// The schema (draft 7), pretty-printed with a final newline: the text of `templates/spec.schema.json`.
pub fn schema() -> String {
    let generator = schemars::generate::SchemaSettings::draft07()
        .with(|settings| settings.inline_subschemas = false)
        .into_generator();
    let mut schema = serde_json::to_value(generator.into_root_schema_for::<RawSpec>()).expect("a schema is JSON");
    tidy(&mut schema);
    for (definition, key) in ALWAYS_THERE {
        schema["definitions"][definition]["required"] = json!([key]);
    }
    let properties = schema["properties"].as_object().expect("a spec is an object").clone();
    let mut scenario: Map<String, Value> = Map::new();
    scenario.insert(
        "name".into(),
        json!({ "type": "string", "pattern": "^[a-z][a-z0-9_]*$", "description": "Name of the scenario." }),
    );
    scenario.insert(
        "like".into(),
        json!({ "type": "string", "description": "An earlier scenario that this one starts from." }),
    );
    scenario.insert(
        "without".into(),
        json!({ "type": "array", "items": { "type": "string" }, "description": "Paths that this scenario leaves out, such as \"subscriptions.items\" or \"setup.indexes\"." }),
    );
    scenario.extend(properties.into_iter().filter(|(key, _)| OVERLAY_KEYS.contains(&key.as_str())));
    let whole = schema["properties"].as_object_mut().expect("a spec is an object");
    whole.insert(
        "scenarios".into(),
        json!({
            "type": "array",
            "description": "Each is laid over all that stands outside scenarios.",
            "items": { "type": "object", "additionalProperties": false, "required": ["name"], "properties": scenario }
        }),
    );
    whole.insert(
        "include".into(),
        json!({ "type": "array", "items": { "type": "string" }, "description": "Files that this one is laid over, as seen from it." }),
    );
    let mut text = serde_json::to_string_pretty(&schema).expect("a schema is JSON");
    text.push('\n');
    text
}

/// TOML has no null: an absent key is simply absent; and empty defaults say nothing.
fn tidy(value: &mut Value) {
    match value {
        Value::Object(object) => {
            if let Some(Value::Array(types)) = object.get_mut("type") {
                types.retain(|kind| kind != "null");
                if types.len() == 1 {
                    let only = types[0].clone();
                    object["type"] = only;
                }
            }
            if let Some(Value::Array(options)) = object.get_mut("anyOf") {
                options.retain(|option| option != &json!({ "type": "null" }));
                if options.len() == 1 {
                    let only = options[0].clone();
                    object.remove("anyOf");
                    if let Value::Object(only) = only {
                        for (key, value) in only {
                            object.entry(key).or_insert(value);
                        }
                    }
                }
            }
            let empty = |value: &Value| value.is_null() || *value == json!({}) || *value == json!([]);
            if object.get("default").is_some_and(empty) {
                object.remove("default");
            }
            object.values_mut().for_each(tidy);
        }
        Value::Array(list) => list.iter_mut().for_each(tidy),
        _ => {}
    }
}
