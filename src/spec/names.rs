//! Names that claims and tables may refer to, from what is written.

use std::collections::{BTreeMap, BTreeSet};

use indexmap::IndexMap;

use super::field::{At, Named};
use super::numbered::{self, Numbered};
use super::root::RawSpec;
use super::scenario::{self, Scenario};
use super::unread::Unread;
use super::{overlay, refer};
use crate::text::SourceMap;

/// Tables of a kind with `count`, and the most copies that a cell has; no bound where one of the counts could not be had.
pub(super) fn numbered_names<T: Numbered>(
    raws: &[(RawSpec, Unread)],
    tables: fn(&RawSpec) -> &Named<T>,
    scenarios: &[&Scenario],
    counts: fn(&scenario::Numbered) -> &IndexMap<String, u64>,
) -> BTreeMap<String, u64> {
    let mut out = BTreeMap::new();
    for (raw, unread) in raws {
        for base in numbered::bases(tables(raw), unread, true) {
            let lost = |scenario: &&&Scenario| {
                scenario.unread.names_below(&[T::KIND.words().2, &base.value]).any(|key| key == numbered::COUNT)
            };
            let all = || scenarios.iter().filter_map(|scenario| counts(&scenario.numbered).get(&base.value));
            let most = if scenarios.iter().any(|own| lost(&own)) { None } else { all().max().copied() };
            out.insert(base.value.clone(), most.unwrap_or(u64::MAX));
        }
    }
    out
}

/// Names that claims and tables may refer to, from what is written: a scenario with another mistake defines them
/// all the same.
pub(super) fn referring<'a>(
    sources: &'a SourceMap,
    laid: &'a [overlay::Laid<'_>],
    raws: &'a [(RawSpec, Unread)],
    scenarios_known: bool,
    unread: &'a Unread,
) -> refer::Referring<'a> {
    let windows_known = raws.iter().all(|(raw, unread)| {
        raw.phases.iter().all(|phase| phase.value.name.is_some())
            && ["phases", "windows"].iter().all(|table| !unread.covers(&[table]))
            && unread.names_below(&["windows"]).next().is_none()
    });
    let named = |table: &'static str, keys: fn(&'a RawSpec, &'a Unread) -> Vec<&'a At<String>>| -> BTreeSet<String> {
        let written = raws.iter().flat_map(|(raw, unread)| keys(raw, unread)).map(|name| name.value.clone());
        let lost =
            raws.iter().flat_map(|(_, unread)| unread.names_below(&[table]).map(str::to_owned).collect::<Vec<_>>());
        written.chain(lost).collect()
    };
    let phases = |raw: &RawSpec| -> Vec<String> {
        raw.phases.iter().filter_map(|phase| phase.value.name.as_ref().map(|name| name.value.clone())).collect()
    };
    let mut windows = BTreeSet::new();
    let mut not_last = BTreeSet::new();
    for (raw, _) in raws {
        let phases = phases(raw);
        let own = phases.iter().map(|name| (name.clone(), Some(name)));
        let named =
            raw.windows.iter().map(|(name, list)| (name.value.clone(), list.value.last().map(|last| &last.value)));
        for (window, last) in own.chain(named) {
            if last != phases.last() {
                not_last.insert(window.clone());
            }
            windows.insert(window);
        }
    }
    let script_names = || {
        let workloads = raws.iter().flat_map(|(raw, _)| raw.workloads.iter());
        workloads.flat_map(|(name, load)| load.value.script_names(&name.value))
    };
    // A workload that could not be read may have the script of its name.
    let lost_scripts = named("workloads", |_, _| Vec::new());
    refer::Referring {
        sources,
        scenarios: laid.iter().map(|scenario| scenario.name.as_str()).filter(|name| !name.is_empty()).collect(),
        last_windows: windows.difference(&not_last).cloned().collect(),
        windows,
        nodes: named("nodes", |raw, unread| numbered::bases(&raw.nodes, unread, false)),
        scripts: script_names().flatten().chain(lost_scripts).collect(),
        subscriptions: named("subscriptions", |raw, unread| numbered::bases(&raw.subscriptions, unread, false)),
        numbered_nodes: BTreeMap::new(),
        numbered_subscriptions: BTreeMap::new(),
        slots: named("slots", |raw, _| raw.slots.keys().collect()),
        computed: IndexMap::new(),
        axes: IndexMap::new(),
        pinned: BTreeSet::new(),
        compares: None,
        blocks: Vec::new(),
        varying: BTreeMap::new(),
        scripts_known: script_names().all(|name| name.is_some()),
        scenarios_known,
        windows_known,
        unread,
    }
}
