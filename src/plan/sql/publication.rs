//! CREATE PUBLICATION.

use crate::spec::scenario::{Publication, Published};
use crate::text::quote::{identifier, literal, qualified};

/// The statement that creates a publication of the spec.
pub fn create(name: &str, publication: &Publication) -> String {
    let of = match &publication.of {
        Published::AllTables => " FOR ALL TABLES".to_owned(),
        Published::Listed { tables, schemas } => {
            let mut parts = Vec::new();
            if !tables.is_empty() {
                let tables: Vec<String> = tables
                    .iter()
                    .map(|table| {
                        let mut text = qualified(&table.name);
                        if !table.columns.is_empty() {
                            let columns: Vec<String> = table.columns.iter().map(|column| identifier(column)).collect();
                            text += &format!(" ({})", columns.join(", "));
                        }
                        if let Some(filter) = &table.filter {
                            text += &format!(" WHERE ({filter})");
                        }
                        text
                    })
                    .collect();
                parts.push(format!("TABLE {}", tables.join(", ")));
            }
            if !schemas.is_empty() {
                let schemas: Vec<String> = schemas.iter().map(|(schema, _)| identifier(schema)).collect();
                parts.push(format!("TABLES IN SCHEMA {}", schemas.join(", ")));
            }
            if parts.is_empty() { String::new() } else { format!(" FOR {}", parts.join(", ")) }
        }
    };
    format!(
        "CREATE PUBLICATION {}{of}{}",
        identifier(name),
        with(publication.options.iter().map(|(k, v)| (k.as_str(), v.value.as_str())))
    )
}

/// A WITH clause, or nothing. Values are literals: every option takes one.
pub(crate) fn with<'a>(options: impl Iterator<Item = (&'a str, &'a str)>) -> String {
    let list: Vec<String> = options.map(|(name, value)| format!("{} = {}", identifier(name), literal(value))).collect();
    if list.is_empty() { String::new() } else { format!(" WITH ({})", list.join(", ")) }
}

#[cfg(test)]
mod tests {
    use indexmap::IndexMap;

    use super::*;
    use crate::spec::scenario::PublishedTable;
    use crate::text::Span;

    #[test]
    fn names_columns_and_filters_are_quoted() {
        let table = PublishedTable {
            name: vec!["My Schema".into(), "select".into()],
            columns: vec!["Id".into(), "user".into()],
            filter: Some("\"Id\" > 10".into()),
            span: Span::default(),
            narrowed_at: None,
        };
        let publication = Publication {
            span: Span::default(),
            node: "p".into(),
            of: Published::Listed { tables: vec![table], schemas: vec![("S".into(), Span::default())] },
            options: IndexMap::new(),
        };
        assert_eq!(
            create("all", &publication),
            "CREATE PUBLICATION \"all\" FOR TABLE \"My Schema\".\"select\" (\"Id\", \"user\") WHERE (\"Id\" > 10), TABLES IN SCHEMA \"S\""
        );
    }
}
