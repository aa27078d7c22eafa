//! `without`: what a scenario leaves out of what it is laid over.

use toml::Spanned;
use toml::de::{DeArray, DeTable, DeValue};

use super::document::{Table, Value, text_of};
use super::root::OVERLAY_KEYS;
use crate::text::suggest::nearest;
use crate::text::{Code, Issue, Issues};

/// Removes `without = ["subscriptions.items", "setup.indexes"]`; in arrays of tables the name is looked for. Gives
/// the paths that are not there.
pub(super) fn leave_out(table: &mut Table<'_>, paths: &Value<'_>, issues: &mut Issues) -> Vec<(String, Issue)> {
    let mut not_there = Vec::new();
    let Some(list) = paths.get_ref().as_array() else {
        issues.push(
            Issue::new(Code::WrongType, "`without` is a list of paths", paths.span(), "not a list")
                .help("write without = [\"subscriptions.items\"]"),
        );
        return not_there;
    };
    for item in list {
        let Some(path) = item.get_ref().as_str() else {
            issues.push(
                Issue::new(Code::WrongType, "a path is a string", item.span(), "not a string")
                    .help("write without = [\"subscriptions.items\"]"),
            );
            continue;
        };
        let parts: Vec<&str> = path.split('.').collect();
        if remove_path(table, &parts) {
            continue;
        }
        let issue = Issue::new(
            Code::NothingToRemove,
            format!("there is no `{path}` to leave out"),
            item.span(),
            "nothing of that path",
        );
        let known = known_paths(table);
        let issue = match nearest(path, known.iter().map(String::as_str)) {
            Some(near) => issue.help(format!("did you mean `{near}`?")),
            None => {
                issue.help("leave it out here, or name what is there, such as `subscriptions.items` or `setup.rows`")
            }
        };
        // An entry without a name is told; it may be the one that is meant.
        let all_named = table
            .get(parts[0])
            .and_then(|list| list.get_ref().as_array())
            .is_none_or(|list| list.iter().all(|item| text_of(item, "name").is_some()));
        if all_named {
            not_there.push((path.to_owned(), issue));
        }
    }
    not_there
}

fn remove_path(table: &mut Table<'_>, path: &[&str]) -> bool {
    let Some((head, rest)) = path.split_first() else { return false };
    if rest.is_empty() {
        return table.remove(*head).is_some();
    }
    let mut found = false;
    // `DeTable` gives no mutable tables: each entry is taken out, changed and put back in its place.
    *table = std::mem::take(table)
        .into_iter()
        .map(|(key, value)| {
            if key.get_ref() != *head {
                return (key, value);
            }
            let span = value.span();
            let inner = match value.into_inner() {
                DeValue::Table(mut inner) => {
                    found = remove_path(&mut inner, rest);
                    DeValue::Table(inner)
                }
                DeValue::Array(array) => {
                    let kept: DeArray<'_> = array
                        .into_iter()
                        .filter_map(|value| {
                            if text_of(&value, "name") != Some(rest[0]) {
                                return Some(value);
                            }
                            if rest.len() == 1 {
                                found = true;
                                return None;
                            }
                            let span = value.span();
                            let DeValue::Table(mut inner) = value.into_inner() else {
                                unreachable!("it has a name, so it is a table");
                            };
                            found = remove_path(&mut inner, &rest[1..]);
                            Some(Spanned::new(span, DeValue::Table(inner)))
                        })
                        .collect();
                    DeValue::Array(kept)
                }
                other => other,
            };
            (key, Spanned::new(span, inner))
        })
        .collect::<DeTable<'_>>();
    found
}

/// Paths of entries of a scenario, for suggestions; of tables within tables all that a path can name.
fn known_paths(table: &Table<'_>) -> Vec<String> {
    fn below(prefix: &str, table: &Table<'_>, out: &mut Vec<String>) {
        for (key, value) in table {
            let path = format!("{prefix}{}", key.get_ref());
            match value.get_ref() {
                DeValue::Table(inner) => below(&format!("{path}."), inner, out),
                DeValue::Array(list) => out
                    .extend(list.iter().filter_map(|item| text_of(item, "name")).map(|name| format!("{path}.{name}"))),
                _ => {}
            }
            out.push(path);
        }
    }
    let mut out = Vec::new();
    let changeable = table.iter().filter(|(key, _)| OVERLAY_KEYS.contains(&key.get_ref().as_ref()));
    below("", &changeable.map(|(key, value)| (key.clone(), value.clone())).collect(), &mut out);
    out
}
