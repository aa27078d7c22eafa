//! The JSON Schema that editors read: it is the reader's own, and it takes every shipped spec.

use std::path::Path;

use serde_json::Value;

use crate::specs::specs_in;
use crate::texts::top;

/// Set, the schema is written instead of compared.
const WRITE: &str = "RUNNER_WRITE_SCHEMA";

#[test]
fn the_committed_schema_is_the_readers_own() {
    let path = top().join("templates/spec.schema.json");
    let schema = runner::spec::schema();
    if std::env::var_os(WRITE).is_some() {
        std::fs::write(&path, &schema).expect("the schema can be written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(
        committed == schema,
        "templates/spec.schema.json is not what the reader takes; write it anew by {WRITE}=1 cargo test schema"
    );
}

#[test]
fn every_shipped_spec_names_the_schema_in_its_first_line() {
    for path in specs_in("specs") {
        let text = std::fs::read_to_string(top().join(&path)).expect("a spec");
        let first = text.lines().next().unwrap_or_default();
        let named = first.strip_prefix("#:schema ").unwrap_or_else(|| panic!("{} names none", path.display()));
        let folder = path.parent().unwrap_or(Path::new(""));
        assert!(top().join(folder).join(named).is_file(), "{}: there is no {named}", path.display());
    }
}

#[test]
fn the_schema_takes_every_spec_that_the_reader_takes() {
    let mut taken = specs_in("specs");
    taken.push("tests/fixtures/layers/layers.toml".into());
    for path in taken {
        let text = std::fs::read_to_string(top().join(&path)).expect("a spec");
        let refused = refusals(&text);
        assert_eq!(refused, Vec::<String>::new(), "{}", path.display());
    }
}

#[test]
fn the_schema_refuses_what_the_reader_refuses_by_type() {
    for (text, expected) in [
        ("tilte = 'x'", "/tilte"),
        ("title = 1", "/title"),
        ("run.rounds = 0", "/run/rounds"),
        ("run.rounds = 'three'", "/run/rounds"),
        ("run.order = 'sorted'", "/run/order"),
        ("postgres.checksums = 'yes'", "/postgres/checksums"),
        ("[[phases]]\nname = 'x'\nhold = '30'", "/phases/0/hold"),
        ("[[phases]]\nhold = '30s'", "/phases/0"),
        ("[[scenarios]]\nname = 'x'\nrun.rounds = 1", "/scenarios/0/run"),
        ("[[scenarios]]\nname = 'X'", "/scenarios/0/name"),
        ("[standbys.x]\nof = 'p'", "/standbys"),
        ("[slots.x]\nconsumer = 'me'", "/slots/x/consumer"),
        ("[[expect]]\nclaim = 'x'\nratio = { of = 1 }", "/expect/0/ratio/of"),
        ("[[scenarios]]\nname = 'x'\nsetup = [{ sql = 'SELECT 1' }]", "/scenarios/0/setup/0"),
    ] {
        let refused = refusals(text);
        assert_eq!(refused, [expected], "{text}");
    }
}

/// Paths in a text of TOML that the schema refuses.
fn refusals(text: &str) -> Vec<String> {
    let schema: Value = serde_json::from_str(&runner::spec::schema()).expect("JSON");
    let table: toml::Table = toml::from_str(text).expect("TOML");
    let spec = serde_json::to_value(table).expect("TOML without dates is JSON");
    let mut out = Vec::new();
    Validator { root: &schema }.validate(&schema, &spec, "", &mut out);
    out
}

/// The part of JSON Schema that the schema uses; anything else is an error of this test.
struct Validator<'a> {
    root: &'a Value,
}

impl Validator<'_> {
    fn validate(&self, schema: &Value, value: &Value, path: &str, out: &mut Vec<String>) {
        let Some(keywords) = schema.as_object() else {
            assert_eq!(*schema, Value::Bool(true), "a schema that is neither a table nor true");
            return;
        };
        let mut fits = true;
        for (keyword, of) in keywords {
            match keyword.as_str() {
                "$schema" | "title" | "description" | "definitions" | "default" | "format" => {}
                "$ref" => {
                    let pointer = of.as_str().and_then(|name| name.strip_prefix('#')).expect("within the schema");
                    self.validate(self.root.pointer(pointer).expect("defined"), value, path, out);
                }
                "allOf" => {
                    for part in list(of) {
                        self.validate(part, value, path, out);
                    }
                }
                "anyOf" | "oneOf" => {
                    fits &= list(of).iter().any(|option| {
                        let mut inner = Vec::new();
                        self.validate(option, value, path, &mut inner);
                        inner.is_empty()
                    });
                }
                "type" => {
                    fits &= match of {
                        Value::Array(types) => types.iter().any(|kind| is_a(value, kind)),
                        kind => is_a(value, kind),
                    };
                }
                "enum" => fits &= list(of).contains(value),
                "const" => fits &= of == value,
                "minimum" => fits &= value.as_f64().is_none_or(|n| Some(n) >= of.as_f64()),
                "exclusiveMinimum" => fits &= value.as_f64().is_none_or(|n| Some(n) > of.as_f64()),
                "minItems" => fits &= value.as_array().is_none_or(|items| Some(items.len() as u64) >= of.as_u64()),
                "maxItems" => fits &= value.as_array().is_none_or(|items| Some(items.len() as u64) <= of.as_u64()),
                "pattern" => fits &= value.as_str().is_none_or(|text| matches_pattern(text, of)),
                "required" => {
                    fits &= value.as_object().is_none_or(|object| {
                        list(of).iter().filter_map(Value::as_str).all(|key| object.contains_key(key))
                    });
                }
                "items" => {
                    for (index, item) in value.as_array().into_iter().flatten().enumerate() {
                        self.validate(of, item, &format!("{path}/{index}"), out);
                    }
                }
                "properties" => {
                    for (key, inner) in value.as_object().into_iter().flatten() {
                        if let Some(property) = of.get(key) {
                            self.validate(property, inner, &format!("{path}/{key}"), out);
                        }
                    }
                }
                "additionalProperties" => {
                    let known = keywords.get("properties");
                    for (key, inner) in value.as_object().into_iter().flatten() {
                        if known.is_some_and(|known| known.get(key).is_some()) {
                            continue;
                        }
                        let path = format!("{path}/{key}");
                        if *of == Value::Bool(false) {
                            out.push(path);
                        } else {
                            self.validate(of, inner, &path, out);
                        }
                    }
                }
                other => panic!("the schema uses `{other}`, which this test does not know"),
            }
        }
        if !fits {
            out.push(path.to_owned());
        }
    }
}

fn list(of: &Value) -> &Vec<Value> {
    of.as_array().expect("a list")
}

fn is_a(value: &Value, kind: &Value) -> bool {
    match kind.as_str().expect("a type") {
        "string" => value.is_string(),
        "integer" => value.is_i64() || value.is_u64(),
        "number" => value.is_number(),
        "boolean" => value.is_boolean(),
        "array" => value.is_array(),
        "object" => value.is_object(),
        other => panic!("no type of TOML: {other}"),
    }
}

/// The patterns of the schema, by hand: three are no reason for a regular expression engine.
fn matches_pattern(text: &str, pattern: &Value) -> bool {
    match pattern.as_str().expect("a pattern") {
        "^[a-z][a-z0-9_]*$" => {
            text.starts_with(|c: char| c.is_ascii_lowercase())
                && text.chars().all(|c| c.is_ascii_lowercase() || c.is_ascii_digit() || c == '_')
        }
        r"^\s*\{\{.*\}\}\s*$" => text.trim().starts_with("{{") && text.trim().ends_with("}}"),
        r"^\s*[0-9]+(\.[0-9]+)?\s*(us|ms|s|min|h|d)\s*$" => runner::text::parse_duration(text).is_ok(),
        other => panic!("a pattern that this test does not know: {other}"),
    }
}
