//! `[publications.NAME]`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use super::nodes::RawSettings;
use crate::spec::field::{At, Field, Named, Templated, is_template};
use crate::spec::scalar::{Flag, Text};
use crate::spec::scenario::{Publication, Published, PublishedTable, UNREAD_NAME, Written};
use crate::spec::scope::{Kind, Scope};
use crate::text::quote::parse_name;
use crate::text::{Code, Issue, Span};

/// A publication.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default, expecting = "a table such as { node = \"publisher\", tables = [\"items\"] }")]
#[schemars(rename = "Publication")]
pub(in crate::spec) struct RawPublication {
    /// Node that publishes.
    pub(in crate::spec) node: Field<Text>,
    /// Tables as SQL names them, or tables with `name`, `columns` and `where`.
    pub(in crate::spec) tables: Option<At<Vec<At<RawTable>>>>,
    /// Every table in these schemas (15 and later).
    pub(in crate::spec) schemas: Option<At<Vec<At<Templated<Text>>>>>,
    /// Every table.
    pub(in crate::spec) all_tables: Field<Flag>,
    /// Options of CREATE PUBLICATION, such as { publish = "insert" }.
    pub(in crate::spec) options: RawSettings,
}

/// A table of a publication.
#[derive(Debug)]
pub(in crate::spec) enum RawTable {
    Name(Templated<Text>),
    Narrowed(RawNarrowed),
}

/// A table with a column list or a row filter.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(deny_unknown_fields, default)]
#[schemars(rename = "PublishedTable")]
pub(in crate::spec) struct RawNarrowed {
    /// Table as SQL names it.
    name: Field<Text>,
    /// Columns that are published (15 and later); default all.
    columns: Option<At<Vec<At<Templated<Text>>>>>,
    /// Row filter (15 and later): only rows for which this holds.
    r#where: Field<Text>,
}

impl<'de> Deserialize<'de> for RawTable {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RawTable;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str(
                    "a table's name such as \"items\", or { name = \"items\", columns = [\"id\"], where = \"id > 0\" }",
                )
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawTable, E> {
                Ok(RawTable::Name(if is_template(text) {
                    Templated::Template(text.to_owned())
                } else {
                    Templated::Literal(Text(text.to_owned()))
                }))
            }
            fn visit_map<A: de::MapAccess<'de>>(self, map: A) -> Result<RawTable, A::Error> {
                RawNarrowed::deserialize(de::value::MapAccessDeserializer::new(map)).map(RawTable::Narrowed)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for RawTable {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PublicationTable".into()
    }
    fn json_schema(generator: &mut schemars::SchemaGenerator) -> schemars::Schema {
        let narrowed = generator.subschema_for::<RawNarrowed>();
        schemars::json_schema!({ "anyOf": [{ "type": "string" }, narrowed] })
    }
}

pub(in crate::spec) fn lower(raw: &Named<RawPublication>, scope: &mut Scope<'_, '_>) -> IndexMap<String, Publication> {
    let mut out = IndexMap::new();
    for (name, at) in raw {
        scope.enter("publications", name, at.span);
        let raw = &at.value;
        let owner = format!("publication `{}`", name.value);
        let place = (at.span, name.span);
        let node = scope.required(&raw.node, "node", &owner, place).filter(|node| scope.known(Kind::Node, node));
        let options = options(&raw.options, &["publications", &name.value], scope);
        let of = published(raw, &owner, place, scope)
            .unwrap_or(Published::Listed { tables: Vec::new(), schemas: Vec::new() });
        let node = node.map_or_else(|| UNREAD_NAME.to_owned(), |node| node.value.0);
        out.insert(name.value.clone(), Publication { span: name.span, node, of, options });
    }
    out
}

fn published(raw: &RawPublication, owner: &str, at: (Span, Span), scope: &mut Scope<'_, '_>) -> Option<Published> {
    let all = scope.value(&raw.all_tables);
    let listed = raw.tables.as_ref().map(|list| list.span).or(raw.schemas.as_ref().map(|list| list.span));
    if let Some(all) = all
        && all.value.0
    {
        return scope
            .exactly_one(owner, at, &[("all_tables", Some(all.span)), ("tables", listed)])
            .then_some(Published::AllTables);
    }
    if listed.is_none() {
        scope.exactly_one(owner, at, &[("tables", None), ("schemas", None), ("all_tables", None)]);
        return None;
    }
    let mut tables = Vec::new();
    for entry in raw.tables.iter().flat_map(|list| &list.value) {
        let (name, narrowed) = match &entry.value {
            RawTable::Name(name) => (scope.at(&At { span: entry.span, value: name.clone() }), None),
            RawTable::Narrowed(narrowed) => {
                (scope.required(&narrowed.name, "name", "a published table", (entry.span, entry.span)), Some(narrowed))
            }
        };
        let Some(name) = name else { continue };
        let Some(parsed) = parse_name(&name.value.0) else {
            scope.tell(
                Issue::new(Code::BadName, format!("`{}` is no table's name", name.value.0), name.span, "not a name")
                    .help("write it as SQL would: items, public.items or \"My Schema\".\"My Table\""),
            );
            continue;
        };
        let mut table =
            PublishedTable { name: parsed, columns: Vec::new(), filter: None, span: name.span, narrowed_at: None };
        if let Some(narrowed) = narrowed {
            for column in narrowed.columns.iter().flat_map(|list| &list.value) {
                if let Some(column) = scope.at(column) {
                    table.columns.push(column.value.0);
                    table.narrowed_at = table.narrowed_at.or(Some(column.span));
                }
            }
            if let Some(filter) = scope.value(&narrowed.r#where) {
                table.narrowed_at = table.narrowed_at.or(Some(filter.span));
                table.filter = Some(filter.value.0);
            }
        }
        tables.push(table);
    }
    let schemas = raw
        .schemas
        .iter()
        .flat_map(|list| &list.value)
        .filter_map(|field| scope.at(field))
        .map(|at| (at.value.0, at.span))
        .collect();
    Some(Published::Listed { tables, schemas })
}

/// Options of the table at `path` by PostgreSQL's own names, folded to lower case as SQL would.
pub(in crate::spec) fn options(
    raw: &RawSettings,
    path: &[&str],
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, Written> {
    let mut out = IndexMap::new();
    for (name, field) in raw {
        let Some(at) = scope.at(field) else {
            scope.unread.note(None, path.iter().copied().chain(["options", &name.value.to_lowercase()]));
            continue;
        };
        out.insert(name.value.to_lowercase(), Written { value: at.value.0, key_span: name.span, value_span: at.span });
    }
    out
}
