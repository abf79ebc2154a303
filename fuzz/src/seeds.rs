//! What each target begins with, made from the repository's own vectors, payloads and profiles.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hookbox_providers::Profiles;
use serde_json::Value;

use super::decode::CONTENT_TYPES;
use super::ways::WAYS;
use super::{documents, tampered, verify};

/// Everything that a target begins with.
pub fn of(target: &str) -> Vec<Vec<u8>> {
    match target {
        "decode" => decode(),
        "verify" => vectors().iter().flat_map(unsigned).collect(),
        "tampered" => tampered(),
        "documents" => documents::CASES.iter().zip(0..).map(|(case, at)| with(&[at], &case.document)).collect(),
        "json" => payloads().into_iter().map(|(_, _, body)| body).chain(json()).collect(),
        "fields" => fields(),
        "profile" => profiles(),
        other => panic!("there is no target `{other}`"),
    }
}

/// Every signed request of the repository.
pub fn vectors() -> Vec<Value> {
    let mut files: Vec<PathBuf> = fs::read_dir(tests().join("vectors"))
        .expect("the vectors")
        .map(|entry| entry.expect("a file").path())
        .filter(|path| path.extension().is_some_and(|ending| ending == "json"))
        .collect();
    files.sort();
    let read =
        |path: &PathBuf| serde_json::from_slice::<Vec<Value>>(&fs::read(path).expect("a file")).expect("vectors");
    files.iter().flat_map(read).collect()
}

/// The folder of the repository that holds vectors and payloads.
fn tests() -> PathBuf {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let found = here.ancestors().map(|folder| folder.join("tests")).find(|tests| tests.join("payloads").is_dir());
    found.expect("the repository")
}

/// Every body with its provider and its content type.
fn payloads() -> Vec<(String, String, Vec<u8>)> {
    let folder = tests().join("payloads");
    let index = fs::read(folder.join("index.json")).expect("the index");
    let index: Vec<Value> = serde_json::from_slice(&index).expect("the index");
    let text = |value: &Value| value.as_str().unwrap_or_default().to_owned();
    index
        .iter()
        .map(|entry| {
            let body = fs::read(folder.join(text(&entry["file"]))).expect("a body");
            let kind = entry["headers"].as_object().and_then(|headers| {
                headers.iter().find(|(name, _)| name.eq_ignore_ascii_case("content-type")).map(|(_, value)| text(value))
            });
            (text(&entry["provider"]), kind.unwrap_or_default(), body)
        })
        .collect()
}

/// The places of a provider's ways to verify.
fn places(provider: &str) -> impl Iterator<Item = u8> {
    (0..).zip(WAYS.iter()).filter(move |(_, way)| way.provider() == provider).map(|(at, _)| at)
}

fn with(head: &[u8], body: &[u8]) -> Vec<u8> {
    [head, body].concat()
}

fn decode() -> Vec<Vec<u8>> {
    let mut seeds = Vec::new();
    for (provider, kind, body) in payloads() {
        for at in places(&provider) {
            let known = CONTENT_TYPES.iter().position(|known| *known == Some(kind.as_str()));
            let json = u8::from(matches!(body.trim_ascii_start().first(), Some(b'{' | b'[')));
            let content_type = known.map_or(if json == 1 { 1 } else { 2 }, |at| u8::try_from(at).expect("few"));
            seeds.push(with(&[at, content_type], &body));
        }
    }
    for (at, way) in (0..).zip(WAYS.iter()) {
        let sample = way.sample();
        seeds.push(with(&[at, 0], &sample.body));
    }
    let part = "--b\r\nContent-Disposition: form-data; name=\"recipient\"\r\n\r\nx@example.test\r\n--b\r\nContent-Disposition: \
                form-data; name=\"Message-Id\"\r\n\r\n<1@example.test>\r\n--b\r\nContent-Disposition: form-data; \
                name=\"attachment-1\"; filename=\"a.txt\"\r\n\r\n\u{1}\r\n--b--\r\n";
    seeds.extend(places("mailgun").map(|at| with(&[at, 4], part.as_bytes())));
    seeds
}

/// The requests under secrets that did not sign them.
fn unsigned(vector: &Value) -> Vec<Vec<u8>> {
    let text = |name: &str| vector[name].as_str().unwrap_or_default();
    let body = STANDARD.decode(text("body_b64")).unwrap_or_default();
    let headers = vector["headers"].as_object().into_iter().flatten();
    let headers: BTreeMap<String, String> =
        headers.filter_map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect();
    let (url, query) = text("url").split_once('?').unwrap_or((text("url"), ""));
    let token = url.rsplit('/').next().unwrap_or_default();
    let request = verify::write(query, token, &headers, &body);
    places(text("provider")).map(|at| with(&[at], &request)).collect()
}

fn tampered() -> Vec<Vec<u8>> {
    let all = 0..u8::try_from(tampered::SIGNED.len()).expect("few");
    all.flat_map(|at| [vec![at], vec![at, 0, 0, 1, 0], vec![at, 2, 0, 9, b':', 3, 0, 7, 1]]).collect()
}

fn json() -> Vec<Vec<u8>> {
    let texts = [
        r#"{"n":9007199254740993,"a":[1e2,-0,1.10,"\u00e9\ud83d\ude00"]}"#,
        r#"{"a":1,"\u0061":2}"#,
        r#"[[[[[[{"a":{"a":null}}]]]]],true,false,""]"#,
        "\u{feff}{}",
        "{} x",
    ];
    let deep = "[".repeat(64) + &"]".repeat(64);
    texts.iter().map(|text| text.as_bytes().to_vec()).chain([deep.into_bytes()]).collect()
}

fn fields() -> Vec<Vec<u8>> {
    let document =
        r#"{"entry":[{"id":1,"at":"2025-10-09T08:53:20Z","name":"a:b\\","m":[{"id":"x"},{"id":null}]},{"id":1.50}]}"#;
    let lines = [
        ("$.entry[*]", "item:$.id", "1760000000"),
        ("$.entry[?@.id == 1]", "{body:$.entry[0].id}:{item:$.name?}", "2025-10-09T10:53:20+02:00"),
        ("$..m[*]", "after:@:item:$.id", "2025-10-09 08:53:20 UTC"),
        ("$.entry[-1:0:-1]", "member:item:name,id", "1521472262.908181"),
        ("$['entry'][0]['m']", "digest:item", "-009999-01-01T00:00:00Z"),
        ("$.entry[?match(@.name, 'a.*')]", "header:x", "99999999999999999999"),
        ("$.entry[0].*", "item:$.id", "now"),
        ("$", "query:q", "2025-02-30T00:00:00Z"),
    ];
    lines.iter().map(|(path, source, time)| format!("{path}\n{source}\n{time}\n{document}").into_bytes()).collect()
}

fn profiles() -> Vec<Vec<u8>> {
    let built_in = Profiles::built_in();
    let texts =
        built_in.names().into_iter().filter_map(|name| built_in.text(name)).map(|text| text.as_bytes().to_vec());
    texts.collect()
}
