//! The files whose code processes have mapped.

use std::collections::HashMap;
use std::fs::{self, File};
use std::io;
use std::ops::Range;
use std::os::unix::fs::FileExt;
use std::sync::Arc;

use basecase_model::hexadecimal;
use framehop::ExplicitModuleSectionInfo;
use object::elf::PF_X;
use object::read::elf::{ElfFile64, ElfSegment64};
use object::{Endianness, Object, ObjectSection, ObjectSegment, ReadCache, ReadRef, SegmentFlags};

/// What the kernel calls the library that it maps into every process.
pub(super) const KERNEL_LIBRARY: &str = "[vdso]";

/// A file with code.
#[derive(Debug, Default)]
pub(super) struct Module {
    /// Its path.
    pub(super) path: String,
    /// Its build id in hexadecimal digits.
    pub(super) build_id: Option<String>,
    /// The layout of its functions' frames.
    pub(super) unwinding: ExplicitModuleSectionInfo<Arc<[u8]>>,
    code: Vec<Segment>,
}

/// A part of a file that is mapped as one, with code in it.
#[derive(Debug)]
struct Segment {
    in_file: Range<u64>,
    address: u64,
}

impl Module {
    /// Reads the file. If something cannot be read, its frames have no names.
    fn open(path: &str) -> Self {
        let read = if path == KERNEL_LIBRARY {
            kernel_library().and_then(|(_, bytes)| Self::read(bytes.as_slice()))
        } else {
            File::open(path).and_then(|file| Self::read(&ReadCache::new(file)))
        };
        Module { path: path.to_owned(), ..read.unwrap_or_default() }
    }

    fn read<'data, R: ReadRef<'data>>(file: R) -> io::Result<Self> {
        let object = ElfFile64::<Endianness, R>::parse(file).map_err(io::Error::other)?;
        let address = |name| {
            let section = object.section_by_name(name)?;
            Some(section.address()..section.address().saturating_add(section.size()))
        };
        let bytes = |name| object.section_by_name(name)?.uncompressed_data().ok().map(Arc::from);
        let code = |segment: ElfSegment64<'data, '_, Endianness, R>| {
            let SegmentFlags::Elf { p_flags, .. } = segment.flags() else { return None };
            let (start, size) = segment.file_range();
            let is_code = (p_flags & PF_X).0 != 0;
            is_code
                .then(|| Segment { in_file: start..start.saturating_add(size), address: segment.address() })
        };
        Ok(Module {
            path: String::new(),
            build_id: object.build_id().ok().flatten().map(hexadecimal),
            unwinding: ExplicitModuleSectionInfo {
                text_svma: address(".text"),
                got_svma: address(".got"),
                eh_frame_svma: address(".eh_frame"),
                eh_frame: bytes(".eh_frame"),
                eh_frame_hdr_svma: address(".eh_frame_hdr"),
                eh_frame_hdr: bytes(".eh_frame_hdr"),
                ..ExplicitModuleSectionInfo::default()
            },
            code: object.segments().filter_map(code).collect(),
        })
    }

    /// The virtual address that the file assigns to an offset in it; `None` if no code is loaded from there.
    pub(super) fn address(&self, offset: u64) -> Option<u64> {
        // A mapping starts at the page in which the segment starts.
        const PAGE: u64 = 4096;
        let holds = |segment: &&Segment| {
            segment.in_file.start / PAGE * PAGE <= offset && offset < segment.in_file.end
        };
        let segment = self.code.iter().find(holds)?;
        Some(segment.address.wrapping_add(offset).wrapping_sub(segment.in_file.start))
    }

    /// Its name without folders, as in `postgres`.
    pub(super) fn name(&self) -> &str {
        self.path.rsplit('/').next().unwrap_or(&self.path)
    }
}

/// The kernel's library in this process, and where it is mapped; its content is the same in every process.
pub(super) fn kernel_library() -> io::Result<(u64, Vec<u8>)> {
    let maps = fs::read_to_string("/proc/self/maps")?;
    let range = maps.lines().find(|line| line.ends_with(KERNEL_LIBRARY)).and_then(address_range);
    let range = range.ok_or(io::ErrorKind::NotFound)?;
    let mut bytes = vec![0; usize::try_from(range.end - range.start).map_err(io::Error::other)?];
    File::open("/proc/self/mem")?.read_exact_at(&mut bytes, range.start)?;
    Ok((range.start, bytes))
}

/// The addresses at the start of a line of `/proc/PID/maps`; never empty.
pub(super) fn address_range(line: &str) -> Option<Range<u64>> {
    let (start, end) = line.split_whitespace().next()?.split_once('-')?;
    let address = |text| u64::from_str_radix(text, 16).ok();
    Some(address(start)?..address(end)?).filter(|range| !range.is_empty())
}

/// Every module that was found, by number.
#[derive(Debug, Default)]
pub(super) struct Modules {
    all: Vec<Arc<Module>>,
    numbers: HashMap<String, u32>,
}

impl Modules {
    /// The number of the module at that path. The first call reads the file.
    pub(super) fn number(&mut self, path: &str) -> u32 {
        if let Some(number) = self.numbers.get(path) {
            return *number;
        }
        let number = u32::try_from(self.all.len()).unwrap_or(u32::MAX);
        self.all.push(Arc::new(Module::open(path)));
        self.numbers.insert(path.to_owned(), number);
        number
    }

    /// The module with that number.
    pub(super) fn get(&self, number: u32) -> Option<&Arc<Module>> {
        self.all.get(usize::try_from(number).ok()?)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn this_program_is_read() {
        let mut modules = Modules::default();
        let path = std::env::current_exe().unwrap().display().to_string();
        let number = modules.number(&path);
        assert_eq!(modules.number(&path), number);
        let module = modules.get(number).unwrap();
        assert!(module.unwinding.eh_frame.is_some());
        assert!(!module.code.is_empty());
        assert!(path.ends_with(module.name()));
    }

    #[test]
    fn the_kernels_library_is_read() {
        let module = Module::open(KERNEL_LIBRARY);
        assert!(module.unwinding.eh_frame.is_some());
        assert_eq!(module.name(), KERNEL_LIBRARY);
    }

    #[test]
    fn what_is_gone_has_a_name_still() {
        let module = Module::open("/no/such/library.so");
        assert_eq!(
            (module.name(), module.build_id.as_deref(), module.address(0)),
            ("library.so", None, None)
        );
    }

    #[test]
    fn addresses_of_a_file_follow_its_segments() {
        let code = vec![
            Segment { in_file: 0x500..0x900, address: 0x40_0500 },
            Segment { in_file: 0x1678..0x3000, address: 0x40_2678 },
        ];
        let module = Module { code, ..Module::default() };
        assert_eq!(module.address(0x1700), Some(0x40_2700));
        assert_eq!(module.address(0x1000), Some(0x40_2000));
        assert_eq!(module.address(0x3000), None);
    }

    #[test]
    fn lines_of_maps() {
        assert_eq!(address_range("7f00-8000 r-xp 0"), Some(0x7f00..0x8000));
        assert_eq!(address_range("8000-8000 r-xp 0"), None);
        assert_eq!(address_range("x"), None);
        assert_eq!(hexadecimal(&[1, 0xab]), "01ab");
    }
}
