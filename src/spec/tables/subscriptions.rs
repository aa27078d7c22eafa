//! `[subscriptions.NAME]`.

use indexmap::IndexMap;
use schemars::JsonSchema;
use serde::Deserialize;

use super::nodes::RawSettings;
use super::publications::options;
use crate::spec::field::{At, Field, Later, Named, Templated};
use crate::spec::scalar::Text;
use crate::spec::scenario::{Publication, Subscription};
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
    #[schemars(required)]
    pub(in crate::spec) node: Field<Text>,
    /// Publications by name; all of one node.
    #[schemars(required)]
    pub(in crate::spec) publications: Option<At<Vec<At<Templated<Text>>>>>,
    /// Options of CREATE SUBSCRIPTION, such as { binary = true, streaming = "parallel" }.
    pub(in crate::spec) options: RawSettings,
    #[schemars(skip)]
    pub(in crate::spec) count: Option<At<Later>>,
}

/// Options that the runner must decide, with the reason.
const OURS: &[(&str, &str)] = &[
    ("connect", "the runner connects: there would be nothing to measure otherwise"),
    ("create_slot", "the runner lets CREATE SUBSCRIPTION make the slot"),
    ("slot_name", "the slot has the subscription's name, so that it can be watched"),
    ("enabled", "disable it in a phase: prepare = [{ disable = \"subscriptions.NAME\" }]"),
];

pub(in crate::spec) fn lower(
    raw: &Named<RawSubscription>,
    publications: &IndexMap<String, Publication>,
    scope: &mut Scope<'_, '_>,
) -> IndexMap<String, Subscription> {
    let mut out = IndexMap::new();
    for (name, at) in raw {
        let raw = &at.value;
        let owner = format!("subscription `{}`", name.value);
        scope.later(raw.count.as_ref(), "count", "the matrix");
        let node = scope.required(&raw.node, "node", &owner, name.span).filter(|node| scope.known(Kind::Node, node));
        let options = options(&raw.options, scope);
        for (option, written) in &options {
            if let Some((_, reason)) = OURS.iter().find(|(ours, _)| ours == option) {
                scope.tell(
                    Issue::new(
                        Code::Impossible,
                        format!("`{option}` cannot be set"),
                        written.key_span,
                        "the runner's own",
                    )
                    .help((*reason).to_owned()),
                );
            }
        }
        let Some(list) = raw.publications.as_ref().filter(|list| !list.value.is_empty()) else {
            scope.missing_key("publications", &owner, name.span);
            continue;
        };
        let written: Vec<At<Text>> = list.value.iter().filter_map(|field| scope.at(field)).collect();
        let known: Vec<&At<Text>> = written.iter().filter(|name| scope.known(Kind::Publication, name)).collect();
        let publishers: Vec<(&At<Text>, &Publication)> = known
            .iter()
            .filter_map(|name| publications.get(&name.value.0).map(|publication| (*name, publication)))
            .collect();
        let Some((first_name, first)) = publishers.first() else { continue };
        for (other_name, other) in &publishers[1..] {
            if other.node != first.node {
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
        if let Some(node) = node {
            if node.value.0 == first.node {
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
            out.insert(
                name.value.clone(),
                Subscription {
                    span: name.span,
                    node: node.value.0,
                    publisher: first.node.clone(),
                    publications: publishers.iter().map(|(name, _)| name.value.0.clone()).collect(),
                    options,
                },
            );
        }
    }
    out
}
