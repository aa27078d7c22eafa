//! `[slots.NAME]`: logical slots that are decoded without a subscription.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::{Deserialize, Deserializer, de};

use crate::spec::field::{At, Field, Named, Templated};
use crate::spec::numbered::is_copy;
use crate::spec::scalar::{Flag, OneOf, Setting, Text, Word};
use crate::spec::scenario::{Consumer, OptionValue, Publication, Slot, SlotOption, UNREAD_NAME};
use crate::spec::scope::{Chosen, Kind, Scope};
use crate::text::{Code, Issue};

/// A logical slot that is decoded without a subscription.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { node = \"publisher\", plugin = \"test_decoding\" }"
)]
#[schemars(rename = "Slot")]
pub(in crate::spec) struct RawSlot {
    /// Node whose WAL is decoded.
    pub(in crate::spec) node: Field<Text>,
    /// Output plugin: `test_decoding`, `pgoutput`, or any other that the server has.
    pub(in crate::spec) plugin: Field<Text>,
    /// Options of the plugin by its own names. A list holds identifiers, each quoted for the plugin:
    /// `{ publication_names = ["MyPub"] }`.
    pub(in crate::spec) options: RawPluginOptions,
    /// What takes the stream: `runner` (the default: the runner's own client), `pg_recvlogical`, or `none`: nothing is
    /// decoded and the slot retains WAL.
    pub(in crate::spec) consumer: Field<OneOf<Consumer>>,
    /// Whether prepared transactions are decoded at PREPARE. Default false.
    pub(in crate::spec) two_phase: Field<Flag>,
    /// Whether the slot is kept on standbys too (17 and later). Default false.
    pub(in crate::spec) failover: Field<Flag>,
}

/// Options of a plugin.
type RawPluginOptions = IndexMap<At<String>, At<RawOption>>;

/// An option: a scalar, or identifiers.
#[derive(Clone, Debug)]
pub(in crate::spec) enum RawOption {
    Plain(Templated<Setting>),
    Names(Vec<At<Templated<Text>>>),
}

impl<'de> Deserialize<'de> for RawOption {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = RawOption;
            fn expecting(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
                f.write_str("a string, a number, a boolean, or a list of identifiers such as [\"MyPub\"]")
            }
            fn visit_bool<E: de::Error>(self, value: bool) -> Result<RawOption, E> {
                Ok(RawOption::Plain(Templated::Literal(Setting(value.to_string()))))
            }
            fn visit_i64<E: de::Error>(self, value: i64) -> Result<RawOption, E> {
                Ok(RawOption::Plain(Templated::Literal(Setting(value.to_string()))))
            }
            fn visit_f64<E: de::Error>(self, value: f64) -> Result<RawOption, E> {
                Ok(RawOption::Plain(Templated::Literal(Setting(value.to_string()))))
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<RawOption, E> {
                Ok(RawOption::Plain(if crate::spec::field::is_template(text) {
                    Templated::Template(text.to_owned())
                } else {
                    Templated::Literal(Setting(text.to_owned()))
                }))
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, seq: A) -> Result<RawOption, A::Error> {
                Vec::deserialize(de::value::SeqAccessDeserializer::new(seq)).map(RawOption::Names)
            }
        }
        deserializer.deserialize_any(Visitor)
    }
}

impl JsonSchema for RawOption {
    fn inline_schema() -> bool {
        true
    }
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "PluginOption".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({ "anyOf": [
            { "type": ["string", "number", "boolean"] },
            { "type": "array", "items": { "type": "string" } },
        ] })
    }
}

impl Word for Consumer {
    const EXPECTED: &'static str = "`runner`, `pg_recvlogical` or `none`";
    const WORDS: &'static [(&'static str, Self)] =
        &[("runner", Consumer::Runner), ("pg_recvlogical", Consumer::PgRecvlogical), ("none", Consumer::None)];
}

/// The plugin whose publications are checked; as `plan::sql::slot` has them, which may not be imported here.
const PGOUTPUT: &str = "pgoutput";
/// Plugins whose output `pg_recvlogical` writes in a form in which the marker is found.
const READABLE: &[&str] = &["test_decoding", PGOUTPUT];
/// The option of pgoutput that names publications.
const PUBLICATION_NAMES: &str = "publication_names";

pub(in crate::spec) fn lower(
    raw: &Named<RawSlot>,
    publications: &IndexMap<String, Publication>,
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, Slot> {
    let mut out = IndexMap::new();
    for (name, at) in raw {
        scope.enter("slots", name, at.span);
        let raw = &at.value;
        let owner = format!("slot `{}`", name.value);
        let place = (at.span, name.span);
        // The slot of a subscription has the subscription's name. One called like a copy is told of the whole spec.
        let like_copy = scope.names.counted(Kind::Subscription).any(|(base, _)| is_copy(&name.value, base));
        if !like_copy && scope.names.subscriptions.contains(&name.value) {
            let issue = Issue::new(
                Code::BadName,
                format!("`{}` is both a slot and a subscription", name.value),
                name.span,
                "a slot",
            );
            scope.tell(issue.help("give one of them another name: the slot of a subscription has its name"));
        }
        let node = scope.required(&raw.node, "node", &owner, place).filter(|node| scope.known(Kind::Node, node));
        let plugin = scope.required(&raw.plugin, "plugin", &owner, place);
        let consumer = scope.chosen(&raw.consumer, Consumer::Runner, |word| word.0);
        let options = options(name, &raw.options, scope);
        let node = node.map_or_else(|| UNREAD_NAME.to_owned(), |node| node.value.0);
        if let Some(plugin) = &plugin {
            if plugin.value.0 == PGOUTPUT {
                check_publications(&owner, name, &node, &options, publications, scope);
            }
            if let (Consumer::PgRecvlogical, Some(at)) = (consumer.value, consumer.at)
                && !READABLE.contains(&plugin.value.0.as_str())
            {
                let issue = Issue::new(
                    Code::Impossible,
                    format!("what pg_recvlogical writes of `{}` cannot be read for the marker", plugin.value.0),
                    at,
                    "not with this plugin",
                );
                scope.tell(issue.also(plugin.span, "this plugin").help(
                    "choose consumer = \"runner\", which follows positions, or one of test_decoding and pgoutput",
                ));
            }
        }
        let slot = Slot {
            span: name.span,
            node,
            plugin: plugin.map_or_else(String::new, |plugin| plugin.value.0),
            options,
            consumer,
            two_phase: flag(&raw.two_phase, scope),
            failover: flag(&raw.failover, scope),
        };
        out.insert(name.value.clone(), slot);
    }
    out
}

fn flag(field: &Field<Flag>, scope: &mut Scope<'_, '_>) -> Chosen<bool> {
    scope.chosen(field, false, |flag| flag.0)
}

/// Options in their order. Their names are the plugin's, which tells capitals apart.
fn options(slot: &At<String>, raw: &RawPluginOptions, scope: &mut Scope<'_, '_>) -> IndexMap<String, SlotOption> {
    let mut out = IndexMap::new();
    for (name, at) in raw {
        let value = match &at.value {
            RawOption::Plain(field) => {
                let written = At { span: at.span, value: field.clone() };
                scope.at(&written).map(|at| OptionValue::Plain(at.value.0))
            }
            RawOption::Names(list) => {
                let names: Vec<At<Text>> = list.iter().filter_map(|field| scope.at(field)).collect();
                let whole = names.len() == list.len();
                whole.then(|| OptionValue::Names(names.into_iter().map(|at| (at.value.0, at.span)).collect()))
            }
        };
        match value {
            Some(value) => {
                out.insert(name.value.clone(), SlotOption { value, key_span: name.span, value_span: at.span });
            }
            None => scope.unread.note(None, ["slots", &slot.value, "options", &name.value]),
        }
    }
    out
}

/// pgoutput decodes nothing of a publication that is not there, without a word: each must be one of the node's.
fn check_publications(
    owner: &str,
    name: &At<String>,
    node: &str,
    options: &IndexMap<String, SlotOption>,
    publications: &IndexMap<String, Publication>,
    scope: &mut Scope<'_, '_>,
) {
    let Some(option) = options.get(PUBLICATION_NAMES) else {
        if !scope.unread.covers(&["slots", &name.value, "options", PUBLICATION_NAMES]) {
            let message = format!("{owner} names no publications, without which pgoutput does not start");
            let issue = Issue::new(Code::MissingKey, message, name.span, "this one");
            scope.tell(issue.help("add options = { publication_names = [\"…\"] }"));
        }
        return;
    };
    let OptionValue::Names(names) = &option.value else {
        let message = format!("`{PUBLICATION_NAMES}` is a list of publications");
        let issue = Issue::new(Code::WrongType, message, option.value_span, "not a list");
        scope.tell(issue.help("write it as a list such as [\"events\"]; each name is quoted for the plugin"));
        return;
    };
    for (publication, span) in names {
        let written = At { span: *span, value: Text(publication.clone()) };
        if !scope.known(Kind::Publication, &written) {
            continue;
        }
        if let Some(known) = publications.get(publication)
            && known.node != node
            && node != UNREAD_NAME
            && known.node != UNREAD_NAME
        {
            let issue = Issue::new(
                Code::Impossible,
                format!("{owner} is on `{node}`, its publication `{publication}` on `{}`", known.node),
                *span,
                format!("on `{}`", known.node),
            );
            scope.tell(issue.help(format!("make the slot on `{}`, or name publications of `{node}`", known.node)));
        }
    }
}
