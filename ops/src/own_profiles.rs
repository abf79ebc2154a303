//! Profiles: those that are compiled in, and a team's own in a folder.

use std::path::{Path, PathBuf};

use hookbox_core::name::Provider;
use hookbox_providers::{Profile, ProfileError, Profiles};

use crate::failure::{Failure, Trouble};

/// Where a team's own profiles are.
#[derive(Clone, Debug, Default, clap::Args)]
pub struct ProfilesArgs {
    /// Folder with profiles of your own (`*.toml`) beside the built-in ones
    #[arg(long, value_name = "DIR")]
    pub profiles: Option<PathBuf>,
}

/// One profile of a folder.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OwnFile {
    /// Its name.
    pub name: Provider,
    /// Its text.
    pub toml: String,
}

impl ProfilesArgs {
    /// All profiles.
    pub fn load(&self) -> Result<Profiles, Failure> {
        let mut profiles = Profiles::built_in();
        if let Some(folder) = &self.profiles {
            read(folder, &mut profiles)?;
        }
        Ok(profiles)
    }
}

/// Adds the profiles of a folder, and gives their texts in the order of their names. One that is in error makes the
/// whole folder unusable; all errors are told together.
pub fn read(folder: &Path, profiles: &mut Profiles) -> Result<Vec<OwnFile>, Failure> {
    let attempted = format!("use the profiles of {}", folder.display());
    let unusable = |why: String| Failure::Usage(Trouble::new(&attempted, why));
    let (mut own, mut wrong) = (Vec::new(), Vec::new());
    for path in files(folder, "toml").map_err(|error| unusable(error.to_string()))? {
        let text = std::fs::read_to_string(&path).map_err(|error| unusable(format!("{}: {error}", path.display())))?;
        match add(&path, &text, profiles) {
            Ok(name) => own.push(OwnFile { name, toml: text }),
            Err(why) => wrong.push(why),
        }
    }
    if !wrong.is_empty() {
        return Err(unusable(wrong.join("\n")));
    }
    if own.is_empty() {
        return Err(unusable("there is no *.toml in it".to_owned()));
    }
    Ok(own)
}

fn add(path: &Path, text: &str, profiles: &mut Profiles) -> Result<Provider, String> {
    let shown = path.display();
    let name = Profile::parse(text).map_err(|error| located(path, &error))?.name().clone();
    if path.file_stem().is_none_or(|stem| stem != name.as_str()) {
        return Err(format!("{shown}: its name is `{name}`, so the file is {name}.toml"));
    }
    if profiles.text(name.as_str()).is_some() {
        return Err(format!("{shown}: Hookbox brings a profile `{name}` along: give yours another name"));
    }
    profiles.add(text).map_err(|error| located(path, &error))?;
    Ok(name)
}

/// The error as compilers show theirs, so that editors find the place.
fn located(path: &Path, error: &ProfileError) -> String {
    let line = error.line.map(|line| format!(":{line}")).unwrap_or_default();
    let key = if error.key.is_empty() { String::new() } else { format!("`{}`: ", error.key) };
    format!("{}{line}: {key}{}", path.display(), error.message.trim_end())
}

/// The files of a folder that end like this, by name.
pub fn files(folder: &Path, extension: &str) -> std::io::Result<Vec<PathBuf>> {
    let mut files = Vec::new();
    for entry in std::fs::read_dir(folder)? {
        let path = entry?.path();
        if path.is_file() && path.extension().is_some_and(|found| found == extension) {
            files.push(path);
        }
    }
    files.sort();
    Ok(files)
}

/// The profile of this name.
pub fn find<'p>(profiles: &'p Profiles, provider: &Provider, attempted: &str) -> Result<&'p Profile, Failure> {
    let unusable = |why: String| Trouble::new(attempted, why);
    let profile = profiles.get(provider).map_err(|error| Failure::Usage(unusable(error.to_string())))?;
    profile.ok_or_else(|| {
        let trouble = unusable(format!("there is no profile `{provider}`"));
        Failure::Usage(trouble.advise(format!("one of {}", profiles.names().join(", "))))
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn folder(files: &[(&str, &str)]) -> tempfile::TempDir {
        let folder = tempfile::tempdir().unwrap();
        for (name, text) in files {
            std::fs::write(folder.path().join(name), text).unwrap();
        }
        folder
    }

    fn refusal(files: &[(&str, &str)]) -> String {
        let folder = folder(files);
        let failure = read(folder.path(), &mut Profiles::built_in()).unwrap_err();
        assert_eq!(failure.code(), 2);
        failure.to_string().replace(&folder.path().display().to_string(), "DIR")
    }

    #[test]
    fn a_team_s_own_profile_is_one_like_any_other() {
        let folder = folder(&[("acme.toml", crate::testing::ACME), ("README.md", "not a profile")]);
        let mut profiles = Profiles::built_in();
        let own = read(folder.path(), &mut profiles).unwrap();
        assert_eq!(own, [OwnFile { name: "acme".parse().unwrap(), toml: crate::testing::ACME.to_owned() }]);
        assert_eq!(find(&profiles, &own[0].name, "look").unwrap().title(), "Acme CRM");
        assert_eq!(find(&profiles, &"stripe".parse().unwrap(), "look").unwrap().title(), "Stripe");
    }

    #[test]
    fn every_error_has_its_file_and_line() {
        let misspelt = crate::testing::ACME.replace("algorithm =", "algoritm =");
        let wrong = crate::testing::ACME.replace("\"sha256\"", "\"sha3\"").replace("\"acme\"", "\"broken\"");
        let stripe = crate::testing::ACME.replace("\"acme\"", "\"stripe\"");
        let other = crate::testing::ACME;
        let files =
            [("acme.toml", &*misspelt), ("broken.toml", &wrong), ("stripe.toml", &stripe), ("other.toml", other)];
        insta::assert_snapshot!(refusal(&files));
        assert!(refusal(&[("acme.txt", other)]).contains("there is no *.toml in it"));
        assert_eq!(read(Path::new("/nowhere"), &mut Profiles::built_in()).unwrap_err().code(), 2);
    }
}
