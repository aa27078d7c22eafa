//! `--set NAME=VALUE` as TOML, so that a flag is one more source that is laid over the spec.

use toml::de::{DeTable, DeValue};

/// Why a text is no `--set` flag.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum NotAFlag {
    /// Nothing is set.
    #[error("`{0}` sets nothing: write NAME=VALUE, such as clients=4 or run.rounds=1")]
    NoValue(String),
    /// A build without a name, or without what it is.
    #[error("`{0}` is no build: write NAME=WHAT, such as head=15.18 or patched=/usr/local/pgsql")]
    NoBuild(String),
    /// What is set has no name.
    #[error("`{0}` is no name: write a variable's, such as clients, or a path such as run.rounds")]
    NotAName(String),
}

/// The TOML of a flag as written. A bare name is a variable. The value is TOML if it reads as TOML, else text; a
/// number where text is wanted is taken as it was written when the spec is read.
pub fn flag(written: &str) -> Result<String, NotAFlag> {
    let (name, value) = written.split_once('=').ok_or_else(|| NotAFlag::NoValue(written.to_owned()))?;
    let (name, value) = (name.trim(), value.trim());
    let path = if name.contains('.') { name.to_owned() } else { format!("vars.{name}") };
    let alone = format!("{path} = 0");
    let is_name = !name.is_empty() && !name.contains(['\n', '\r', '#']) && DeTable::parse(&alone).is_ok();
    if !is_name {
        return Err(NotAFlag::NotAName(name.to_owned()));
    }
    let value = match DeValue::parse(value) {
        Ok(_) => value.to_owned(),
        Err(_) => toml::Value::String(value.to_owned()).to_string(),
    };
    Ok(format!("{path} = {value}"))
}

/// The TOML of `--build NAME=WHAT`: a version, or a folder.
pub fn build_flag(written: &str) -> Result<String, NotAFlag> {
    let (name, what) = written.split_once('=').ok_or_else(|| NotAFlag::NoBuild(written.to_owned()))?;
    let (name, what) = (name.trim(), what.trim());
    if !super::scope::is_name(name) || what.is_empty() {
        return Err(NotAFlag::NoBuild(written.to_owned()));
    }
    let is_version = what.split('.').all(|part| !part.is_empty() && part.chars().all(|c| c.is_ascii_digit()));
    let key = if is_version { "version" } else { "path" };
    Ok(format!("builds.{name}.{key} = {}", toml::Value::String(what.to_owned())))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn a_bare_name_is_a_variable_and_a_path_is_a_path() {
        for (written, expected) in [
            ("clients=4", "vars.clients = 4"),
            ("run.rounds=1", "run.rounds = 1"),
            ("slice=30s", "vars.slice = \"30s\""),
            ("run.order=shuffled", "run.order = \"shuffled\""),
            ("label=\"30\"", "vars.label = \"30\""),
            ("load = a=b", "vars.load = \"a=b\""),
            ("x=", "vars.x = \"\""),
            ("x=it's", "vars.x = \"it's\""),
            ("publications.items.tables=[\"a\", \"b\"]", "publications.items.tables = [\"a\", \"b\"]"),
        ] {
            assert_eq!(flag(written).as_deref(), Ok(expected), "{written}");
        }
    }

    #[test]
    fn what_sets_nothing_is_refused() {
        assert_eq!(flag("clients"), Err(NotAFlag::NoValue("clients".to_owned())));
        for written in ["=4", "a b=4", "a..b=4", "a.=4", "[x]=4", "a\nb=4"] {
            assert!(matches!(flag(written), Err(NotAFlag::NotAName(_))), "{written:?}");
        }
    }

    proptest! {
        #[test]
        fn a_flag_is_one_key_of_toml_whatever_its_value(value in ".{0,40}") {
            let text = flag(&format!("a.b={value}")).expect("it has a name");
            let table = DeTable::parse(&text).expect("TOML");
            prop_assert_eq!(table.get_ref().len(), 1);
            prop_assert_eq!(table.get_ref()["a"].get_ref().as_table().map(toml::map::Map::len), Some(1));
        }
    }
}
