//! One run of several: shares of a plan, and repeats of the same on other days. Pure.

use super::record::Sample;
use super::run::{RunRecord, Shares};
use crate::measure::HostFacts;
use crate::plan::facts::Facts;

/// A results folder that is put together with others.
#[derive(Clone, Debug)]
pub struct Part {
    /// What it is called in messages: its path.
    pub name: String,
    /// What holds for the whole run.
    pub run: RunRecord,
    /// What was known of its machine.
    pub facts: Facts,
    /// Its spec's texts, by path.
    pub texts: Vec<(String, String)>,
    /// Its turns.
    pub samples: Vec<Sample>,
}

/// Why parts are not put together.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum MergeError {
    /// They do not come from the same.
    #[error("`{a}` and `{b}` do not come from the same run: {}", .differences.join("; "))]
    NotTheSame {
        /// The first.
        a: String,
        /// The other.
        b: String,
        /// In what they differ.
        differences: Vec<String>,
    },
    /// There is nothing to put together.
    #[error("give at least two results folders")]
    TooFew,
    /// One is given twice.
    #[error("`{a}` and `{b}` are the same run: they began at the same moment")]
    Twice {
        /// The first.
        a: String,
        /// The other.
        b: String,
    },
}

/// A turn with where it comes from.
#[derive(Clone, Debug, PartialEq)]
pub struct MergedSample {
    /// The turn, renumbered.
    pub sample: Sample,
    /// Index of its part.
    pub part: usize,
    /// Its round before.
    pub old_round: u32,
    /// Its turn before.
    pub old_turn: u32,
}

/// What came of it.
#[derive(Clone, Debug)]
pub struct Merged {
    /// What holds for the whole.
    pub run: RunRecord,
    /// All turns, the excluded ones too, in order.
    pub samples: Vec<MergedSample>,
    /// What a reader should know.
    pub warnings: Vec<String>,
}

/// A whole run, or several shares of one, of which rounds are kept.
struct Layer {
    parts: Vec<usize>,
    shares: Option<(Vec<u32>, u32)>,
}

/// Puts parts together: shares of one plan keep their rounds, repeats follow one another.
pub fn merge(parts: &[Part], cells: usize) -> Result<Merged, MergeError> {
    let [first, rest @ ..] = parts else { return Err(MergeError::TooFew) };
    if rest.is_empty() {
        return Err(MergeError::TooFew);
    }
    for part in rest {
        let differences = differences(first, part);
        if !differences.is_empty() {
            return Err(MergeError::NotTheSame { a: first.name.clone(), b: part.name.clone(), differences });
        }
    }
    for (index, part) in parts.iter().enumerate() {
        let same = |other: &&Part| {
            other.run.started == part.run.started
                && other.run.shard == part.run.shard
                && other.run.host == part.run.host
        };
        if let Some(other) = parts[..index].iter().find(same) {
            return Err(MergeError::Twice { a: other.name.clone(), b: part.name.clone() });
        }
    }
    let layers = layers(parts);
    let paired = parts.iter().flat_map(|part| &part.samples).any(|sample| sample.slice.is_some());
    let mut samples = Vec::new();
    let (mut rounds_before, mut turns_before) = (0, 0);
    let mut words = Vec::new();
    for layer in &layers {
        let own = || layer.parts.iter().flat_map(|part| parts[*part].samples.iter().map(move |sample| (*part, sample)));
        let seen = own().map(|(_, sample)| sample.round).max().unwrap_or(0);
        let planned = layer.parts.iter().map(|part| parts[*part].run.rounds).max().unwrap_or(0);
        let rounds = if paired { seen } else { seen.max(planned) };
        let mut of_layer: Vec<MergedSample> = own()
            .map(|(part, sample)| {
                let (old_round, old_turn) = (sample.round, sample.turn);
                let mut sample = sample.clone();
                sample.round += rounds_before;
                sample.turn += turns_before;
                MergedSample { sample, part, old_round, old_turn }
            })
            .collect();
        if paired {
            // Slices are numbered as they are run; shares have numbered theirs each by itself.
            of_layer.sort_by_key(|own| (own.part, own.old_turn));
            for (merged, number) in of_layer.iter_mut().zip(turns_before + 1..) {
                merged.sample.turn = number;
            }
        }
        for part in &layer.parts {
            words.push(words_of(&parts[*part], rounds_before, rounds));
        }
        let last = of_layer.iter().map(|own| own.sample.turn).max().unwrap_or(turns_before);
        turns_before = if paired { last } else { last.max(turns_before + rounds * u32::try_from(cells).unwrap_or(0)) };
        rounds_before += rounds;
        samples.extend(of_layer);
    }
    samples.sort_by_key(|merged| merged.sample.turn);
    let warnings: Vec<String> = rest.iter().flat_map(|part| other_host(first, part)).collect();
    let mut run = first.run.clone();
    run.started = parts.iter().map(|part| part.run.started.clone()).min().unwrap_or_default();
    let ends: Option<Vec<String>> = parts.iter().map(|part| part.run.finished.clone()).collect();
    run.finished = ends.and_then(|ends| ends.into_iter().max());
    run.interrupted = parts.iter().any(|part| part.run.interrupted);
    run.rounds = if paired { first.run.rounds } else { rounds_before };
    run.shard = match layers.as_slice() {
        [Layer { shares: Some((numbers, of)), .. }] if numbers.len() < *of as usize => {
            let turns = parts.iter().map(|part| part.run.shard.as_ref().and_then(|shard| shard.turns));
            let whole = first.run.shard.as_ref().and_then(|shard| shard.whole);
            Some(Shares { numbers: numbers.clone(), of: *of, turns: turns.sum(), whole })
        }
        _ => None,
    };
    run.merged = words;
    run.warnings.extend(warnings.iter().cloned());
    run.expected = None;
    run.call = None;
    Ok(Merged { run, samples, warnings })
}

/// Shares that lack one another make one layer; everything else is a layer of its own.
fn layers(parts: &[Part]) -> Vec<Layer> {
    let mut layers: Vec<Layer> = Vec::new();
    for (index, part) in parts.iter().enumerate() {
        let own = part.run.shard.as_ref().map(|shard| (shard.numbers.clone(), shard.of));
        let beside = layers.iter_mut().find(|layer| match (&layer.shares, &own) {
            (Some((numbers, of)), Some((own, own_of))) => {
                of == own_of && !own.iter().any(|number| numbers.contains(number))
            }
            _ => false,
        });
        match (beside, own) {
            (Some(layer), Some((numbers, _))) => {
                layer.parts.push(index);
                if let Some((known, _)) = &mut layer.shares {
                    known.extend(numbers);
                    known.sort_unstable();
                }
            }
            (_, own) => layers.push(Layer { parts: vec![index], shares: own }),
        }
    }
    layers
}

/// In what two runs differ that must be the same; empty if they may be put together.
fn differences(a: &Part, b: &Part) -> Vec<String> {
    let mut out = Vec::new();
    let mut differs = |what: &str, a: &str, b: &str| {
        if a != b {
            out.push(format!("{what}: {a} and {b}"));
        }
    };
    differs("format of the results", &a.run.format.to_string(), &b.run.format.to_string());
    for (wanted, build) in &a.facts.builds {
        let Some(other) = b.facts.builds.get(wanted) else { continue };
        differs(&format!("version of {wanted}"), &build.version(), &other.version());
        if let (Some(own), Some(other)) = (&build.digest, &other.digest) {
            differs(&format!("binary of {wanted} (SHA-256)"), own, other);
        }
    }
    for (node, build) in &a.run.builds {
        let Some(other) = b.run.builds.get(node).filter(|other| other.version != build.version) else { continue };
        differs(&format!("PostgreSQL of {node}"), &build.version, &other.version);
    }
    for (name, tool) in &a.facts.tools {
        let Some(other) = b.facts.tools.get(name) else { continue };
        differs(name, &tool.version(), &other.version());
    }
    if a.run.digest != b.run.digest {
        let before = out.len();
        let mut differs = |what: &str, a: &str, b: &str| {
            if a != b {
                out.push(format!("{what}: {a} and {b}"));
            }
        };
        differs("--only", &listed(&a.run.only), &listed(&b.run.only));
        differs("seed", &a.run.seed.to_string(), &b.run.seed.to_string());
        differs("order", &a.run.order, &b.run.order);
        for (node, settings) in &a.run.settings {
            for (name, setting) in settings {
                let other = b.run.settings.get(node).and_then(|own| own.get(name));
                differs(&format!("{node}: {name}"), &setting.value, other.map_or("not set", |own| &own.value));
            }
        }
        for (node, settings) in &b.run.settings {
            let lacking = |name: &&String| a.run.settings.get(node).is_none_or(|own| !own.contains_key(*name));
            for name in settings.keys().filter(lacking) {
                differs(&format!("{node}: {name}"), "not set", &settings[name].value);
            }
        }
        for (key, choice) in &a.run.choices {
            let other = b.run.choices.get(key);
            differs(key, &choice.value, other.map_or("not chosen", |own| &own.value));
        }
        for (path, text) in &a.texts {
            let other = b.texts.iter().find(|(own, _)| own == path);
            if other.is_none_or(|(_, other)| other != text) {
                out.push(format!("text of `{path}`"));
            }
        }
        if out.len() == before {
            out.push(format!("digest of the plan: {} and {}", a.run.digest, b.run.digest));
        }
    }
    out
}

fn listed(words: &[String]) -> String {
    if words.is_empty() { "none".to_owned() } else { words.join(" ") }
}

/// What differs between the hosts of two parts, a sentence each.
fn other_host(a: &Part, b: &Part) -> Vec<String> {
    host_differences(&a.run.host, &b.run.host)
        .into_iter()
        .map(|(what, own, other)| format!("the hosts differ in {what}: {own} in `{}`, {other} in `{}`", a.name, b.name))
        .collect()
}

/// What differs between two hosts: what, and on either side. What is not known of one is not told.
pub fn host_differences(a: &HostFacts, b: &HostFacts) -> Vec<(&'static str, String, String)> {
    let number = |value: Option<usize>| value.map(|value| value.to_string());
    let mebibytes = |value: Option<u64>| value.map(|value| format!("{} MiB", value >> 20));
    [
        ("cores", number(a.cores), number(b.cores)),
        ("usable cores", number(a.usable_cores), number(b.usable_cores)),
        ("CPU", a.cpu_model.clone(), b.cpu_model.clone()),
        ("kernel", a.kernel.clone(), b.kernel.clone()),
        ("memory", mebibytes(a.memory_bytes), mebibytes(b.memory_bytes)),
        ("frequency governor", a.governor.clone(), b.governor.clone()),
    ]
    .into_iter()
    .filter_map(|(what, a, b)| Some((what, a?, b?)))
    .filter(|(_, a, b)| a != b)
    .collect()
}

fn words_of(part: &Part, before: u32, rounds: u32) -> String {
    let shard = part.run.shard.as_ref().map_or_else(String::new, |shard| format!("{}, ", shard_words(shard)));
    let host = &part.run.host;
    let cpu = host.cpu_model.as_deref().unwrap_or("unknown CPU");
    let cores = host.cores.map_or_else(String::new, |cores| format!(", {cores} cores"));
    format!(
        "rounds {} to {}: `{}`, {shard}begun {}, {cpu}{cores}",
        before + 1,
        before + rounds,
        part.name,
        part.run.started
    )
}

/// `shard 2 of 5`, `shards 1 and 2 of 5`.
pub fn shard_words(shares: &Shares) -> String {
    let numbers: Vec<String> = shares.numbers.iter().map(ToString::to_string).collect();
    let plural = if numbers.len() == 1 { "" } else { "s" };
    format!("shard{plural} {} of {}", numbers.join(", "), shares.of)
}
