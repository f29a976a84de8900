//! The memory map of a process, and how to unwind its stacks.

use std::fs;
use std::sync::Arc;

use framehop::{
    CacheNative, ExplicitModuleSectionInfo, FrameAddress, MayAllocateDuringUnwind, Unwinder, UnwinderNative,
};

use super::frame::Frame;
use super::module::{KERNEL_LIBRARY, Modules, address_range};
use super::record::Sample;

/// The number of frames after which a stack counts as circular.
const DEEPEST: usize = 512;

/// A piece of a file, mapped as code.
#[derive(Debug, Clone, PartialEq, Eq, Hash)]
pub(super) struct Mapping {
    start: u64,
    end: u64,
    offset: u64,
    path: String,
}

/// The code that a process has mapped, in address order. Empty if the process is gone.
pub(super) fn mappings(process: u32) -> Vec<Mapping> {
    let Ok(bytes) = fs::read(format!("/proc/{process}/maps")) else { return Vec::new() };
    String::from_utf8_lossy(&bytes).lines().filter_map(mapping).collect()
}

/// `7f4a-7f4b r-xp 00001000 fd:01 1234    /usr/lib/libc.so.6`, see proc_pid_maps(5).
fn mapping(line: &str) -> Option<Mapping> {
    let range = address_range(line)?;
    let mut fields = line.splitn(6, ' ').skip(1);
    let (rights, offset) = (fields.next()?, fields.next()?);
    let path = fields.nth(2)?.trim_start();
    let path = path.strip_suffix(" (deleted)").unwrap_or(path);
    let is_code = rights.contains('x') && (path.starts_with('/') || path == KERNEL_LIBRARY);
    let offset = u64::from_str_radix(offset, 16).ok()?;
    is_code.then(|| Mapping { start: range.start, end: range.end, offset, path: path.to_owned() })
}

/// The code of a process, and how to unwind stacks through it.
pub(super) struct AddressSpace {
    mapped: Vec<(Mapping, u32)>,
    unwinder: UnwinderNative<Arc<[u8]>, MayAllocateDuringUnwind>,
}

impl AddressSpace {
    /// The address space with these mappings.
    pub(super) fn new(mappings: &[Mapping], modules: &mut Modules) -> Self {
        let mut space = AddressSpace { mapped: Vec::new(), unwinder: UnwinderNative::new() };
        for mapping in mappings {
            let number = modules.number(&mapping.path);
            let place =
                modules.get(number).and_then(|module| Some((module, module.address(mapping.offset)?)));
            if let Some((module, address)) = place {
                space.unwinder.add_module(framehop::Module::new(
                    module.name().to_owned(),
                    mapping.start..mapping.end,
                    mapping.start.wrapping_sub(address),
                    ExplicitModuleSectionInfo::clone(&module.unwinding),
                ));
            }
            space.mapped.push((mapping.clone(), number));
        }
        space
    }

    /// Appends the user-mode frames to `frames`, from the innermost.
    pub(super) fn unwind(
        &self,
        sample: &Sample,
        cache: &mut CacheNative<MayAllocateDuringUnwind>,
        frames: &mut Vec<Frame>,
    ) {
        let Some(registers) = sample.registers else { return };
        let mut read = |address: u64| {
            let offset =
                address.checked_sub(registers.stack_pointer()).and_then(|it| usize::try_from(it).ok());
            let word = offset.and_then(|offset| sample.stack.get(offset..)?.first_chunk());
            word.map(|word| u64::from_ne_bytes(*word)).ok_or(())
        };
        let mut unwound = self.unwinder.iter_frames(
            registers.instruction_pointer(),
            registers.for_unwinding(),
            cache,
            &mut read,
        );
        for _ in 0..DEEPEST {
            match unwound.next() {
                Ok(Some(address)) => frames.push(self.frame(address)),
                Ok(None) => return,
                Err(_) => break,
            }
        }
        frames.push(Frame::Cut);
    }

    fn frame(&self, address: FrameAddress) -> Frame {
        // A return address may already lie in the next function.
        let address = address.address_for_lookup();
        let after = self.mapped.partition_point(|(mapping, _)| mapping.start <= address);
        match after.checked_sub(1).and_then(|index| self.mapped.get(index)) {
            Some((mapping, module)) if address < mapping.end => {
                Frame::Code { module: *module, offset: address - mapping.start + mapping.offset }
            }
            _ => Frame::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn only_code_of_files_counts() {
        let line = "7f4a1000-7f4a3000 r-xp 00001000 fd:01 1234                  /opt/a b/lib.so (deleted)";
        let expected =
            Mapping { start: 0x7f4a_1000, end: 0x7f4a_3000, offset: 0x1000, path: "/opt/a b/lib.so".into() };
        assert_eq!(mapping(line), Some(expected));
        assert_eq!(mapping("7f4a1000-7f4a3000 r--p 00001000 fd:01 1234        /lib.so"), None);
        assert_eq!(mapping("7f4a1000-7f4a3000 rwxp 00000000 00:00 0 "), None);
        assert!(mapping("7ffd1000-7ffd3000 r-xp 00000000 00:00 0           [vdso]").is_some());
        assert!(mappings(1 << 23).is_empty());
    }

    #[test]
    fn addresses_become_places_in_files() {
        let path = std::env::current_exe().unwrap().display().to_string();
        let mapping = Mapping { start: 0x1000, end: 0x2000, offset: 0x40, path };
        let mut modules = Modules::default();
        let space = AddressSpace::new(&[mapping], &mut modules);
        let frame = |address| space.frame(FrameAddress::from_instruction_pointer(address));
        assert_eq!(frame(0x1010), Frame::Code { module: 0, offset: 0x50 });
        assert_eq!(frame(0x2000), Frame::Unknown);
        assert_eq!(frame(0xfff), Frame::Unknown);
    }

    proptest! {
        #[test]
        fn garbage_never_panics(line in "([0-9a-f]{1,18}|[-r xp/]|.){0,60}") {
            let _ = mapping(&line);
        }
    }
}
