//! `[subscriptions.NAME]`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::nodes::RawSettings;
use super::publications::options;
use crate::spec::field::{At, Field, Templated};
use crate::spec::numbered::{Copy, Numbered};
use crate::spec::scalar::{Number, Text};
use crate::spec::scenario::{Publication, Subscription, UNREAD_NAME};
use crate::spec::scope::{Kind, Scope};
use crate::text::{Code, Issue};

/// A subscription.
#[derive(Debug, Default, Deserialize, JsonSchema)]
#[serde(
    deny_unknown_fields,
    default,
    expecting = "a table such as { node = \"subscriber\", publications = [\"items\"] }"
)]
#[schemars(rename = "Subscription")]
pub(in crate::spec) struct RawSubscription {
    /// Node that subscribes.
    pub(in crate::spec) node: Field<Text>,
    /// Publications by name; all of one node.
    pub(in crate::spec) publications: Option<At<Vec<At<Templated<Text>>>>>,
    /// Options of CREATE SUBSCRIPTION, such as { binary = true, streaming = "parallel" }.
    pub(in crate::spec) options: RawSettings,
    /// Makes so many of it, NAME1 … NAMEN, in whose templates `number` is the number.
    pub(in crate::spec) count: Field<Number>,
}

impl Numbered for RawSubscription {
    const KIND: Kind = Kind::Subscription;
    fn count(&self) -> &Field<Number> {
        &self.count
    }
}

/// Options that the runner must decide, with the reason.
const OURS: &[(&str, &str)] = &[
    ("connect", "the runner connects: there would be nothing to measure otherwise"),
    ("create_slot", "the runner lets CREATE SUBSCRIPTION make the slot"),
    ("slot_name", "the slot has the subscription's name, so that it can be watched"),
    ("enabled", "disable it in a phase: prepare = [{ disable = \"subscriptions.NAME\" }]"),
];

pub(in crate::spec) fn lower(
    copies: &[Copy<'_, RawSubscription>],
    publications: &IndexMap<String, Publication>,
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, Subscription> {
    let mut out = IndexMap::new();
    for Copy { name, base, raw: at, number } in copies {
        scope.enter("subscriptions", base, at.span);
        scope.number(*number);
        let raw = &at.value;
        let owner = format!("subscription `{}`", base.value);
        let place = (at.span, name.span);
        let node = scope.required(&raw.node, "node", &owner, place).filter(|node| scope.known(Kind::Node, node));
        let mut options = options(&raw.options, &["subscriptions", &base.value], scope);
        options.retain(|option, written| {
            let Some((_, reason)) = OURS.iter().find(|(ours, _)| ours == option) else { return true };
            scope.tell(
                Issue::new(Code::Impossible, format!("`{option}` cannot be set"), written.key_span, "the runner's own")
                    .help((*reason).to_owned()),
            );
            false
        });
        let list = raw.publications.as_ref().map(|list| list.value.as_slice()).unwrap_or_default();
        if list.is_empty() {
            scope.missing_key("publications", &owner, place);
        }
        let written: Vec<At<Text>> = list.iter().filter_map(|field| scope.at(field)).collect();
        let known: Vec<&At<Text>> = written.iter().filter(|name| scope.known(Kind::Publication, name)).collect();
        let publishers: Vec<(&At<Text>, &Publication)> = known
            .iter()
            .filter_map(|name| publications.get(&name.value.0).map(|publication| (*name, publication)))
            .filter(|(_, publication)| publication.node != UNREAD_NAME)
            .collect();
        let first = publishers.first();
        for (other_name, other) in publishers.iter().skip(1) {
            if let Some((first_name, first)) = first
                && other.node != first.node
            {
                scope.tell(
                    Issue::new(
                        Code::Impossible,
                        format!("{owner} names publications of two nodes, `{}` and `{}`", first.node, other.node),
                        other_name.span,
                        format!("on `{}`", other.node),
                    )
                    .also(first_name.span, format!("on `{}`", first.node))
                    .help("make a subscription for each publisher"),
                );
            }
        }
        if let (Some(node), Some((_, first))) = (&node, first)
            && node.value.0 == first.node
        {
            scope.tell(
                Issue::new(
                    Code::Impossible,
                    format!("{owner} subscribes to its own node"),
                    node.span,
                    "publishes already",
                )
                .help("choose another node"),
            );
        }
        let name_or_unread = |name: Option<String>| name.unwrap_or_else(|| UNREAD_NAME.to_owned());
        out.insert(
            name.value.clone(),
            Subscription {
                span: name.span,
                publisher: name_or_unread(first.map(|(_, first)| first.node.clone())),
                node: name_or_unread(node.map(|node| node.value.0)),
                publications: known.iter().map(|name| name.value.0.clone()).collect(),
                options,
            },
        );
    }
    scope.number(None);
    out
}
