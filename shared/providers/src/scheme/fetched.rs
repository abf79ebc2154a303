//! What is fetched for a scheme: only from the provider's own hosts, and only what a certificate or a key set can be.

/// A URL that is https and nothing but host and path, taken apart.
///
/// Whoever writes the request writes the URL: user information, a port, a query or odd characters are ways to make two
/// readers see two hosts.
pub(super) fn host_and_path(url: &str) -> Option<(&str, &str)> {
    let rest = url.strip_prefix("https://")?;
    let (host, path) = rest.split_at(rest.find('/')?);
    let plain_host = host.bytes().all(|b| b.is_ascii_alphanumeric() || b"-.".contains(&b));
    let plain_path = path.bytes().all(|b| b.is_ascii_alphanumeric() || b"-._/".contains(&b))
        && !["..", "//", "/./"].iter().any(|other_spelling| path.contains(other_spelling));
    (!host.is_empty() && plain_host && plain_path).then_some((host, path))
}

/// Whether this is a host of Amazon SNS: `sns.<region>.amazonaws.com`, or `.com.cn`.
pub(super) fn is_sns_host(host: &str) -> bool {
    let region = host
        .strip_prefix("sns.")
        .and_then(|rest| rest.strip_suffix(".amazonaws.com").or_else(|| rest.strip_suffix(".amazonaws.com.cn")));
    region.is_some_and(is_region)
}

/// Whether this is the name of a region, such as `us-gov-west-1`. Under other names of this form everybody's buckets are
/// found: `sns.s3-us-west-2.amazonaws.com` is the one that is called `sns`.
fn is_region(name: &str) -> bool {
    let parts: Vec<&str> = name.split('-').collect();
    let [words @ .., number] = parts.as_slice() else { return false };
    let is_word = |word: &&str| word.len() >= 2 && word.bytes().all(|b| b.is_ascii_lowercase());
    let is_number = (1..=2).contains(&number.len()) && number.bytes().all(|b| b.is_ascii_digit());
    words.len() >= 2 && words.iter().all(is_word) && is_number
}

/// Whether this is a host of PayPal.
pub(super) fn is_paypal_host(host: &str) -> bool {
    host.strip_suffix(".paypal.com").is_some_and(|name| !name.is_empty() && !name.starts_with('.'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_plain_https_urls_are_taken_apart() {
        assert_eq!(host_and_path("https://h.example/a/b.pem"), Some(("h.example", "/a/b.pem")));
        for bad in [
            "http://h.example/a",
            "https://h.example",
            "https://u@h.example/a",
            "https://h.example:443/a",
            "https://h.example/a?b",
            "https://h.example/a#b",
            "https://h.example/%2e",
            "https://h.example/../a",
            "https://h.example/./a",
            "https://h.example//a",
            "https://h.example\\@evil.test/a",
            "https:///a",
            "HTTPS://h.example/a",
            "https://h.example/a b",
        ] {
            assert_eq!(host_and_path(bad), None, "{bad}");
        }
    }

    #[test]
    fn hosts_are_the_providers_own() {
        for good in ["us-east-1", "us-gov-west-1", "ap-southeast-2", "us-iso-east-1"] {
            assert!(is_sns_host(&format!("sns.{good}.amazonaws.com")), "{good}");
        }
        assert!(is_sns_host("sns.cn-north-1.amazonaws.com.cn"));
        for bad in [
            "sns.s3-us-west-2.amazonaws.com",
            "sns.s3-accelerate.amazonaws.com",
            "sns.---.amazonaws.com",
            "sns.US-east-1.amazonaws.com",
            "sns.us-east.amazonaws.com",
            "sns.us.evil.amazonaws.com",
            "sns.us-east-1.amazonaws.com.evil.test",
            "sns.x.amazonaws.com",
            "xsns.us-east-1.amazonaws.com",
            "sns..amazonaws.com",
            "s3.us-east-1.amazonaws.com",
        ] {
            assert!(!is_sns_host(bad), "{bad}");
        }
        assert!(is_paypal_host("api.paypal.com") && is_paypal_host("api.sandbox.paypal.com"));
        assert!(
            !is_paypal_host("paypal.com.evil.test")
                && !is_paypal_host("evilpaypal.com")
                && !is_paypal_host(".paypal.com")
        );
    }
}
