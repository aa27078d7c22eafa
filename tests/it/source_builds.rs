//! Builds from source: a revision is built once, kept, and gone without a trace if it is given up or fails.
//!
//! The source is a git repository whose `configure` and Makefile install links to a PostgreSQL of this machine: what is
//! tested is the way from a revision to servers, not PostgreSQL's own build.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Duration;

use runner::lab::building;
use runner::lab::revision::RevisionError;
use runner::lab::source::{self, Pinned, Source};
use tempfile::TempDir;

use crate::support::postgres;
use crate::support::runner::RunnerCommand;

/// Keeps the prefix and takes an option that says where PostgreSQL is.
const CONFIGURE: &str = "#!/bin/sh
for option; do case $option in
  --prefix=*) echo \"prefix = ${option#--prefix=}\" ;;
  --from=*) echo \"from = ${option#--from=}\" ;;
  *) echo \"configure: error: unrecognized option: $option\" >&2; exit 1 ;;
esac; done > config.mk
";

const MAKEFILE: &str = "include config.mk
all:
\techo all >> made
install:
\tmkdir -p $(DESTDIR)$(prefix)/bin
\tfor p in postgres initdb; do ln -s $(from)/$$p $(DESTDIR)$(prefix)/bin/$$p; done
\techo installed > $(DESTDIR)$(prefix)/main
";

const CONTRIB: &str = "include ../config.mk
all:
install:
\techo installed > $(DESTDIR)$(prefix)/contrib
";

/// A git repository; each call of [`Repository::commit`] adds to it.
struct Repository(TempDir);

impl Repository {
    fn new() -> Self {
        let own = Self(postgres::passable_folder());
        own.git(&["init", "-q", "."]);
        own.commit(&[("configure", CONFIGURE), ("Makefile", MAKEFILE), ("contrib/Makefile", CONTRIB)]);
        own
    }

    fn path(&self) -> &Path {
        self.0.path()
    }

    fn git(&self, arguments: &[&str]) {
        let identity = ["-c", "user.name=t", "-c", "user.email=t@example.org", "-C"];
        let done = Command::new("git").args(identity).arg(self.path()).args(arguments).output().unwrap();
        assert!(done.status.success(), "{}", String::from_utf8_lossy(&done.stderr));
    }

    fn commit(&self, files: &[(&str, &str)]) {
        use std::os::unix::fs::PermissionsExt;
        for (name, text) in files {
            let path = self.path().join(name);
            std::fs::create_dir_all(path.parent().unwrap()).unwrap();
            std::fs::write(&path, text).unwrap();
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
        }
        self.git(&["add", "-A"]);
        self.git(&["commit", "-q", "--allow-empty", "-m", "x"]);
    }

    async fn pin(&self, revision: &str, options: &[&str]) -> Result<Pinned, RevisionError> {
        let configure = options.iter().map(|option| (*option).to_owned()).collect();
        source::pin(&Source { revision: revision.to_owned(), repository: self.path().to_owned(), configure }).await
    }
}

/// What stands in the area of builds beside the lock.
fn left(cache: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(cache.join(source::AREA)).unwrap().flatten();
    let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
    names.retain(|name| name != "lock");
    names
}

async fn from() -> String {
    format!("--from={}", postgres::server(18).await.bin.display())
}

#[tokio::test(flavor = "current_thread")]
async fn a_revision_is_built_once_with_contrib_and_kept_under_its_commit() {
    let (repository, cache) = (Repository::new(), tempfile::tempdir().unwrap());
    let from = from().await;
    let pinned = repository.pin("HEAD", &[&from]).await.unwrap();
    assert!(pinned.built(cache.path()).await.is_none());
    let mut said = Vec::new();
    let built = building::build(&pinned, cache.path(), &mut |line| said.push(line.to_owned())).await.unwrap();
    assert_eq!(built.version.major, 18);
    let phases = ["take the source", "unpack it", "configure", "make", "install", "make contrib", "install contrib"];
    for (line, phase) in said.iter().zip(phases) {
        assert!(line.ends_with(&format!(": {phase}")), "{said:?}");
    }
    assert_eq!(left(cache.path()), [pinned.name()]);
    let folder = cache.path().join(source::AREA).join(pinned.name());
    assert!(folder.join("main").is_file() && folder.join("contrib").is_file());

    // Another name of the same commit is the same build.
    repository.git(&["branch", "other"]);
    let again = repository.pin("other", &[&from]).await.unwrap();
    let mut said = Vec::new();
    let same = building::build(&again, cache.path(), &mut |line| said.push(line.to_owned())).await.unwrap();
    assert_eq!((same.bin, said.len()), (built.bin.clone(), 0));
    let all = source::all(cache.path()).await;
    assert_eq!(all.len(), 1);
    assert_eq!((&all[0].0.commit, &all[0].1.bin), (&pinned.revision.commit, &built.bin));
}

#[tokio::test(flavor = "current_thread")]
async fn a_failed_build_leaves_its_log_and_tells_its_last_words() {
    let (repository, cache) = (Repository::new(), tempfile::tempdir().unwrap());
    let pinned = repository.pin("HEAD", &["--with-sorcery"]).await.unwrap();
    let error = building::build(&pinned, cache.path(), &mut |_| ()).await.unwrap_err().to_string();
    assert!(error.contains("configure: error: unrecognized option: --with-sorcery"), "{error}");
    assert_eq!(left(cache.path()), [format!("{}.log", pinned.name())]);
    repository.git(&["rm", "-q", "configure"]);
    repository.commit(&[]);
    let pinned = repository.pin("HEAD", &[]).await.unwrap();
    let error = building::build(&pinned, cache.path(), &mut |_| ()).await.unwrap_err().to_string();
    assert!(error.contains("has no `configure`"), "{error}");
}

#[tokio::test(flavor = "current_thread")]
async fn a_build_that_is_given_up_leaves_no_file_and_no_process() {
    let (repository, cache) = (Repository::new(), tempfile::tempdir().unwrap());
    let marker = cache.path().join("pid");
    let waits = format!("#!/bin/sh\nsleep 1000 & echo $! > {0}.new; mv {0}.new {0}; wait\n", marker.display());
    repository.commit(&[("configure", &waits)]);
    let pinned = repository.pin("HEAD", &[]).await.unwrap();
    let begun = async {
        while !marker.is_file() {
            tokio::time::sleep(Duration::from_millis(5)).await;
        }
    };
    let mut quiet = |_: &str| ();
    tokio::select! {
        ended = building::build(&pinned, cache.path(), &mut quiet) => panic!("{ended:?}"),
        () = begun => {}
    }
    assert_eq!(left(cache.path()), Vec::<String>::new());
    let sleeper: u32 = std::fs::read_to_string(&marker).unwrap().trim().parse().unwrap();
    // A killed process may still be waited for by init.
    let state = Command::new("ps").args(["-o", "stat=", "-p", &sleeper.to_string()]).output().unwrap();
    let state = String::from_utf8(state.stdout).unwrap();
    assert!(state.trim().is_empty() || state.starts_with('Z'), "{state}");
}

#[tokio::test(flavor = "current_thread")]
async fn what_is_wrong_with_a_revision_is_told() {
    let repository = Repository::new();
    repository.commit(&[]);
    for revision in ["no_such", "--all"] {
        let error = repository.pin(revision, &[]).await.unwrap_err().to_string();
        assert!(error.contains(&format!("has no revision {revision}; `git fetch`")), "{error}");
    }
    let clone = Repository(postgres::passable_folder());
    let url = format!("file://{}", repository.path().display());
    clone.git(&["clone", "-q", "--depth", "1", &url, "."]);
    let error = clone.pin("HEAD~1", &[]).await.unwrap_err().to_string();
    assert!(error.contains("git fetch --unshallow"), "{error}");
    let none = Repository(postgres::passable_folder());
    let error = none.pin("HEAD", &[]).await.unwrap_err().to_string();
    assert!(error.contains("is no git repository (not a git repository"), "{error}");
}

/// Removes what a test built in the user's own cache.
struct Remove(Vec<PathBuf>);

impl Drop for Remove {
    fn drop(&mut self) {
        for folder in &self.0 {
            let _ = std::fs::remove_dir_all(folder);
        }
    }
}

#[tokio::test(flavor = "current_thread")]
async fn a_spec_names_two_revisions_and_its_report_tells_what_they_are() {
    let _servers = postgres::servers().await;
    let repository = Repository::new();
    repository.commit(&[]);
    let from = from().await;
    let mut folders = Vec::new();
    for revision in ["HEAD~1", "HEAD"] {
        let pinned = repository.pin(revision, &[&from]).await.unwrap();
        folders.push(postgres::cache().join(source::AREA).join(pinned.name()));
    }
    let folders = Remove(folders);
    let build = |name: &str, revision: &str| {
        format!(
            "[builds.{name}]\ngit = \"{revision}\"\nsource = \"{}\"\nconfigure = [\"{from}\"]\n",
            repository.path().display()
        )
    };
    let spec = format!(
        "title = \"Two revisions\"\n{}{}{}",
        build("before", "HEAD~1"),
        build("after", "HEAD"),
        r#"
[vars]
build = "after"
[[matrix]]
name = "both"
axes = { build = ["before", "after"] }
[run]
rounds = 1
[nodes.publisher]
build = "{{ build }}"
settings = { fsync = "off" }
[workloads.one]
node = "publisher"
script = "SELECT 1;"
clients = 1
transactions = 5
[[phases]]
name = "load"
run = ["one"]
[[scenarios]]
name = "only"
"#
    );
    let checked = RunnerCommand::new().file("spec.toml", &spec).arguments(["check", "spec.toml"]).run().ended_with(0);
    assert!(checked.stderr.contains("is not built yet, and a run would build it"), "{}", checked.stderr);
    assert!(!folders.0[0].exists());
    let ran = RunnerCommand::spec(&spec).arguments(["--offline"]).run().ended_with(0);
    assert!(ran.stderr.contains(": configure\n"), "{}", ran.stderr);
    let report = ran.report();
    let rows = report["environment"]["builds"]["rows"].as_array().unwrap().clone();
    let titles: Vec<&str> = rows.iter().map(|row| row["title"].as_str().unwrap()).collect();
    assert_eq!(titles, ["before", "after"], "{rows:?}");
    assert!(rows.iter().all(|row| ["on", "off"].contains(&row["assertions"].as_str().unwrap())), "{rows:?}");
    assert!(ran.stdout.contains("| Build "), "{}", ran.stdout);
    let listed = RunnerCommand::new().arguments(["postgres", "list"]).run().ended_with(0);
    assert_eq!(listed.stdout.lines().filter(|line| line.contains(&format!("with {from}"))).count(), 2);
}
