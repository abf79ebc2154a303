//! Single-use tokens: where a provider signs a token and not the event, a token that was seen proves one event only.

use hookbox_core::digest::Digest;
use hookbox_core::name::{Account, Provider};
use hookbox_core::time::EpochSeconds;

use crate::Ledger;
use crate::classify::Failure;
use crate::error::LedgerError;
use crate::expression::{Expression, bytes, number};
use crate::item::{SCHEMA, key};
use crate::transact::Key;

/// What became of using a token.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TokenUse {
    /// It stands for this identity: now, or since an earlier delivery of the same.
    Ours,
    /// It was used for something else before.
    Another,
}

impl Ledger {
    /// Uses a token for what has this identity. Doing it again with the same identity changes nothing, so a delivery
    /// that is repeated passes. The token, known here by its digest only, is forgotten at `expires_at`, which must lie
    /// beyond the time for which its signature is accepted.
    pub async fn use_token(
        &self,
        provider: &Provider,
        account: &Account,
        token: Digest,
        identity: Digest,
        expires_at: EpochSeconds,
    ) -> Result<TokenUse, LedgerError> {
        let key = Key::new(key::token(provider, account, token), key::TOKEN);
        let stored = bytes(identity.as_bytes());
        let mut unused = Expression::default();
        let (pk, schema, known) = (unused.name("pk"), unused.name("schema"), unused.name("identity"));
        let (ours, same) = (unused.value(number(SCHEMA)), unused.value(stored.clone()));
        let unused = unused
            .when(format!("(attribute_not_exists({pk}) OR ({schema} <= {ours} AND {known} = {same}))"))
            .set("schema", number(SCHEMA))
            .set("identity", stored)
            .set("expires_at", number(expires_at.get()));
        let mut tries = self.tries();
        loop {
            match tries.make(self.update(key.clone(), &unused).send()).await {
                Ok(_) => return Ok(TokenUse::Ours),
                Err(Failure::Condition(_)) => return Ok(TokenUse::Another),
                Err(failure) => tries.again(failure).await?,
            }
        }
    }
}
