//! Names of frames.

use std::collections::{HashMap, HashSet};

use blazesym::symbolize::source::{Elf, Kernel, Process, Source};
use blazesym::symbolize::{Input, Symbolized, Symbolizer};
use blazesym::{MaybeDefault, Pid};
use cpp_demangle::{DemangleOptions, Symbol};

use super::frame::Frame;
use super::module::{KERNEL_LIBRARY, Modules, kernel_library};

/// The names of these frames, which are the same in two runs of one program.
pub(super) fn names(frames: &HashSet<Frame>, modules: &Modules) -> HashMap<Frame, String> {
    // Inlined functions are not shown: that would need debug information, which most builds lack, and which takes minutes to
    // read.
    let symbolizer = Symbolizer::builder().enable_demangling(false).build();
    let mut names = HashMap::new();
    let mut of_kernel = Vec::new();
    let mut of_modules: HashMap<u32, Vec<u64>> = HashMap::new();
    for frame in frames {
        match *frame {
            Frame::Kernel(address) => of_kernel.push(address),
            Frame::Code { module, offset } => of_modules.entry(module).or_default().push(offset),
            Frame::Unknown => drop(names.insert(*frame, "[unknown]".to_owned())),
            Frame::Cut => drop(names.insert(*frame, "[cut]".to_owned())),
            Frame::NotSampled => drop(names.insert(*frame, "[not sampled]".to_owned())),
            Frame::Preempted => drop(names.insert(*frame, "[preempted]".to_owned())),
        }
    }
    let found = look_up(&symbolizer, &kernel(), Input::AbsAddr(&of_kernel));
    for (address, name) in of_kernel.into_iter().zip(found) {
        let name = name.unwrap_or_else(|| "[kernel]".to_owned());
        names.insert(Frame::Kernel(address), format!("{name}_[k]"));
    }
    for (number, offsets) in of_modules {
        let Some(module) = modules.get(number) else { continue };
        let found = if module.path == KERNEL_LIBRARY {
            of_kernel_library(&symbolizer, &offsets)
        } else {
            let mut file = Elf::new(&module.path);
            file.debug_syms = false;
            look_up(&symbolizer, &Source::Elf(file), Input::FileOffset(&offsets))
        };
        for (offset, name) in offsets.into_iter().zip(found) {
            let name = name.unwrap_or_else(|| nameless(module.name()));
            names.insert(Frame::Code { module: number, offset }, name);
        }
    }
    names
}

/// A function without a name is its module.
fn nameless(module: &str) -> String {
    if module.starts_with('[') { module.to_owned() } else { format!("[{}]", tidy(module)) }
}

fn kernel() -> Source<'static> {
    Source::Kernel(Kernel { vmlinux: MaybeDefault::None, debug_syms: false, ..Kernel::default() })
}

fn of_kernel_library(symbolizer: &Symbolizer, offsets: &[u64]) -> Vec<Option<String>> {
    // It is not a file. This process has it too, at another address.
    let Ok((start, _)) = kernel_library() else { return vec![None; offsets.len()] };
    let addresses: Vec<u64> = offsets.iter().map(|offset| start.wrapping_add(*offset)).collect();
    let mut process = Process::new(Pid::Slf);
    process.debug_syms = false;
    look_up(symbolizer, &Source::Process(process), Input::AbsAddr(&addresses))
}

/// A name for each address, or none.
fn look_up(symbolizer: &Symbolizer, source: &Source<'_>, addresses: Input<&[u64]>) -> Vec<Option<String>> {
    let name = |symbol: &Symbolized<'_>| symbol.as_sym().map(|symbol| readable(&symbol.name));
    match symbolizer.symbolize(source, addresses) {
        Ok(symbols) => symbols.iter().map(name).collect(),
        // The file is gone, or it is the kernel's symbol list, which not every user may read.
        Err(_) => vec![None; addresses.into_inner().len()],
    }
}

/// A symbol as written in the source.
///
/// C++ names are shown without parameters and return types, so that a function stays the same if its parameters change from
/// one version to the next. The compiler's clones for some callers (`.constprop.0`, `.isra.0`) and cold parts (`.cold`)
/// count as the function.
fn readable(symbol: &str) -> String {
    let whole = match symbol.find('.') {
        Some(end) if end > 0 => &symbol[..end],
        _ => symbol,
    };
    let demangled = whole.starts_with("_Z").then(|| {
        let options = DemangleOptions::new().no_params().no_return_type();
        Symbol::new(whole).ok()?.demangle_with_options(&options).ok()
    });
    tidy(&demangled.flatten().unwrap_or_else(|| whole.to_owned()))
}

/// In folded stacks, a semicolon ends a frame, and a newline ends a stack.
fn tidy(name: &str) -> String {
    name.replace([';', '\n'], ":")
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn symbols_are_made_readable() {
        assert_eq!(readable("ExecProcNode"), "ExecProcNode");
        assert_eq!(readable("heap_hot_search_buffer.constprop.0.isra.0"), "heap_hot_search_buffer");
        assert_eq!(readable(".plt"), ".plt");
        assert_eq!(
            readable("_ZN11ha_innobase10index_readEPhPKhj16ha_rkey_function"),
            "ha_innobase::index_read"
        );
        assert_eq!(readable("_ZN3THD4initEv.part.0"), "THD::init");
        assert_eq!(readable("_Znot a symbol;"), "_Znot a symbol:");
    }

    #[test]
    fn frames_without_a_name_are_their_module() {
        let mut modules = Modules::default();
        let gone = modules.number("/no/such/library.so");
        let kernel_library = modules.number(KERNEL_LIBRARY);
        let frames = [
            Frame::Code { module: gone, offset: 1 },
            Frame::Code { module: kernel_library, offset: 1 << 40 },
            Frame::Unknown,
            Frame::Kernel(1),
        ];
        let names = names(&HashSet::from(frames), &modules);
        assert_eq!(
            frames.map(|frame| names[&frame].as_str()),
            ["[library.so]", "[vdso]", "[unknown]", "[kernel]_[k]"]
        );
    }
}
