//! The public address of a connection, as its provider was given it.

use crate::name::{Account, Provider};

/// The text is no address that a provider could have been given.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum InvalidPublicUrl {
    /// It is not absolute, or holds what an address cannot.
    #[error("write an absolute https:// or http:// address without a query, such as https://hooks.example.com")]
    NotAnAddress,
    /// It is to be the part that all connections share, and goes on as only one of them does.
    #[error("the path `/hooks/<provider>/<account>` is added to this address: leave it out")]
    HoldsThePath,
}

/// Checks the address that a provider was given: absolute, without a query, which is the sender's.
pub fn check_public_url(url: &str) -> Result<(), InvalidPublicUrl> {
    let rest = url.strip_prefix("https://").or_else(|| url.strip_prefix("http://")).unwrap_or_default();
    let plain = rest.bytes().all(|b| b.is_ascii_graphic() && !b"?#@\"<>\\^`{|}".contains(&b));
    if rest.is_empty() || rest.starts_with(['/', ':']) || !plain {
        return Err(InvalidPublicUrl::NotAnAddress);
    }
    Ok(())
}

/// Checks the public address that all connections of a stack share.
pub fn check_base_url(url: &str) -> Result<(), InvalidPublicUrl> {
    check_public_url(url)?;
    let after_the_host = url.split("://").nth(1).and_then(|rest| rest.split_once('/')).map_or("", |(_, path)| path);
    if after_the_host.split('/').any(|segment| segment == "hooks") {
        return Err(InvalidPublicUrl::HoldsThePath);
    }
    Ok(())
}

/// The path of a connection's deliveries.
pub fn path_of(provider: &Provider, account: &Account) -> String {
    format!("/hooks/{provider}/{account}")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_absolute_and_has_no_query() {
        for url in ["https://h.example", "http://127.0.0.1:9000/a%20b/", "https://[::1]:8443/x"] {
            assert_eq!(check_public_url(url), Ok(()), "{url}");
        }
        for url in [
            "",
            "h.example",
            "ftp://h.example",
            "https://",
            "https:///x",
            "https://:443/",
            "https://h.example/?a=1",
            "https://h.example/#a",
            "https://me:pw@h.example/",
            "https://h.example/a b",
            "https://hé.example/",
        ] {
            assert_eq!(check_public_url(url), Err(InvalidPublicUrl::NotAnAddress), "{url}");
        }
        assert_eq!(check_base_url("https://hooks.example/hooksy"), Ok(()));
        for url in ["https://h.example/hooks", "https://h.example/prod/hooks/", "https://h.example/hooks/square/main"] {
            assert_eq!(check_base_url(url), Err(InvalidPublicUrl::HoldsThePath), "{url}");
        }
    }
}
