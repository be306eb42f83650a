// SPDX-License-Identifier: Apache-2.0
//! Encodes the call of a kernel: a command and the device memory that it reads.
//!
//! ```text
//! offset  bytes
//!      0      1  bit 0: FIFOs as deep as the kernel declares them, else roomy
//!      1      2  bytes of the command, little endian; cut to what there is
//!      3      n  the command
//!  3 + n         the memory
//! ```

/// The arguments of a call of a kernel.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Call {
    /// Whether the FIFOs are as deep as the kernel declares them.
    pub has_declared_depths: bool,
    /// The command's bytes.
    pub command: Vec<u8>,
    /// Device memory, from address 0 on, whole lines of it.
    pub memory: Vec<u8>,
}

/// Bytes of a line of device memory.
const LINE: usize = 64;

impl Call {
    /// Reads any bytes as a call; `None` when there are too few.
    pub fn parse(bytes: &[u8]) -> Option<Self> {
        let (&[options, low, high], rest) = bytes.split_first_chunk()?;
        let length = usize::from(u16::from_le_bytes([low, high])).min(rest.len());
        let (command, memory) = rest.split_at(length);
        let mut memory = memory.to_vec();
        memory.resize(memory.len().next_multiple_of(LINE), 0);
        Some(Self { has_declared_depths: options & 1 == 1, command: command.to_vec(), memory })
    }

    /// The bytes of this call; `None` when the command is too long for them.
    pub fn to_bytes(&self) -> Option<Vec<u8>> {
        let [low, high] = u16::try_from(self.command.len()).ok()?.to_le_bytes();
        let head = [u8::from(self.has_declared_depths), low, high];
        Some([&head, &self.command[..], &self.memory].concat())
    }
}
