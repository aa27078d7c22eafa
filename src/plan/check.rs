//! What is refused when planning: a setting or option that a node's version lacks or refuses, a topology that
//! would go round in circles, a table that could not be updated.

use super::facts::Refusal;
use super::{Servers, options, since};
use crate::spec::Scenario;
use crate::text::{Code, Issue};

/// Every mistake of a scenario that depends on versions or servers. Of one that is unfit to run, what could not be
/// read is not taken for absent.
pub(super) fn check(servers: &Servers<'_>, tell: &mut dyn FnMut(Issue)) {
    let Servers { scenario, facts, .. } = servers;
    let major = |name: &str| servers.major(name);
    options::check(scenario, &major, tell);
    for (name, node) in &scenario.nodes {
        let Some(wanted) = servers.wanted(name) else { continue };
        for (setting, written) in &node.settings {
            let version = facts
                .builds
                .get(&wanted)
                .map_or_else(|| wanted.to_string(), |build| format!("PostgreSQL {}", build.release));
            match facts.refused.get(&(wanted.clone(), setting.clone(), written.value.clone())) {
                None => {}
                Some(Refusal::Lacking) => tell(
                    Issue::new(
                        Code::SettingLacking,
                        format!("{version} has no setting `{setting}`"),
                        written.key_span,
                        format!("node `{name}` runs {version}"),
                    )
                    .help(since::way_out(setting)),
                ),
                Some(Refusal::Value(reason)) => tell(
                    Issue::new(
                        Code::SettingRefused,
                        format!("{version} refuses {setting} = {}", written.value),
                        written.value_span,
                        format!("node `{name}`"),
                    )
                    .help(reason.clone()),
                ),
            }
        }
        // Dotted names are accepted by every server without a word.
        for (setting, written) in node.settings.iter().filter(|(setting, _)| setting.contains('.')) {
            let plain = setting.replace('.', "_");
            if since::COMMON.contains(&plain.as_str()) {
                tell(
                    Issue::new(
                        Code::SettingLacking,
                        format!("`{setting}` would be taken for an extension's setting"),
                        written.key_span,
                        "accepted silently",
                    )
                    .help(format!("did you mean `{plain}`?")),
                );
            }
        }
    }
    check_two_phase(scenario, tell);
    check_circles(scenario, &major, tell);
}

/// `two_phase` needs prepared transactions on the subscriber, or the apply worker fails for ever.
fn check_two_phase(scenario: &Scenario, tell: &mut dyn FnMut(Issue)) {
    for (name, subscription) in &scenario.subscriptions {
        let Some(option) = subscription.options.get("two_phase").filter(|written| is_on(&written.value)) else {
            continue;
        };
        const SETTING: &str = "max_prepared_transactions";
        let Some(node) = scenario.nodes.get(&subscription.node) else { continue };
        let enough = node.settings.get(SETTING).map_or_else(
            || scenario.setting_unread(&subscription.node, SETTING),
            |written| written.value.trim() != "0",
        );
        if !enough {
            tell(
                Issue::new(
                    Code::Impossible,
                    format!(
                        "subscription `{name}` applies prepared transactions, which `{}` cannot hold",
                        subscription.node
                    ),
                    option.value_span,
                    "max_prepared_transactions is 0 there",
                )
                .help(format!("add max_prepared_transactions = 64 under [nodes.{}.settings]", subscription.node)),
            );
        }
    }
}

/// Two nodes that subscribe to each other send rows round for ever unless `origin = none`.
fn check_circles(scenario: &Scenario, major: &dyn Fn(&str) -> Option<u32>, tell: &mut dyn FnMut(Issue)) {
    let known = |node: &str| scenario.nodes.contains_key(node);
    for (name, subscription) in &scenario.subscriptions {
        if !known(&subscription.node) || !known(&subscription.publisher) {
            continue;
        }
        let back = scenario
            .downstream_of(&subscription.node)
            .iter()
            .any(|other| scenario.subscriptions[*other].node == subscription.publisher);
        let filtered =
            subscription.options.get("origin").is_some_and(|written| written.value.eq_ignore_ascii_case("none"));
        let unread = scenario.unread.covers(&["subscriptions", name, "options", "origin"]);
        if back && !unread && (!filtered || major(&subscription.node).is_some_and(|major| major < 16)) {
            tell(
                Issue::new(
                    Code::Impossible,
                    format!("`{}` and `{}` replicate to each other", subscription.publisher, subscription.node),
                    subscription.span,
                    format!("`{name}` closes the circle"),
                )
                .help("add options = { origin = \"none\" } (16 and later) to every subscription of the circle"),
            );
        }
    }
}

fn is_on(value: &str) -> bool {
    ["true", "on", "yes", "1"].contains(&value.to_lowercase().as_str())
}
