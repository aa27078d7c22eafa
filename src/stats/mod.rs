//! Statistics of a few rounds: summaries, intervals, exact rank tests and the rules by which a claim is judged.
//!
//! A leaf: it imports nothing of the crate, reads no clock and no file, and formats no numbers.
//! The same numbers give the same bits whatever order the rounds come in.
mod bootstrap;
mod compare;
mod distribution;
mod drift;
mod holm;
mod interval;
mod joint;
mod paired;
mod random;
mod rank;
mod replay;
mod sample;
mod stop;
mod verdict;
mod welch;

pub use bootstrap::{BootstrapMethod, LEAST_FOR_BOOTSTRAP, bootstrap_of_mean, bootstrap_of_ratio};
pub use compare::{Better, Compared, Comparison, compare};
pub use distribution::{normal_cdf, normal_quantile, student_t_cdf, student_t_quantile};
pub use drift::{Drift, drift};
pub use holm::{Stepped, Tested, holm};
pub use interval::{
    Interval, MeanEstimate, NoEstimate, RatioEstimate, difference_of_pairs, mean_of_values, ratio_of_pairs,
};
pub use joint::{JointVerdict, Judged, joint_verdicts, outcome};
pub use paired::{CarryOver, PairEffect, PairedEstimate, Side, Slice, carry_over, pair_effect, paired_estimate};
pub use random::SplitMix64;
pub use rank::{RankMethod, RankTest, mann_whitney, sign_test, wilcoxon_signed_rank};
pub use replay::{Replay, replay};
pub use sample::Summary;
pub use stop::{Next, StopRule, smallest_difference};
pub use verdict::{Bounds, Estimate, Judgement, Neutral, Outcome, ROUNDS_FOR_INTERVAL, judge};
pub use welch::Welch;
