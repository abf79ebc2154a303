//! The HTTP request as API Gateway hands it over, reduced to what is needed and decoded where it was encoded.

use hookbox_core::limits::MAX_BODY_BYTES;
use hookbox_core::name::{Account, Provider};
use lambda_http::request::{LambdaRequest, RequestContext};
use lambda_http::{Body, Request, RequestExt};

/// A request to `/hooks/{provider}/{account}` or `/hooks/{provider}/{account}/{token}`.
pub struct Incoming {
    /// The HTTP method.
    pub method: String,
    /// The endpoint, where the path names one that could exist.
    pub endpoint: Option<(Provider, Account)>,
    /// How the path goes on after the account, as it was sent: nothing, a slash, or a secret segment. Never logged.
    pub rest: String,
    /// The third path segment: a shared secret of providers that do not sign. Never logged.
    pub path_token: Option<String>,
    /// The raw query.
    pub query: Option<String>,
    /// Headers in the order of their arrival, names in lower case. API Gateway joins repeated ones with a comma.
    pub headers: Vec<(String, String)>,
    /// The exact bytes that the provider sent.
    pub body: Vec<u8>,
    /// API Gateway's id of the request, as its access log has it.
    pub request_id: String,
}

impl Incoming {
    /// Whether the body is larger than [`MAX_BODY_BYTES`].
    pub fn is_over_the_limit(&self) -> bool {
        self.body.len() > MAX_BODY_BYTES
    }

    /// The request as a profile sees it, sent to this public address: what is configured, never what `Host` says.
    pub fn as_delivered<'a>(&'a self, address: Option<&'a str>) -> hookbox_providers::Request<'a> {
        hookbox_providers::Request {
            method: &self.method,
            path_token: self.path_token.as_deref(),
            url: address,
            query: self.query.as_deref(),
            headers: &self.headers,
            body: &self.body,
        }
    }

    /// Takes over the request; `lambda_http` has undone API Gateway's base64 by then.
    pub fn from_lambda(request: Request) -> Self {
        let request_id = match request.request_context_ref() {
            Some(RequestContext::ApiGatewayV2(context)) => context.request_id.clone(),
            _ => None,
        };
        let Path { endpoint, rest, token } = Path::split(request.raw_http_path());
        let headers = request
            .headers()
            .iter()
            .map(|(name, value)| (name.as_str().to_owned(), String::from_utf8_lossy(value.as_bytes()).into_owned()))
            .collect();
        Self {
            method: request.method().as_str().to_owned(),
            endpoint,
            rest,
            path_token: token,
            query: request.uri().query().map(str::to_owned),
            headers,
            request_id: request_id.unwrap_or_default(),
            body: match request.into_body() {
                Body::Empty => Vec::new(),
                Body::Text(text) => text.into_bytes(),
                Body::Binary(bytes) => bytes,
                other => other.to_vec(),
            },
        }
    }
}

/// Percent-encodes what may not stand in a URI. API Gateway hands a query over as it was sent and a path decoded, and
/// `lambda_http` would panic on what does not parse: a way for anybody to end the process.
pub fn make_legal(request: &mut LambdaRequest) {
    let LambdaRequest::ApiGatewayV2(request) = request else { return };
    // Parts of an address that nobody here needs, and that need not parse.
    for name in ["host", "x-forwarded-proto"] {
        request.headers.remove(name);
    }
    request.raw_path = request.raw_path.take().map(|path| encoded(path, is_legal_in_path));
    request.raw_query_string = request.raw_query_string.take().map(|query| encoded(query, is_legal_in_query));
}

fn encoded(text: String, is_legal: fn(u8) -> bool) -> String {
    if text.bytes().all(is_legal) {
        return text;
    }
    text.bytes().map(|byte| if is_legal(byte) { (byte as char).to_string() } else { format!("%{byte:02X}") }).collect()
}

/// Unreserved, sub-delimiters, and what separates the parts of a path (RFC 3986).
fn is_legal_in_path(byte: u8) -> bool {
    byte.is_ascii_alphanumeric() || b"-._~!$&'()*+,;=:@/?%".contains(&byte)
}

/// What parses in a query, which is more than RFC 3986 allows: some providers sign it, and every byte counts.
fn is_legal_in_query(byte: u8) -> bool {
    byte.is_ascii_graphic() && !b"\"#<>".contains(&byte)
}

/// What a path says.
#[derive(Default)]
struct Path {
    endpoint: Option<(Provider, Account)>,
    rest: String,
    token: Option<String>,
}

impl Path {
    /// Everything behind the stage and `/hooks/`. A stage in the path (`/prod/hooks/…`) is API Gateway's, not ours.
    fn split(path: &str) -> Self {
        let Some((_, path)) = path.split_once("/hooks/") else { return Self::default() };
        let mut segments = path.splitn(3, '/');
        let provider = segments.next().and_then(|text| text.parse().ok());
        let account = segments.next().and_then(|text| text.parse().ok());
        let third = segments.next();
        match (provider, account) {
            (Some(provider), Some(account)) if !third.unwrap_or_default().contains('/') => Self {
                endpoint: Some((provider, account)),
                rest: third.map(|text| format!("/{text}")).unwrap_or_default(),
                token: third.filter(|text| !text.is_empty()).map(str::to_owned),
            },
            _ => Self::default(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn names(path: &str) -> Option<(String, String, Option<String>)> {
        let Path { endpoint, token, .. } = Path::split(path);
        endpoint.map(|(provider, account)| (provider.to_string(), account.to_string(), token))
    }

    #[test]
    fn a_path_names_an_endpoint_or_nothing() {
        let plain = Some(("stripe".into(), "demo".into(), None));
        assert_eq!(names("/hooks/stripe/demo"), plain);
        assert_eq!(names("/prod/hooks/stripe/demo"), plain);
        assert_eq!(names("/hooks/stripe/demo/"), plain);
        assert_eq!(names("/hooks/yelp/demo/s3cret"), Some(("yelp".into(), "demo".into(), Some("s3cret".into()))));
        for path in ["/", "/hooks", "/hooks/", "/hooks/stripe", "/hooks/stripe/", "/hooks/stripe/a/b/c", "/hooks/St/a"]
        {
            assert_eq!(names(path), None, "{path}");
        }
    }

    #[test]
    fn what_comes_after_the_account_is_kept_as_it_was_sent() {
        let rest = |path: &str| Path::split(path).rest;
        assert_eq!(rest("/hooks/stripe/demo"), "");
        assert_eq!(rest("/hooks/stripe/demo/"), "/");
        assert_eq!(rest("/prod/hooks/yelp/demo/s3cret%21"), "/s3cret%21");
    }
}
