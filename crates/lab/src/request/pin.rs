//! Which processors the client and the servers run on.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use basecase_model::Dbms;
use basecase_probe::ProcessorSet;
use thiserror::Error;

use crate::workload::Workload;

/// Processors up to which a machine is small. On a larger one the server's other threads have processors to themselves, and would miss
/// them.
const SMALL_MACHINE: usize = 4;

/// The placement that the user asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PinRequest {
    /// On a small machine, a run with one connection is pinned: client and server to the last processor, because only one of them works at any
    /// time. Unpinned, one binary ran at 11,000 or at 44,000 queries a second on two processors, by chance; pinned like this, at 46,000 to
    /// 52,000.
    #[default]
    Automatic,
    /// The operating system decides.
    Off,
    /// As named.
    Named(Pin),
}

/// Which processors the client and the servers run on; `None` is wherever the operating system puts them.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Pin {
    /// The threads that drive the load.
    pub client: Option<ProcessorSet>,
    /// Every process of a server.
    pub server: Option<ProcessorSet>,
}

/// Why a placement was refused.
#[derive(Debug, Clone, PartialEq, Eq, Error)]
#[error("cannot read the placement `{0}`\nhint: write client=0,server=1-3, or auto, or off")]
pub struct PinError(String);

impl Pin {
    /// The placement of a run.
    ///
    /// # Errors
    /// When a processor is named that basecase may not use, or a server that basecase does not start is to be pinned.
    pub(crate) fn resolve(
        request: &PinRequest,
        workload: &dyn Workload,
        dbms: &[(Dbms, bool)],
    ) -> Result<Pin> {
        let allowed = ProcessorSet::allowed().context("cannot tell which processors there are")?;
        let is_started = |(dbms, is_url): &(Dbms, bool)| !dbms.is_embedded() && !is_url;
        match request {
            PinRequest::Off => Ok(Pin::default()),
            PinRequest::Automatic => {
                let has_one_connection = workload.sessions() == 1 && dbms.iter().all(is_started);
                let is_small = (2..=SMALL_MACHINE).contains(&allowed.numbers().len());
                let last = allowed.numbers().last().filter(|_| has_one_connection && is_small);
                let shared = ProcessorSet::of(last.copied());
                Ok(Pin { client: shared.clone(), server: shared })
            }
            PinRequest::Named(pin) => {
                for set in pin.client.iter().chain(&pin.server) {
                    if let Some(missing) =
                        set.numbers().iter().find(|number| !allowed.numbers().contains(number))
                    {
                        bail!(
                            "--pin {pin}: there is no processor {missing} that basecase may use\nhint: those that it may use are {allowed}"
                        );
                    }
                }
                if pin.server.is_some() && !dbms.iter().any(is_started) {
                    bail!(
                        "--pin {pin}: no candidate is a server that basecase starts\nhint: name only client=…, and pin your own server where it runs"
                    );
                }
                Ok(pin.clone())
            }
        }
    }

    /// Whether anything is pinned.
    pub(crate) fn is_any(&self) -> bool {
        self.client.is_some() || self.server.is_some()
    }
}

impl fmt::Display for Pin {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match (&self.client, &self.server) {
            (None, None) => formatter.write_str("unpinned"),
            (Some(client), None) => write!(formatter, "client={client}"),
            (None, Some(server)) => write!(formatter, "server={server}"),
            (Some(client), Some(server)) => write!(formatter, "client={client},server={server}"),
        }
    }
}

impl FromStr for PinRequest {
    type Err = PinError;

    fn from_str(text: &str) -> Result<Self, PinError> {
        let refuse = || PinError(text.to_owned());
        match text {
            "auto" => return Ok(PinRequest::Automatic),
            "off" | "unpinned" => return Ok(PinRequest::Off),
            _ => {}
        }
        // A comma also separates the processors of one list.
        let mut lists: Vec<(&str, String)> = Vec::new();
        for part in text.split(',') {
            match (part.split_once('='), lists.last_mut()) {
                (Some((name, list)), _) => lists.push((name.trim(), list.to_owned())),
                (None, Some((_, list))) => {
                    list.push(',');
                    list.push_str(part);
                }
                (None, None) => return Err(refuse()),
            }
        }
        let mut pin = Pin::default();
        for (name, list) in lists {
            let place = match name {
                "client" => &mut pin.client,
                "server" => &mut pin.server,
                _ => return Err(refuse()),
            };
            let set = list.parse().map_err(|()| refuse())?;
            if place.replace(set).is_some() {
                return Err(refuse());
            }
        }
        Ok(PinRequest::Named(pin))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn placements_are_read_back() {
        for text in ["client=0", "server=1-3", "client=0,server=1-3", "client=0,2,server=1,3"] {
            let Ok(PinRequest::Named(pin)) = text.parse() else { panic!("{text} is not read") };
            assert_eq!(pin.to_string(), text);
        }
        assert_eq!("auto".parse(), Ok(PinRequest::Automatic));
        for wrong in ["", "1", "client", "client=", "client=1,client=2", "servers=1", "client=x"] {
            assert!(wrong.parse::<PinRequest>().is_err(), "{wrong}");
        }
    }
}
