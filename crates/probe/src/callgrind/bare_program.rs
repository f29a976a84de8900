//! A program without what only debuggers read, which valgrind would read at each start.

use std::fs::{self, OpenOptions};
use std::io::{self, Write};
use std::os::unix::fs::OpenOptionsExt;
use std::path::Path;

use object::LittleEndian;
use object::elf::{FileHeader64, PT_LOAD, SymbolSection};
use object::read::elf::{FileHeader, ProgramHeader};

/// Writes a copy of a program with nothing but what is loaded when it runs: it does the same, and has neither symbols nor sections. Valgrind
/// starts basecase so in 0.3 s instead of 0.6 s.
///
/// # Errors
/// When `program` is no ELF file of 64 bits and little endian, either file cannot be read or written, or files at `copy` cannot be executed.
pub fn write_bare_program(program: &Path, copy: &Path) -> io::Result<()> {
    let bare = bare(fs::read(program)?)?;
    let mut file = OpenOptions::new().write(true).create_new(true).mode(0o755).open(copy)?;
    file.write_all(&bare)?;
    rustix::fs::access(copy, rustix::fs::Access::EXEC_OK)?;
    Ok(())
}

/// The bytes of a program up to the end of its last loaded segment, with a header that names no sections.
fn bare(mut program: Vec<u8>) -> io::Result<Vec<u8>> {
    let loaded = {
        let header = FileHeader64::<LittleEndian>::parse(&*program).map_err(io::Error::other)?;
        let segments = header.program_headers(LittleEndian, &*program).map_err(io::Error::other)?;
        let loaded = segments.iter().filter(|segment| segment.p_type(LittleEndian) == PT_LOAD);
        loaded.map(|segment| segment.p_offset(LittleEndian) + segment.p_filesz(LittleEndian)).max()
    };
    program.truncate(loaded.unwrap_or_default() as usize);
    let (header, _) = object::pod::from_bytes_mut::<FileHeader64<LittleEndian>>(&mut program)
        .map_err(|()| io::Error::other("nothing of it is loaded"))?;
    header.e_shoff.set(LittleEndian, 0);
    header.e_shnum.set(LittleEndian, 0);
    header.e_shstrndx.set(LittleEndian, SymbolSection(0));
    Ok(program)
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::process::Command;

    #[test]
    fn a_bare_program_does_the_same_and_is_smaller() {
        let folder = tempfile::tempdir().unwrap();
        let own = std::env::current_exe().unwrap();
        let copy = folder.path().join("copy");
        write_bare_program(&own, &copy).unwrap();
        let said = |program: &Path| loop {
            match Command::new(program).arg("--list").output() {
                Ok(output) => break output.stdout,
                // Another test began a process while the copy was written.
                Err(error) if error.kind() == io::ErrorKind::ExecutableFileBusy => {}
                Err(error) => panic!("{error}"),
            }
        };
        assert_eq!(said(&copy), said(&own));
        assert!(fs::metadata(&copy).unwrap().len() < fs::metadata(&own).unwrap().len());
        assert!(write_bare_program(&own, &copy).is_err(), "nothing is overwritten");
    }

    #[test]
    fn what_is_no_program_is_refused() {
        assert!(bare(b"#!/bin/sh\n".to_vec()).is_err());
        assert!(bare(Vec::new()).is_err());
    }
}
