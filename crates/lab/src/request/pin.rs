//! Which processors the client and the servers run on.

use std::fmt;
use std::str::FromStr;

use anyhow::{Context, Result, bail};
use basecase_model::Dbms;
use basecase_probe::ProcessorSet;
use basecase_stats::Orders;
use thiserror::Error;

use crate::workload::Workload;

/// Processors up to which a machine is small. On a larger one the server's other threads have processors to themselves, and would miss
/// them.
const SMALL_MACHINE: usize = 4;

/// The placement that the user asks for.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub enum PinRequest {
    /// On a small machine, a run with one connection is on one processor, client and server alike, because only one of them works at any time.
    /// Unpinned, one binary of a server ran at 11,000 or at 44,000 queries a second on two processors, by chance; pinned like this, at 46,000
    /// to 52,000. Two versions of SQLite, each in a thread of its own, stayed on a processor each, and whose neighbour was busy lost a third.
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

/// Where the client and the servers of an experiment are.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Placement {
    /// In the same place in every round.
    Fixed(Pin),
    /// All candidates on one processor of these, which is drawn for each round.
    Drawn {
        processors: ProcessorSet,
        /// Whether there are servers to be pinned besides the client.
        has_servers: bool,
    },
}

impl Placement {
    /// The placement of an experiment; `is_timed` unless only instructions are counted, of which no processor needs more.
    ///
    /// # Errors
    /// When a processor is named that basecase may not use, or a server that basecase does not start is to be pinned.
    pub(crate) fn resolve(
        request: &PinRequest,
        workload: &dyn Workload,
        dbms: &[(Dbms, bool)],
        is_timed: bool,
    ) -> Result<Placement> {
        let allowed = ProcessorSet::allowed().context("cannot tell which processors there are")?;
        let is_started = |(dbms, is_url): &(Dbms, bool)| !dbms.is_embedded() && !is_url;
        match request {
            PinRequest::Off => Ok(Placement::Fixed(Pin::default())),
            PinRequest::Automatic => {
                let is_small = (2..=SMALL_MACHINE).contains(&allowed.numbers().len());
                let is_ours = |(_, is_url): &(Dbms, bool)| !is_url;
                let is_shared = workload.sessions() == 1 && is_small && dbms.iter().all(is_ours);
                let has_servers = dbms.iter().any(is_started);
                Ok(match allowed.numbers().last() {
                    Some(_) if is_shared && is_timed => Placement::Drawn { processors: allowed, has_servers },
                    Some(last) if is_shared && has_servers => Placement::Fixed(Pin::on(*last, true)),
                    _ => Placement::Fixed(Pin::default()),
                })
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
                Ok(Placement::Fixed(pin.clone()))
            }
        }
    }

    /// The placement in this round.
    pub(crate) fn in_round(&self, orders: &Orders, round: u32) -> Pin {
        match self {
            Placement::Fixed(pin) => pin.clone(),
            Placement::Drawn { processors, has_servers } => {
                let numbers = processors.numbers();
                let order = orders.balanced("processors", round as usize, numbers.len());
                let drawn = order.first().and_then(|place| numbers.get(*place));
                drawn.map_or_else(Pin::default, |processor| Pin::on(*processor, *has_servers))
            }
        }
    }

    /// What cells say of it; `None` if nothing is pinned.
    pub(crate) fn cell_parameter(&self) -> Option<String> {
        match self {
            Placement::Fixed(Pin { client: None, server: None }) => None,
            Placement::Fixed(pin) => Some(pin.to_string()),
            Placement::Drawn { .. } => Some("drawn".to_owned()),
        }
    }
}

impl fmt::Display for Placement {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Placement::Fixed(pin) => pin.fmt(formatter),
            Placement::Drawn { processors, .. } => {
                write!(formatter, "one processor of {processors}, drawn for each round")
            }
        }
    }
}

impl Pin {
    /// Client and, where there are any, servers on one processor.
    fn on(processor: usize, has_servers: bool) -> Pin {
        let set = ProcessorSet::of([processor]);
        Pin { client: set.clone(), server: set.filter(|_| has_servers) }
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

    #[test]
    fn each_processor_is_drawn_as_often_as_the_others_and_serves_all_candidates() {
        let drawn = |has_servers| Placement::Drawn { processors: "1-2".parse().unwrap(), has_servers };
        let pins = |placement: &Placement| -> Vec<String> {
            (0..40).map(|round| placement.in_round(&Orders::new(7), round).to_string()).collect()
        };
        let of_servers = pins(&drawn(true));
        assert_eq!(of_servers.iter().filter(|pin| *pin == "client=1,server=1").count(), 20);
        assert_eq!(of_servers.iter().filter(|pin| *pin == "client=2,server=2").count(), 20);
        let in_turn = |pins: &[String]| pins.windows(2).all(|two| two[0] != two[1]);
        assert!(!in_turn(&of_servers), "{of_servers:?}");
        assert!(pins(&drawn(false)).iter().all(|pin| ["client=1", "client=2"].contains(&pin.as_str())));
        assert_eq!(drawn(true).to_string(), "one processor of 1-2, drawn for each round");
        let unpinned = Placement::Fixed(Pin::default());
        assert_eq!((unpinned.cell_parameter(), unpinned.to_string()), (None, "unpinned".to_owned()));
    }
}
