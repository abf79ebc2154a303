//! Headers as people have them at hand. What is in them may be a credential, so no complaint repeats it.

use std::path::Path;

use serde_json::Value;

/// Names and values, in the order in which they came.
pub type Headers = Vec<(String, String)>;

/// One header written as `Name: value`.
pub fn one(text: &str) -> Result<(String, String), String> {
    pair(text).ok_or_else(|| "a header is written as 'Name: value'".to_owned())
}

/// Headers that are given one by one as `Name: value`, or as the name of a file that holds them: one a line, or as one
/// JSON object.
pub fn all(given: &[String]) -> Result<Headers, String> {
    let mut headers = Vec::new();
    for text in given {
        match pair(text) {
            Some(header) if !Path::new(text).is_file() => headers.push(header),
            _ => headers.extend(file(Path::new(text))?),
        }
    }
    Ok(headers)
}

fn file(path: &Path) -> Result<Headers, String> {
    // What is no file may be a header that was cut in two by the shell.
    let text = std::fs::read_to_string(path).map_err(|error| {
        format!("what follows --headers is neither 'Name: value' (in quotes) nor a file that can be read: {error}")
    })?;
    let shown = path.display();
    if text.trim_start().starts_with('{') {
        let object = serde_json::from_str(&text).ok().and_then(|value| members(&value));
        return object.ok_or_else(|| format!("{shown} is no JSON object of texts"));
    }
    let mut headers = Vec::new();
    for (number, line) in text.lines().enumerate() {
        let is_request_line = number == 0 && line.contains(" HTTP/");
        if line.trim().is_empty() || is_request_line {
            continue;
        }
        headers.push(pair(line).ok_or_else(|| format!("{shown}:{}: not 'Name: value'", number + 1))?);
    }
    Ok(headers)
}

fn members(value: &Value) -> Option<Headers> {
    let members = value.as_object()?.iter();
    members.map(|(name, value)| Some((name.clone(), value.as_str()?.to_owned()))).collect()
}

fn pair(text: &str) -> Option<(String, String)> {
    let (name, value) = text.split_once(':')?;
    let allowed = |b: u8| b.is_ascii_alphanumeric() || b"!#$%&'*+-.^_`|~".contains(&b);
    let (name, value) = (name.trim(), value.trim());
    (!name.is_empty() && name.bytes().all(allowed)).then(|| (name.to_owned(), value.to_owned()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_come_one_by_one_or_from_a_file() {
        let folder = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = folder.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let lines = write("lines.txt", "POST /hooks/a/b HTTP/1.1\r\nHost: x\r\nX-Sig: t=1,v1=ab\r\n\r\n");
        let json = write("headers.json", r#"{"X-Sig": "a: b"}"#);
        let pairs = |given: &[&str]| {
            let given: Vec<_> = given.iter().map(|text| (*text).to_owned()).collect();
            all(&given).map(|headers| headers.into_iter().map(|(name, value)| format!("{name}={value}")).collect())
        };
        let expected = ["Accept=*/*", "Host=x", "X-Sig=t=1,v1=ab", "X-Sig=a: b"].map(str::to_owned);
        assert_eq!(pairs(&["Accept:  */*", &lines, &json]), Ok(expected.to_vec()));

        for bad in [write("bad.txt", "X-Sig: 1\ns3cret\n"), write("bad.json", "{\"a\": [\"s3cret\"]}"), "s3cret".into()]
        {
            let why = pairs(&[&bad]).unwrap_err();
            assert!(!why.contains("s3cret"), "{why}");
        }
    }
}
