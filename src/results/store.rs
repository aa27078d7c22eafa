//! The results folder: the only file of `results` and `report` that touches the disk.
//!
//! ```text
//! run.json  facts.json  plan.txt  report.md  report.txt  report.json  figures.csv
//! sources/sources.json  sources/01-x.toml …        every text as written, in the order it was asked for
//! runs/0001-btree-r1.json …                        one atomic file a turn
//! charts/tps.svg …                                 the spec's charts
//! logs/0001-btree-r1/publisher.log …               server logs and the load tool's output
//! superseded/0001-btree-r1-1.json …                turns that were run again, with their logs
//! ```
//! A file is there whole or not at all: it is written beside its place, flushed, and renamed. What it means is
//! in `record.rs` and `run.rs`.

use std::fs::{self, File, TryLockError};
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};

use super::record::{FORMAT, Sample, plain};
use super::run::RunRecord;
use crate::plan::facts::Facts;
use crate::text::SourceMap;

const RUN: &str = "run.json";
const FACTS: &str = "facts.json";
const SOURCES: &str = "sources";
const SOURCE_LIST: &str = "sources/sources.json";
const RUNS: &str = "runs";
const LOGS: &str = "logs";
const SUPERSEDED: &str = "superseded";
const CHARTS: &str = "charts";

/// Why a results folder could not be written or read.
#[derive(Debug, thiserror::Error)]
pub enum StoreError {
    /// A folder of that name holds something already.
    #[error("create {}: it exists and is not empty; name another folder with --out, or remove it", dir.display())]
    Taken {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder was not written by a runner.
    #[error("open {}: {why}; give a folder that holds {RUN}, such as results/NAME-YYYYMMDDTHHMMSS", dir.display())]
    NotOurs {
        /// The folder.
        dir: PathBuf,
        /// What is not as it should be.
        why: String,
    },
    /// Another runner is writing into it.
    #[error("{}: another runner is at work in it; wait for its end, or stop it (Ctrl-C) and go on then", dir.display())]
    Busy {
        /// The folder.
        dir: PathBuf,
    },
    /// The folder was written by a runner that means something else by its numbers.
    #[error("read {}: its format is {format} and this runner knows up to {FORMAT}; use the runner that wrote it, or a newer one", dir.display())]
    Newer {
        /// The folder.
        dir: PathBuf,
        /// What it says.
        format: u32,
    },
    /// A file or folder could not be written.
    #[error("write {}: {source}", path.display())]
    Write {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file or folder could not be read.
    #[error("read {}: {source}", path.display())]
    Read {
        /// Which.
        path: PathBuf,
        /// What the system said.
        #[source]
        source: io::Error,
    },
    /// A file is not what the runner wrote.
    #[error("read {}: {source}; restore the file, or remove it to go on without it", path.display())]
    Malformed {
        /// Which.
        path: PathBuf,
        /// What is wrong with it.
        #[source]
        source: serde_json::Error,
    },
}

/// An open results folder.
#[derive(Clone, Debug)]
pub struct Store {
    dir: PathBuf,
    /// Keeps other runners from writing into it.
    claim: Option<Arc<File>>,
    /// Why it does not, where the file system has no locks.
    unlocked: Option<String>,
}

/// What makes a `run.json` one of ours.
#[derive(Deserialize)]
struct Stamp {
    format: u32,
}

/// A text in `sources.json`.
#[derive(Serialize, Deserialize)]
struct StoredSource {
    /// As the user would name it; spans and includes go by it.
    path: PathBuf,
    /// Its file under `sources/`.
    file: String,
    /// Whether it is a `--set` flag.
    #[serde(default)]
    flag: bool,
}

impl Store {
    /// Makes the folder `dir`, which must not exist or be empty.
    pub fn create(dir: &Path) -> Result<Self, StoreError> {
        let taken = || StoreError::Taken { dir: dir.to_owned() };
        match fs::read_dir(dir).map(|mut entries| entries.next().is_some()) {
            Ok(true) => return Err(taken()),
            Err(error) if error.kind() == io::ErrorKind::NotADirectory => return Err(taken()),
            _ => {}
        }
        fs::create_dir_all(dir).map_err(writing(dir))?;
        Self { dir: dir.to_owned(), claim: None, unlocked: None }.with_folders()?.claimed()
    }

    /// Makes `PARENT/NAME-YYYYMMDDTHHMMSS` of the moment `started` (RFC 3339); where that is taken, the same with
    /// `-2`, `-3` … behind it. Two runners that start in one second get a folder each.
    pub fn create_new(parent: &Path, name: &str, started: &str) -> Result<Self, StoreError> {
        fs::create_dir_all(parent).map_err(writing(parent))?;
        let stamped = format!("{}-{}", plain(name), compact(started));
        for copy in 1_u32.. {
            let dir = parent.join(if copy == 1 { stamped.clone() } else { format!("{stamped}-{copy}") });
            match fs::create_dir(&dir) {
                Ok(()) => return Self { dir, claim: None, unlocked: None }.with_folders()?.claimed(),
                Err(error) if error.kind() == io::ErrorKind::AlreadyExists => {}
                Err(source) => return Err(StoreError::Write { path: dir, source }),
            }
        }
        Err(StoreError::Taken { dir: parent.join(stamped) })
    }

    fn with_folders(self) -> Result<Self, StoreError> {
        for folder in [SOURCES, RUNS, LOGS] {
            let path = self.dir.join(folder);
            fs::create_dir_all(&path).map_err(writing(&path))?;
        }
        Ok(self)
    }

    /// A folder for a report alone, made if it is not there.
    pub fn beside(dir: &Path) -> Result<Self, StoreError> {
        fs::create_dir_all(dir).map_err(writing(dir))?;
        Ok(Self { dir: dir.to_owned(), claim: None, unlocked: None })
    }

    /// Opens a folder that a runner wrote.
    pub fn open(dir: &Path) -> Result<Self, StoreError> {
        let not_ours = |why: &str| StoreError::NotOurs { dir: dir.to_owned(), why: why.to_owned() };
        if !dir.exists() {
            return Err(not_ours("it does not exist"));
        }
        if !dir.is_dir() {
            return Err(not_ours("it is not a folder"));
        }
        let path = dir.join(RUN);
        if !path.exists() {
            return Err(not_ours(&format!("there is no {RUN} in it, so it is no results folder")));
        }
        let text = fs::read_to_string(&path).map_err(reading(&path))?;
        let stamp: Stamp = serde_json::from_str(&text)
            .map_err(|_| not_ours(&format!("its {RUN} was not written by a runner (no `format` in it)")))?;
        if stamp.format > FORMAT {
            return Err(StoreError::Newer { dir: dir.to_owned(), format: stamp.format });
        }
        Ok(Self { dir: dir.to_owned(), claim: None, unlocked: None })
    }

    /// The folder as that of this runner alone, until the last copy of this is dropped or the process ends, however it
    /// does: an error while another is at work in it. To read it nobody needs this.
    pub fn claimed(mut self) -> Result<Self, StoreError> {
        let folder = File::open(&self.dir).map_err(reading(&self.dir))?;
        match folder.try_lock() {
            Err(TryLockError::WouldBlock) => return Err(StoreError::Busy { dir: self.dir }),
            // A file system without locks: nothing can be known.
            Err(TryLockError::Error(error)) => self.unlocked = Some(error.to_string()),
            Ok(()) => {}
        }
        self.claim = Some(Arc::new(folder));
        Ok(self)
    }

    /// Why another runner might write into it too, if that could not be precluded.
    pub fn unlocked(&self) -> Option<&str> {
        self.unlocked.as_deref()
    }

    /// The folder.
    pub fn dir(&self) -> &Path {
        &self.dir
    }

    /// The path of `report.md`.
    pub fn report_path(&self) -> PathBuf {
        self.dir.join("report.md")
    }

    /// Stores what holds for the whole run, over what was stored before.
    pub fn put_run(&self, run: &RunRecord) -> Result<(), StoreError> {
        self.put_json(RUN, run)
    }

    /// What holds for the whole run.
    pub fn run(&self) -> Result<RunRecord, StoreError> {
        read_json(&self.dir.join(RUN))
    }

    /// Stores the plan as printed.
    pub fn put_plan(&self, plan: &str) -> Result<(), StoreError> {
        self.put("plan.txt", plan.as_bytes())
    }

    /// Stores the report in its forms: for people as Markdown and as plain text, for machines, and the runs'
    /// figures as CSV.
    pub fn put_report(&self, markdown: &str, text: &str, json: &str, csv: &str) -> Result<(), StoreError> {
        self.put("report.md", markdown.as_bytes())?;
        self.put("report.txt", text.as_bytes())?;
        self.put("report.json", json.as_bytes())?;
        self.put("figures.csv", csv.as_bytes())
    }

    /// Stores a chart under its path in the folder, such as `charts/tps.svg`.
    pub fn put_chart(&self, file: &str, svg: &str) -> Result<(), StoreError> {
        let folder = self.dir.join(CHARTS);
        fs::create_dir_all(&folder).map_err(writing(&folder))?;
        self.put(file, svg.as_bytes())
    }

    /// Stores every text as written.
    pub fn put_sources(&self, sources: &SourceMap) -> Result<(), StoreError> {
        let flags: Vec<usize> = sources.flags().map(|file| file.base).collect();
        let mut list = Vec::new();
        for (index, source) in sources.files().enumerate() {
            let flag = flags.contains(&source.base);
            let name = source.path.file_name().map(|name| name.to_string_lossy().into_owned());
            let name = if flag { "set.toml".to_owned() } else { plain(&name.unwrap_or_default()) };
            let file = format!("{:02}-{name}", index + 1);
            self.put(&format!("{SOURCES}/{file}"), source.text.as_bytes())?;
            list.push(StoredSource { path: source.path.clone(), file, flag });
        }
        self.put_json(SOURCE_LIST, &list)
    }

    /// The texts in the order they were stored, so that every span means what it meant.
    pub fn sources(&self) -> Result<SourceMap, StoreError> {
        let list: Vec<StoredSource> = read_json(&self.dir.join(SOURCE_LIST))?;
        let mut sources = SourceMap::default();
        for stored in list {
            let path = self.dir.join(SOURCES).join(&stored.file);
            let text = fs::read_to_string(&path).map_err(reading(&path))?;
            if stored.flag {
                sources.add_flag(stored.path, text);
            } else {
                sources.add(stored.path, text);
            }
        }
        Ok(sources)
    }

    /// Stores one turn; once this returns it is there whatever happens to the runner.
    pub fn put_sample(&self, sample: &Sample) -> Result<(), StoreError> {
        let name = sample.name();
        self.put_json(&format!("{RUNS}/{name}.json"), sample)
    }

    /// Every stored turn, in the order they were run.
    pub fn samples(&self) -> Result<Vec<Sample>, StoreError> {
        let folder = self.dir.join(RUNS);
        let entries = match fs::read_dir(&folder) {
            Ok(entries) => entries,
            // A run that was stopped before its first turn ended, copied by a tool that leaves out empty folders.
            Err(error) if error.kind() == io::ErrorKind::NotFound => return Ok(Vec::new()),
            Err(source) => return Err(StoreError::Read { path: folder, source }),
        };
        let mut samples: Vec<Sample> = Vec::new();
        for entry in entries {
            let path = entry.map_err(reading(&folder))?.path();
            let hidden = path.file_name().is_none_or(|name| name.to_string_lossy().starts_with('.'));
            if !hidden && path.extension().is_some_and(|extension| extension == "json") {
                samples.push(read_json(&path)?);
            }
        }
        if let Some(newer) = samples.iter().find(|sample| sample.format > FORMAT) {
            return Err(StoreError::Newer { dir: self.dir.clone(), format: newer.format });
        }
        samples.sort_by(|a, b| (a.turn, &a.cell, a.round).cmp(&(b.turn, &b.cell, b.round)));
        Ok(samples)
    }

    /// Puts a turn aside that is run again: its file and logs go to `superseded`, where nothing is written over, and
    /// count nowhere. `logs` is the name of its folder of logs.
    pub fn supersede(&self, sample: &Sample, logs: &str) -> Result<(), StoreError> {
        let name = sample.name();
        let folder = self.dir.join(SUPERSEDED);
        fs::create_dir_all(&folder).map_err(writing(&folder))?;
        let mut free = 1_u32;
        while folder.join(format!("{name}-{free}.json")).exists() {
            free += 1;
        }
        let old_logs = self.logs().join(logs);
        if old_logs.exists() {
            let to = folder.join(format!("{name}-{free}-logs"));
            fs::rename(&old_logs, &to).map_err(writing(&to))?;
        }
        let to = folder.join(format!("{name}-{free}.json"));
        fs::rename(self.dir.join(RUNS).join(format!("{name}.json")), &to).map_err(writing(&to))
    }

    /// Copies a turn's folder of logs from another results folder, if it is there.
    pub fn copy_logs(&self, from: &Store, name: &str, to: &str) -> Result<(), StoreError> {
        let (source, target) = (from.logs().join(name), self.logs().join(to));
        if source.is_dir() && !target.exists() { copy_folder(&source, &target) } else { Ok(()) }
    }

    /// The folder of the turns' logs, each in a folder of its turn's name.
    pub fn logs(&self) -> PathBuf {
        self.dir.join(LOGS)
    }

    /// Stores what was known of the machine when the plan was made.
    pub fn put_facts(&self, facts: &Facts) -> Result<(), StoreError> {
        self.put_json(FACTS, facts)
    }

    /// What was known of the machine when the plan was made.
    pub fn facts(&self) -> Result<Facts, StoreError> {
        read_json(&self.dir.join(FACTS))
    }

    fn put_json<T: Serialize>(&self, name: &str, value: &T) -> Result<(), StoreError> {
        let mut text = serde_json::to_string_pretty(value)
            .map_err(|source| StoreError::Malformed { path: self.dir.join(name), source })?;
        text.push('\n');
        self.put(name, text.as_bytes())
    }

    /// Writes a file beside its place, flushes it and renames it: a reader sees the old one or the whole new one.
    fn put(&self, name: &str, bytes: &[u8]) -> Result<(), StoreError> {
        let path = self.dir.join(name);
        let file_name = path.file_name().map(|name| name.to_string_lossy().into_owned()).unwrap_or_default();
        let beside = path.with_file_name(format!(".{file_name}.tmp"));
        let write = || -> io::Result<()> {
            let mut file = File::create(&beside)?;
            file.write_all(bytes)?;
            file.sync_all()?;
            fs::rename(&beside, &path)?;
            // The new name itself is durable only once its folder is.
            path.parent().map_or(Ok(()), |folder| File::open(folder)?.sync_all())
        };
        write().map_err(|source| StoreError::Write { path: path.clone(), source })
    }
}

fn copy_folder(from: &Path, to: &Path) -> Result<(), StoreError> {
    fs::create_dir_all(to).map_err(writing(to))?;
    for entry in fs::read_dir(from).map_err(reading(from))? {
        let path = entry.map_err(reading(from))?.path();
        let Some(name) = path.file_name() else { continue };
        let target = to.join(name);
        if path.is_dir() {
            copy_folder(&path, &target)?;
        } else {
            fs::copy(&path, &target).map_err(writing(&target))?;
        }
    }
    Ok(())
}

fn read_json<T: DeserializeOwned>(path: &Path) -> Result<T, StoreError> {
    let text = fs::read_to_string(path).map_err(reading(path))?;
    serde_json::from_str(&text).map_err(|source| StoreError::Malformed { path: path.to_owned(), source })
}

fn reading(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Read { path, source }
}

fn writing(path: &Path) -> impl FnOnce(io::Error) -> StoreError {
    let path = path.to_owned();
    move |source| StoreError::Write { path, source }
}

/// `2026-08-03T12:00:05.25Z` as `20260803T120005`.
fn compact(rfc3339: &str) -> String {
    rfc3339.chars().take(19).filter(char::is_ascii_alphanumeric).collect()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]
    use indexmap::IndexMap;

    use super::*;
    use crate::results::record::Outcome;

    fn sample(turn: u32, cell: &str) -> Sample {
        Sample {
            format: FORMAT,
            cell: cell.to_owned(),
            scenario: cell.to_owned(),
            point: indexmap::IndexMap::new(),
            slice: None,
            round: 1,
            turn,
            started: "2026-08-03T12:00:00Z".to_owned(),
            outcome: Outcome::Completed,
            phases: IndexMap::new(),
            convergence: None,
            nodes: IndexMap::new(),
            total_seconds: 1.5,
            notes: Vec::new(),
        }
    }

    fn ours() -> (tempfile::TempDir, Store) {
        let parent = tempfile::tempdir().unwrap();
        let store = Store::create(&parent.path().join("out")).unwrap();
        store.put_run(&RunRecord { format: FORMAT, spec_name: "x".to_owned(), ..RunRecord::default() }).unwrap();
        (parent, store)
    }

    #[test]
    fn a_folder_has_one_writer_at_a_time_and_any_number_of_readers() {
        let (_parent, store) = ours();
        let again = || Store::open(store.dir()).unwrap();
        let error = again().claimed().unwrap_err();
        assert!(matches!(error, StoreError::Busy { .. }), "{error}");
        assert_eq!(again().run().unwrap().spec_name, "x");
        let dir = store.dir().to_owned();
        drop(store);
        assert!(Store::open(&dir).unwrap().claimed().is_ok());
    }

    #[test]
    fn turns_come_back_in_their_order() {
        let (_parent, store) = ours();
        for (turn, cell) in [(10, "b"), (2, "a"), (1, "text/clients=4")] {
            store.put_sample(&sample(turn, cell)).unwrap();
        }
        assert!(store.dir().join("runs/0001-text-clients-4-r1.json").exists());
        let back = Store::open(store.dir()).unwrap().samples().unwrap();
        assert_eq!(back.iter().map(|sample| sample.turn).collect::<Vec<_>>(), [1, 2, 10]);
        assert_eq!(back[1], sample(2, "a"));
    }

    #[test]
    fn a_turn_that_was_being_written_is_ignored_and_a_damaged_one_is_named() {
        let (_parent, store) = ours();
        store.put_sample(&sample(1, "a")).unwrap();
        fs::write(store.dir().join("runs/.0002-a-r2.json.tmp"), "{ \"format\": 1, \"ce").unwrap();
        assert_eq!(store.samples().unwrap().len(), 1);
        fs::write(store.dir().join("runs/0003-a-r3.json"), "{ \"format\"").unwrap();
        let error = store.samples().unwrap_err().to_string();
        assert!(error.contains("0003-a-r3.json"), "{error}");
    }

    #[test]
    fn fields_of_a_later_runner_are_ignored_but_not_a_later_format() {
        let (_parent, store) = ours();
        store.put_sample(&sample(1, "a")).unwrap();
        let path = store.dir().join("runs/0001-a-r1.json");
        let text = fs::read_to_string(&path).unwrap();
        fs::write(&path, text.replacen('{', "{ \"later\": {},", 1)).unwrap();
        assert_eq!(store.samples().unwrap(), [sample(1, "a")]);
        fs::write(&path, text.replacen("\"format\": 1", "\"format\": 99", 1)).unwrap();
        assert!(matches!(store.samples(), Err(StoreError::Newer { format: 99, .. })));
        fs::write(store.dir().join(RUN), "{ \"format\": 99 }").unwrap();
        assert!(matches!(Store::open(store.dir()), Err(StoreError::Newer { format: 99, .. })));
    }

    #[test]
    fn sources_come_back_with_their_spans_and_flags() {
        let (_parent, store) = ours();
        let mut sources = SourceMap::default();
        sources.add("specs/x.toml", "title = \"ü\"\n");
        sources.add("../shared/x.toml", "");
        sources.add_flag("--set clients=4", "vars.clients = 4");
        store.put_sources(&sources).unwrap();
        let back = store.sources().unwrap();
        let all = |map: &SourceMap| -> Vec<(PathBuf, String, usize)> {
            map.files().map(|file| (file.path.clone(), file.text.to_string(), file.base)).collect()
        };
        assert_eq!(all(&back), all(&sources));
        assert_eq!(back.flags().map(|file| file.base).collect::<Vec<_>>(), [sources.flags().next().unwrap().base]);
    }

    #[test]
    fn a_folder_is_never_written_over() {
        let parent = tempfile::tempdir().unwrap();
        let made = |_| Store::create_new(parent.path(), "x", "2026-08-03T12:00:05.25Z").unwrap();
        let names: Vec<String> =
            (0..3).map(made).map(|store| store.dir().file_name().unwrap().to_string_lossy().into_owned()).collect();
        assert_eq!(names, ["x-20260803T120005", "x-20260803T120005-2", "x-20260803T120005-3"]);
        fs::write(parent.path().join("x"), "a file").unwrap();
        for taken in [parent.path().to_owned(), parent.path().join("x")] {
            assert!(matches!(Store::create(&taken), Err(StoreError::Taken { .. })));
        }
        fs::create_dir(parent.path().join("empty")).unwrap();
        assert!(Store::create(&parent.path().join("empty")).is_ok());
    }

    #[test]
    fn what_is_no_results_folder_is_told_from_what_is() {
        let dir = tempfile::tempdir().unwrap();
        let error = |path: &Path| Store::open(path).unwrap_err().to_string();
        assert!(error(&dir.path().join("none")).contains("does not exist"));
        assert!(error(dir.path()).contains("there is no run.json in it"));
        fs::write(dir.path().join(RUN), "{ \"name\": \"somebody else's\" }").unwrap();
        assert!(error(dir.path()).contains("was not written by a runner"));
        assert!(error(&dir.path().join(RUN)).contains("not a folder"));
    }
}
