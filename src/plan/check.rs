//! What is refused when planning: a setting or option that a node's version lacks or refuses, a topology that
//! would go round in circles, a table that could not be updated.

use super::facts::Refusal;
use super::sql::slot;
use super::{Servers, build, options, since};
use crate::spec::Scenario;
use crate::spec::scenario::Consumer;
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
    check_slots(scenario, &major, tell);
    check_two_phase(scenario, tell);
    check_circles(scenario, &major, tell);
}

/// A slot that its node's version cannot create, or whose marker could not be told.
fn check_slots(scenario: &Scenario, major: &dyn Fn(&str) -> Option<u32>, tell: &mut dyn FnMut(Issue)) {
    for (name, slot) in &scenario.slots {
        let created = major(&slot.node).map(|major| slot::create(&build::definition(name, slot), major));
        if let Some(Err(slot::SlotError::TooOld { option, major, since })) = created {
            let span = slot.failover.at.unwrap_or(slot.span);
            let message = format!("PostgreSQL {major} has no slots with `{option}`");
            tell(
                Issue::new(Code::OptionLacking, message, span, format!("{since} is the first that has them"))
                    .help(format!("leave it out, or choose version \"{since}\" or later for `{}`", slot.node)),
            );
        }
        // Where the output cannot be read for the marker, its position is waited for; that of a marker which comes
        // by replication is known to nobody.
        let opaque = slot.consumer.value != Consumer::None && !slot::READABLE.contains(&slot.plugin.as_str());
        let below = scenario.subscriptions.iter().find(|(_, subscription)| subscription.node == slot.node);
        if let (true, Some((first, _))) = (opaque && !slot.plugin.is_empty(), below) {
            let message = format!("nobody could tell when the marker has come to slot `{name}` on `{}`", slot.node);
            tell(
                Issue::new(Code::Impossible, message, slot.span, format!("the output of `{}` is opaque", slot.plugin))
                    .help(format!(
                        "choose plugin = \"test_decoding\" or \"pgoutput\", or leave out subscription `{first}`"
                    )),
            );
        }
    }
}

/// What a subscriber needs to apply prepared transactions.
const SETTING: &str = "max_prepared_transactions";

/// `two_phase` needs prepared transactions on the subscriber, or the apply worker fails for ever.
fn check_two_phase(scenario: &Scenario, tell: &mut dyn FnMut(Issue)) {
    for (name, subscription) in &scenario.subscriptions {
        let Some(option) = subscription.options.get("two_phase").filter(|written| is_on(&written.value)) else {
            continue;
        };
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
                .help(format!(
                    "add max_prepared_transactions = 64 under [nodes.{}.settings]",
                    scenario.numbered.node_table(&subscription.node)
                )),
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

#[cfg(test)]
mod tests {
    use std::path::Path;

    use super::super::facts::Facts;
    use super::super::plan;
    use crate::spec::{Options, Read, read};
    use crate::text::source::SourceMap;

    #[test]
    fn what_a_copy_lacks_is_added_to_the_table_that_it_is_a_copy_of() {
        let text = r#"
title = "t"
[nodes.p]
count = 2
[nodes.s]
count = 2
[[setup]]
name = "table"
nodes = "all"
sql = "CREATE TABLE t (id int PRIMARY KEY)"
[publications.first]
node = "p1"
tables = ["t"]
[subscriptions.feed]
count = 2
node = "s{{ number }}"
publications = ["first"]
options = { two_phase = true }
[[phases]]
name = "wait"
hold = "1s"
"#;
        let mut sources = SourceMap::default();
        sources.add("s.toml", text.to_owned());
        let Read::Done(spec, mut issues) = read(Path::new("s.toml"), &sources, Options::default()) else {
            panic!("all texts are there");
        };
        plan(&spec, &sources, &Facts::default(), &mut issues);
        let mut help: Vec<&str> = issues.as_slice().iter().filter_map(|issue| issue.help.as_deref()).collect();
        help.sort_unstable();
        help.dedup();
        assert_eq!(
            help,
            [
                "add max_prepared_transactions = 64 under [nodes.s.settings]",
                "add wal_level = \"logical\" under [nodes.p.settings]"
            ]
        );
    }
}
