// SPDX-License-Identifier: Apache-2.0
//! Models local memories: whether they fit on the part, and the effect of their spread on the
//! kernel clock.
//!
//! The tool puts a local array into block RAMs while there are some, then into URAMs. A memory that
//! needs more than one row of clock regions has longer nets and one more multiplexer for each
//! row it reaches, and the tool scales the clock of the whole kernel down.

use super::{Parameters, unbuildable::Unbuildable};

/// Local memory of every compute unit of a design.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct LocalMemory {
    /// Bytes of each unit.
    pub bytes: u64,
    /// Compute units.
    pub units: u32,
}

impl Parameters {
    /// The kernel clock with these memories, in Hz.
    ///
    /// # Errors
    /// When they do not fit.
    pub fn kernel_clock_hz(&self, memory: LocalMemory) -> Result<f64, Unbuildable> {
        let rows = self.rows_reached(memory)?;
        Ok(1e9 / (1e9 / self.clock_hz + (rows - 1.0) * self.clock_row_delay_ns))
    }

    /// Rows of clock regions that the memory of the most spread unit reaches.
    fn rows_reached(&self, memory: LocalMemory) -> Result<f64, Unbuildable> {
        let units = f64::from(memory.units);
        let blocks = (memory.bytes as f64 / self.block_memory_bytes).ceil().max(1.0);
        let ultras = (memory.bytes as f64 / self.ultra_memory_bytes).ceil().max(1.0);
        let blocks_free = self.usable(self.block_memories) - units * self.unit_block_memories;
        let in_blocks = (blocks_free / blocks).floor().clamp(0.0, units);
        let in_ultras = units - in_blocks;
        if in_ultras * ultras > self.usable(self.ultra_memories) {
            return Err(Unbuildable::LocalMemory { bytes: memory.bytes, units: memory.units });
        }
        let block_rows =
            if in_blocks > 0.0 { (blocks / self.row_block_memories).ceil() } else { 1.0 };
        let ultra_rows =
            if in_ultras > 0.0 { (ultras / self.row_ultra_memories).ceil() } else { 1.0 };
        Ok(block_rows.max(ultra_rows))
    }

    /// The amount of a resource of the part that a design may use.
    fn usable(&self, of_part: f64) -> f64 {
        of_part * self.dynamic_share * self.fill_share
    }
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    const KIB: u64 = 1024;

    #[rstest]
    #[case(1, 256 * KIB)]
    #[case(15, 256 * KIB)]
    #[case(1, 2048 * KIB)]
    #[case(15, 0)]
    fn design_that_fits_has_a_clock(#[case] units: u32, #[case] bytes: u64) {
        let clock = Parameters::default().kernel_clock_hz(LocalMemory { bytes, units });
        assert!(clock.is_ok_and(|hz| hz > 200e6 && hz <= 300e6), "{clock:?}");
    }

    #[rstest]
    // Three arrays of 256 KiB in each of fifteen units.
    #[case(15, 768 * KIB)]
    #[case(15, 512 * KIB)]
    #[case(1, 4096 * KIB)]
    fn design_that_does_not_fit_is_refused(#[case] units: u32, #[case] bytes: u64) {
        let clock = Parameters::default().kernel_clock_hz(LocalMemory { bytes, units });
        assert_eq!(clock, Err(Unbuildable::LocalMemory { bytes, units }));
    }

    #[test]
    fn second_row_slows_clock() {
        let clock =
            |bytes| Parameters::default().kernel_clock_hz(LocalMemory { bytes, units: 1 }).unwrap();
        assert!((clock(256 * KIB) - 300e6).abs() < 1.0);
        let slower = 1.0 - clock(512 * KIB) / 300e6;
        assert!((0.06..0.08).contains(&slower), "{slower}");
        assert!(clock(1024 * KIB) < clock(512 * KIB));
    }
}
