//! `runner metrics`: the catalogue.

use std::fmt::Write as _;

use super::{Refused, out};
use crate::exit;
use crate::measure::{CATALOGUE, UNDER_PGBENCH};

pub(super) fn metrics(json: bool) -> Result<u8, Refused> {
    let mut text = String::new();
    if json {
        let list: Vec<serde_json::Value> = CATALOGUE
            .iter()
            .map(|metric| {
                serde_json::json!({
                    "name": metric.name,
                    "unit": metric.unit.as_str(),
                    "better": metric.better.as_str(),
                    "labels": metric.dims.iter().map(|dim| dim.as_str()).collect::<Vec<_>>(),
                    "about": metric.about,
                    "under_pgbench": UNDER_PGBENCH.iter().find(|(name, _)| *name == metric.name).map(|(_, about)| about),
                })
            })
            .collect();
        text = serde_json::to_string_pretty(&list).map_err(|error| Refused::Failed(error.to_string()))? + "\n";
    } else {
        text.push_str("A claim or table names a metric as WINDOW.METRIC{label=value}; a window is a phase or a name of [windows].\n\n");
        for metric in CATALOGUE.iter() {
            let labels: Vec<&str> = metric.dims.iter().map(|dim| dim.as_str()).collect();
            let name = if labels.is_empty() {
                metric.name.to_owned()
            } else {
                format!("{}{{{}}}", metric.name, labels.join(", "))
            };
            writeln!(text, "{name:<36} {:<9} {:<7} {}", metric.unit.as_str(), metric.better.as_str(), metric.about)
                .map_err(|error| Refused::Failed(error.to_string()))?;
        }
        text.push_str("\nOf a load with engine = \"pgbench\":\n\n");
        for (name, about) in UNDER_PGBENCH {
            writeln!(text, "{name:<36} {about}").map_err(|error| Refused::Failed(error.to_string()))?;
        }
    }
    out(&text)?;
    Ok(exit::WELL)
}
