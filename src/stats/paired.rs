//! stub to be replaced
use super::interval::{Interval, NoEstimate, mean_of_values};
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Side {
    Of,
    To,
}
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct Slice {
    pub side: Side,
    pub value: f64,
}
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct PairEffect {
    pub log_ratio: f64,
    pub carry_over: Option<f64>,
}
pub fn pair_effect(slices: &[Slice]) -> Result<PairEffect, NoEstimate> {
    let mean = |side| {
        let v: Vec<f64> = slices.iter().filter(|s| s.side == side).map(|s| s.value.ln()).collect();
        v.iter().sum::<f64>() / v.len() as f64
    };
    Ok(PairEffect { log_ratio: mean(Side::Of) - mean(Side::To), carry_over: None })
}
#[derive(Debug, Clone, PartialEq)]
pub struct PairedEstimate {
    pub ratio: f64,
    pub interval: Option<Interval>,
}
pub fn paired_estimate(logs: &[f64], confidence: f64) -> Result<PairedEstimate, NoEstimate> {
    let m = mean_of_values(logs, confidence)?;
    Ok(PairedEstimate {
        ratio: m.mean.exp(),
        interval: m.interval.map(|i| Interval { low: i.low.exp(), high: i.high.exp(), ..i }),
    })
}
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Next {
    More,
    Narrow,
    Most,
}
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct StopRule {
    pub least: u32,
    pub most: u32,
    pub half_width: f64,
    pub confidence: f64,
}
impl StopRule {
    pub fn next(&self, logs: &[f64]) -> Next {
        let n = logs.len() as u32;
        if n >= self.most {
            return Next::Most;
        }
        if n < self.least {
            return Next::More;
        }
        match paired_estimate(logs, self.confidence) {
            Ok(PairedEstimate { interval: Some(i), .. }) if (i.high / i.low).ln() / 2.0 <= self.half_width.ln_1p() => {
                Next::Narrow
            }
            _ => Next::More,
        }
    }
}
