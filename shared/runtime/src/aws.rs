//! The configuration that every AWS client is made from.

use std::time::Duration;

use aws_config::environment::EnvironmentVariableRegionProvider;
use aws_config::meta::region::RegionProviderChain;
use aws_config::profile::ProfileFileRegionProvider;
use aws_config::timeout::TimeoutConfig;
use aws_config::{BehaviorVersion, Region, SdkConfig};
use aws_smithy_http_client::Builder;
use aws_smithy_http_client::tls::Provider;
use aws_smithy_http_client::tls::rustls_provider::CryptoMode;

/// How long a connection may take to be made.
const CONNECT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long an answer may take to begin.
const READ_TIMEOUT: Duration = Duration::from_secs(3);
/// The region when neither the environment nor a profile names one: so with a local AWS, which does not care.
const FALLBACK_REGION: &str = "us-east-1";

/// Region, credentials and endpoint from the environment, with TLS by ring and short timeouts. `AWS_ENDPOINT_URL` points
/// every client at a local AWS.
pub async fn sdk_config() -> SdkConfig {
    // Nothing asks the instance metadata service for a region: outside of EC2 that only costs seconds.
    let region = RegionProviderChain::first_try(EnvironmentVariableRegionProvider::new())
        .or_else(ProfileFileRegionProvider::new())
        .or_else(Region::from_static(FALLBACK_REGION));
    let http = Builder::new().tls_provider(Provider::Rustls(CryptoMode::Ring)).build_https();
    let timeouts = TimeoutConfig::builder().connect_timeout(CONNECT_TIMEOUT).read_timeout(READ_TIMEOUT).build();
    aws_config::defaults(BehaviorVersion::latest())
        .http_client(http)
        .region(region)
        .timeout_config(timeouts)
        .load()
        .await
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn every_client_has_a_region_an_http_client_and_timeouts() {
        let config = sdk_config().await;
        assert!(config.region().is_some());
        assert!(config.http_client().is_some());
        let timeouts = config.timeout_config().unwrap();
        assert_eq!(timeouts.connect_timeout(), Some(CONNECT_TIMEOUT));
        assert_eq!(timeouts.read_timeout(), Some(READ_TIMEOUT));
        assert!(config.sleep_impl().is_some() && config.time_source().is_some(), "retries and signatures need both");
    }
}
