//! The registers from which a stack is unwound.

use framehop::UnwindRegsNative;

/// The kernel's code for a 64-bit program's registers.
const OF_64_BITS: u64 = 2;

/// The kernel's numbers of the registers, ascending: frame pointer, stack pointer, instruction pointer.
#[cfg(target_arch = "x86_64")]
const NUMBERS: [u32; 3] = [6, 7, 8];
/// The kernel's numbers of the registers, ascending: frame pointer, link register, stack pointer, instruction pointer.
#[cfg(target_arch = "aarch64")]
const NUMBERS: [u32; 4] = [29, 30, 31, 32];

/// Their values.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Registers([u64; NUMBERS.len()]);

impl Registers {
    /// How many there are.
    pub(super) const COUNT: usize = NUMBERS.len();

    /// The mask of the registers that the kernel should sample.
    pub(super) fn mask() -> u64 {
        NUMBERS.iter().fold(0, |mask, number| mask | 1 << number)
    }

    /// The registers of a sample; `None` if one is missing, or it is not a 64-bit program.
    pub(super) fn of(form: u64, values: [Option<u64>; Self::COUNT]) -> Option<Self> {
        let mut registers = [0; Self::COUNT];
        for (register, value) in registers.iter_mut().zip(values) {
            *register = value?;
        }
        (form == OF_64_BITS).then_some(Registers(registers))
    }

    /// Where the next instruction lies.
    pub(super) fn instruction_pointer(self) -> u64 {
        self.0[Self::COUNT - 1]
    }

    /// Where the stack begins.
    pub(super) fn stack_pointer(self) -> u64 {
        self.0[Self::COUNT - 2]
    }

    /// The same for the unwinder.
    #[cfg(target_arch = "x86_64")]
    pub(super) fn for_unwinding(self) -> UnwindRegsNative {
        let [frame, stack, instruction] = self.0;
        UnwindRegsNative::new(instruction, stack, frame)
    }

    /// The same for the unwinder.
    #[cfg(target_arch = "aarch64")]
    pub(super) fn for_unwinding(self) -> UnwindRegsNative {
        let [frame, link, stack, _] = self.0;
        UnwindRegsNative::new(link, stack, frame)
    }
}
