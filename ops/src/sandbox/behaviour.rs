//! What the sandbox does with a call: its path decides.

use std::time::Duration;

/// How a destination behaves.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Behaviour {
    /// Does the work and says so.
    Works,
    /// Fails so often for each key, then works.
    Fails {
        /// How often.
        times: u64,
    },
    /// Never works.
    Down,
    /// Refuses every call for good.
    Broken,
    /// Refuses our credential.
    Unauthorized,
    /// Does the work, and says so only after a while.
    Slow {
        /// After how long.
        after: Duration,
    },
    /// Does the work, and the first time for each key hangs up instead of saying so.
    Drops,
}

/// The longest that a call is kept waiting.
const MAX_WAIT: Duration = Duration::from_secs(600);

impl Behaviour {
    /// The behaviour of a path; the error says what is wrong with it.
    pub fn of_path(path: &str) -> Result<Self, String> {
        let mut parts = path.trim_matches('/').splitn(2, '/');
        match (parts.next().unwrap_or_default(), parts.next()) {
            ("ok" | "effects", None) => Ok(Self::Works),
            ("down", None) => Ok(Self::Down),
            ("broken", None) => Ok(Self::Broken),
            ("unauthorized", None) => Ok(Self::Unauthorized),
            ("drop", None) => Ok(Self::Drops),
            ("fail", Some(times)) => match times.parse() {
                Ok(times) => Ok(Self::Fails { times }),
                Err(_) => Err("write how often, as in /fail/2".to_owned()),
            },
            ("slow", Some(after)) => match humantime::parse_duration(after) {
                Ok(after) if after <= MAX_WAIT => Ok(Self::Slow { after }),
                _ => Err("write how long, at most 10m, as in /slow/5s".to_owned()),
            },
            _ => Err("there is /ok, /fail/2, /down, /broken, /unauthorized, /slow/5s and /drop".to_owned()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_path_names_a_behaviour() {
        let of = |path| Behaviour::of_path(path).ok();
        assert_eq!(of("/ok"), Some(Behaviour::Works));
        assert_eq!(of("/effects"), Some(Behaviour::Works));
        assert_eq!(of("/fail/2"), Some(Behaviour::Fails { times: 2 }));
        assert_eq!(of("/down"), Some(Behaviour::Down));
        assert_eq!(of("/broken/"), Some(Behaviour::Broken));
        assert_eq!(of("/unauthorized"), Some(Behaviour::Unauthorized));
        assert_eq!(of("/slow/5s"), Some(Behaviour::Slow { after: Duration::from_secs(5) }));
        assert_eq!(of("/drop"), Some(Behaviour::Drops));
        for wrong in ["/", "/okay", "/ok/2", "/fail", "/fail/x", "/fail/-1", "/slow/5", "/slow/11m", "/drop/1"] {
            assert!(Behaviour::of_path(wrong).is_err(), "{wrong}");
        }
    }
}
