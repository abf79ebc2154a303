//! A folder of signed requests with the verdicts that they should get.

use std::io;
use std::path::Path;

use hookbox_providers::{Profiles, Vector, Verdict};
use serde::Serialize;
use serde_json::Value;

use super::finding::says;
use crate::failure::{Answer, Failure, Trouble};
use crate::own_profiles::files;
use crate::terminal::{Format, Terminal, Tone};

/// What came of a folder.
#[derive(Clone, Debug, Default, Serialize)]
struct Outcome {
    passed: usize,
    failed: usize,
    failures: Vec<Fault>,
}

/// A signed request, or a file of them, that did not get the verdict that it should.
#[derive(Clone, Debug, Serialize)]
struct Fault {
    file: String,
    /// The request's name; none where it is the file.
    name: Option<String>,
    says: String,
}

/// Judges every request of every `*.json` directly in the folder.
pub(super) fn run(folder: &Path, profiles: &Profiles, terminal: &mut Terminal) -> Result<Answer, Failure> {
    let attempted = format!("judge the requests of {}", folder.display());
    let unusable = |why: String| Failure::Usage(Trouble::new(&attempted, why));
    let paths = files(folder, "json").map_err(|error| unusable(error.to_string()))?;
    if paths.is_empty() {
        return Err(unusable("there is no *.json in it".to_owned()));
    }
    let mut outcome = Outcome::default();
    for path in paths {
        outcome.take(&path, profiles);
    }
    outcome.show(terminal)?;
    Ok(if outcome.failed == 0 { Answer::Yes } else { Answer::No })
}

impl Outcome {
    fn take(&mut self, path: &Path, profiles: &Profiles) {
        let file = path.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let read = std::fs::read(path).map_err(|error| error.to_string());
        let values = read.and_then(|bytes| {
            serde_json::from_slice::<Vec<Value>>(&bytes).map_err(|error| format!("not a JSON array: {error}"))
        });
        match values {
            Ok(values) => {
                for (index, value) in values.into_iter().enumerate() {
                    let vector = Vector::new(value);
                    match judge(&vector, profiles) {
                        Ok(()) => self.passed += 1,
                        Err(why) => {
                            let name = Some(vector.name()).filter(|name| !name.is_empty());
                            let name = name.map_or_else(|| format!("[{index}]"), str::to_owned);
                            self.fail(Fault { file: file.clone(), name: Some(name), says: why });
                        }
                    }
                }
            }
            Err(why) => self.fail(Fault { file, name: None, says: why }),
        }
    }

    fn fail(&mut self, fault: Fault) {
        self.failed += 1;
        self.failures.push(fault);
    }

    fn show(&self, terminal: &mut Terminal) -> io::Result<()> {
        if terminal.format() != Format::Table {
            return terminal.say_json(self);
        }
        for Fault { file, name, says } in &self.failures {
            let name = name.as_ref().map(|name| format!(" {name}")).unwrap_or_default();
            let line = terminal.paint(Tone::Bad, format!("{file}{name}"));
            terminal.say(format_args!("{line}: {says}"))?;
        }
        terminal.say(format_args!("{} passed, {} failed", self.passed, self.failed))
    }
}

/// Whether the request gets its verdict, or what it gets instead.
fn judge(vector: &Vector, profiles: &Profiles) -> Result<(), String> {
    let expected = vector.expects_valid().map_err(|error| error.to_string())?;
    let verdict = vector.judge(profiles).map_err(|error| error.to_string())?;
    match (expected, &verdict) {
        (true, Verdict::Valid { .. }) => {
            vector.judge_answer(profiles).map_err(|error| error.to_string())?.map_or(Ok(()), Err)
        }
        (false, Verdict::Invalid(_) | Verdict::Misconfigured(_)) => Ok(()),
        (true, verdict) => Err(format!("should be valid, but {}", says(verdict))),
        (false, verdict) => Err(format!("should be invalid, but {}", says(verdict))),
    }
}

#[cfg(test)]
mod tests {
    use std::path::PathBuf;

    use serde_json::json;

    use super::*;
    use crate::testing::{ACME, Captured, terminal, tests_folder};

    fn ran(folder: &Path, profiles: &Profiles, format: Format) -> (Answer, Captured) {
        let (mut terminal, captured) = terminal(format);
        (run(folder, profiles, &mut terminal).unwrap(), captured)
    }

    #[test]
    fn every_vector_of_the_repository_gets_its_verdict() {
        let (answer, captured) = ran(&tests_folder("vectors"), &Profiles::built_in(), Format::Table);
        let out = captured.out();
        let passed = out.strip_suffix(" passed, 0 failed\n").and_then(|number| number.parse::<u32>().ok());
        assert!(passed.is_some_and(|passed| passed >= 167), "{out}");
        assert_eq!(answer, Answer::Yes);
    }

    /// HMAC-SHA256 of `{}` under `key`.
    const SIGNATURE: &str = "a777724d943eb48dc69bca8a4a6d57a04db3f9ec7e1de4e581e860265bdf3032";

    fn vector(changes: Value) -> Value {
        let mut vector = json!({
            "name": "good", "provider": "acme", "scheme": "acme-sha256", "secret": "key", "secret_encoding": "utf8",
            "method": "POST", "url": null, "headers": {"X-Acme-Signature": SIGNATURE}, "body_b64": "e30=",
            "expect": "valid", "now": null, "tolerance_secs": null
        });
        let (Some(all), Value::Object(changes)) = (vector.as_object_mut(), changes) else { panic!("no objects") };
        all.extend(changes);
        vector
    }

    #[test]
    fn whatever_does_not_get_its_verdict_is_named() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path: PathBuf = folder.path().join(name);
            std::fs::write(path, text).unwrap();
        };
        let vectors = json!([
            vector(json!({})),
            vector(json!({"name": "other key", "secret": "another"})),
            vector(json!({"name": "rightly refused", "secret": "another", "expect": "invalid"})),
            vector(json!({"name": "no secret", "secret": "", "expect": "invalid"})),
            vector(json!({"name": "wrongly taken", "expect": "invalid"})),
            vector(json!({"name": "unknown provider", "provider": "nobody", "expect": "invalid"})),
            vector(json!({"name": "unknown scheme", "scheme": "acme-md5", "expect": "invalid"})),
            vector(json!({"name": null, "expect": "perhaps"})),
            vector(json!({"name": "own header", "signature_header": "X-Sig", "headers": {"X-Sig": SIGNATURE}})),
            vector(json!({"name": "own header only", "signature_header": "X-Sig"})),
            vector(json!({"name": "two secrets", "secret": ["another", "key"]})),
            vector(
                json!({"name": "header twice", "headers": {"X-Acme-Signature": [SIGNATURE, SIGNATURE]}, "expect": "invalid"})
            ),
            vector(json!({"name": "no handshake", "expected_response": 200})),
            7,
        ]);
        write("acme.json", &vectors.to_string());
        write("broken.json", "{}");
        write("notes.txt", "[");
        std::fs::create_dir(folder.path().join("deeper.json")).unwrap();
        let mut profiles = Profiles::built_in();
        profiles.add(ACME).unwrap();

        let (answer, captured) = ran(folder.path(), &profiles, Format::Table);
        assert_eq!(answer, Answer::No);
        insta::assert_snapshot!(captured.out());
        let (_, captured) = ran(folder.path(), &profiles, Format::Json);
        let json = captured.json();
        assert_eq!((&json["passed"], &json["failed"]), (&json!(6), &json!(9)));
        assert_eq!(json["failures"].as_array().unwrap().len(), 9);
    }

    #[test]
    fn a_folder_without_requests_proves_nothing() {
        let folder = tempfile::tempdir().unwrap();
        for path in [folder.path(), Path::new("/nowhere")] {
            let failure = run(path, &Profiles::built_in(), &mut terminal(Format::Table).0).unwrap_err();
            assert_eq!(failure.code(), 2, "{failure}");
        }
    }
}
