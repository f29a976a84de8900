//! Reads the machine: CPU, context switches, block devices, process trees, pressure, and the stacks of a server's threads.
//!
//! It reads what Linux reports, and decides nothing. What cannot be read is absent, never zero.
//!
//! The files of `/proc` are parsed by small functions of our own and not by the `procfs` crate: a snapshot needs a
//! tenth of their fields, and stands between the opening of a window and its first statement.
//!
//! Files that the user names are read by [`read_text`] alone.
//!
//! [`panic_message`] is not a reader; it is here because every crate that supervises threads is on a higher floor.

mod callgrind;
mod canary;
mod clock;
mod confinement;
mod device;
mod hardware;
mod host;
mod instruction_counter;
mod io_uring;
mod level;
mod memory;
mod memory_kills;
mod open_files;
mod panic;
mod perf;
mod pressure;
mod process;
mod processor;
mod processor_set;
mod profiler;
mod regular_file;
mod server_group;
mod watch;

pub use callgrind::{
    CallgrindError, CallgrindProblem, CallgrindProfile, CountedCall, CountedFunction, CountedPart,
    NO_SYMBOLS, write_bare_program,
};
pub use canary::canary_ns;
pub use clock::{process_cpu_ns, thread_cpu_ns};
pub use confinement::{group_folders, memory_limit_bytes, usable_cores, usable_memory_bytes};
pub use device::{device_number, device_under, filesystem_under};
pub use hardware::HardwareCounters;
pub use host::{host_facts, parse_choice, parse_field};
pub use instruction_counter::{CounterEvent, InstructionCounter};
pub use io_uring::io_uring_refusal;
pub use memory::{client_peak_rss_bytes, host_dirty_bytes, parse_kib, server_pss_bytes};
pub use memory_kills::{MemoryKills, Shortage};
pub use open_files::raise_open_files;
pub use panic::panic_message;
pub use perf::PerfError;
pub use pressure::parse_pressure;
pub use process::{ServerClock, ServerCpu, is_asleep, server_processes};
pub use processor::{CpuTicks, OthersTime, tick_us};
pub use processor_set::ProcessorSet;
pub use profiler::Profiler;
pub use regular_file::{MOST_TEXT_BYTES, open_regular, read_text};
pub use server_group::{Hierarchy, ServerGroup};
pub use watch::{Snapshot, Target, Watch};
