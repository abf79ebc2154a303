//! What somebody meant who wrote something else.

/// How many letters may be wrong, too many, missing or swapped.
const CLOSE: usize = 2;

/// The known word that `word` is close to and is not.
pub fn misspelt<'a>(word: &str, known: &[&'a str]) -> Option<&'a str> {
    if known.contains(&word) {
        return None;
    }
    let near = known.iter().map(|known| (distance(&word.to_lowercase(), known), *known));
    // A short word is close to half of all short words.
    near.filter(|(far, known)| *far <= CLOSE && *far * 2 <= known.len()).min().map(|(_, known)| known)
}

/// How many letters must be changed, added, removed or swapped with their neighbours to make one word of the other.
fn distance(one: &str, other: &str) -> usize {
    let (one, other): (Vec<char>, Vec<char>) = (one.chars().collect(), other.chars().collect());
    let mut before_last: Vec<usize> = Vec::new();
    let mut last: Vec<usize> = (0..=other.len()).collect();
    for (i, a) in one.iter().enumerate() {
        let mut row = vec![i + 1];
        for (j, b) in other.iter().enumerate() {
            let changed = last[j] + usize::from(a != b);
            let mut fewest = changed.min(last[j + 1] + 1).min(row[j] + 1);
            if i > 0 && j > 0 && *a == other[j - 1] && one[i - 1] == *b {
                fewest = fewest.min(before_last[j - 1] + 1);
            }
            row.push(fewest);
        }
        before_last = std::mem::replace(&mut last, row);
    }
    last.last().copied().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slip_is_recognised_and_another_word_is_not() {
        let known = ["http", "sqs"];
        for (word, meant) in [
            ("htttp", Some("http")),
            ("htpp", Some("http")),
            ("https", Some("http")),
            ("HTTP", Some("http")),
            ("hpttp", Some("http")),
            ("sqss", Some("sqs")),
            ("qss", Some("sqs")),
            ("http", None),
            ("crm-upsert", None),
            ("grpc", None),
            ("", None),
        ] {
            assert_eq!(misspelt(word, &known), meant, "{word}");
        }
    }
}
