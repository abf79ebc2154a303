//! `--local`: the same command once more, in the environment of the local AWS.

use std::ffi::{OsStr, OsString};
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::failure::{Failure, Trouble};

/// The flag, as people type it.
const FLAG: &str = "--local";
/// What `make dev` writes, from the root of the repository.
const ENVIRONMENT: &str = ".local/env";
/// What may lead to another account must not slip in beside it.
const DROPPED: [&str; 2] = ["AWS_", "HOOKBOX_"];

/// Whether the command line asks for the local AWS. It is looked at before it is parsed, because what is required of it
/// depends on the environment.
pub fn is_asked_for(arguments: &[OsString]) -> bool {
    flags(arguments).any(|argument| argument == FLAG)
}

/// The command to run instead: `program` with the same arguments without the flag, in the environment of the local AWS
/// of the repository in which `directory` lies. `surrounding` are the names of the caller's own variables.
pub fn command(
    program: &Path,
    arguments: &[OsString],
    directory: &Path,
    surrounding: impl IntoIterator<Item = OsString>,
) -> Result<Command, Failure> {
    let attempted = "find the local AWS";
    let advice = "`make dev` starts one; run the command inside the repository";
    let file = find(directory).ok_or_else(|| {
        let why = format!("no {ENVIRONMENT} in {} or above it", directory.display());
        Failure::CouldNotLook(Trouble::new(attempted, why).advise(advice))
    })?;
    let values = fs::read_to_string(&file).map_err(|error| {
        let why = format!("{}: {error}", file.display());
        Failure::CouldNotLook(Trouble::new(attempted, why).advise(advice))
    })?;
    let mut command = Command::new(program);
    let number = flags(arguments).count();
    let (before, after) = arguments.split_at(number);
    command.args(before.iter().filter(|argument| *argument != FLAG)).args(after);
    for name in surrounding {
        if DROPPED.iter().any(|prefix| name.to_string_lossy().starts_with(prefix)) {
            command.env_remove(name);
        }
    }
    command.envs(values.lines().filter_map(|line| line.split_once('=')));
    Ok(command)
}

/// The arguments before `--`, after which nothing is a flag.
fn flags(arguments: &[OsString]) -> impl Iterator<Item = &OsString> {
    arguments.iter().take_while(|argument| argument.as_os_str() != OsStr::new("--"))
}

fn find(directory: &Path) -> Option<PathBuf> {
    directory.ancestors().map(|folder| folder.join(ENVIRONMENT)).find(|file| file.is_file())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn words(words: &[&str]) -> Vec<OsString> {
        words.iter().map(OsString::from).collect()
    }

    #[test]
    fn the_command_runs_again_with_the_environment_of_the_repository_around_it() {
        let root = tempfile::tempdir().unwrap();
        let below = root.path().join("docs/decisions");
        fs::create_dir_all(&below).unwrap();
        fs::create_dir_all(root.path().join(".local")).unwrap();
        fs::write(root.path().join(ENVIRONMENT), "AWS_ENDPOINT_URL=http://127.0.0.1:9\nHOOKBOX_TABLE=t\n").unwrap();
        let arguments = words(&["failed", "--local", "--limit", "3", "--", "--local"]);
        assert!(is_asked_for(&arguments));
        let surrounding = words(&["AWS_PROFILE", "HOOKBOX_URL", "PATH"]);
        let command = command(Path::new("hookbox"), &arguments, &below, surrounding).unwrap();
        let given: Vec<_> = command.get_args().collect();
        assert_eq!(given, ["failed", "--limit", "3", "--", "--local"]);
        let set: Vec<_> = command.get_envs().collect();
        let some = |text| Some(OsStr::new(text));
        let expected = [
            ("AWS_ENDPOINT_URL", some("http://127.0.0.1:9")),
            ("AWS_PROFILE", None),
            ("HOOKBOX_TABLE", some("t")),
            ("HOOKBOX_URL", None),
        ];
        assert_eq!(set, expected.map(|(name, value)| (OsStr::new(name), value)));
    }

    #[test]
    fn what_stands_behind_two_dashes_is_no_flag() {
        assert!(!is_asked_for(&words(&["replay", "--", "--local"])));
        assert!(!is_asked_for(&words(&["replay", "--locale"])));
    }

    #[test]
    fn where_there_is_none_it_says_how_to_get_one() {
        let nowhere = tempfile::tempdir().unwrap();
        let failure = command(Path::new("hookbox"), &words(&["failed"]), nowhere.path(), []).unwrap_err();
        assert_eq!(failure.code(), 3);
        assert!(failure.to_string().contains("make dev"), "{failure}");
    }
}
