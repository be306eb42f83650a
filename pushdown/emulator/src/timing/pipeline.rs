// SPDX-License-Identifier: Apache-2.0
//! Models scans: the time of a SmartSSD for a command.
//!
//! Four parts, one after the other for a single command, and a fifth one for a merge (`merge.rs`):
//!
//! ```text
//! setup   starting a command through the runtime, and waiting for its first request
//! media   all requests, as many in flight as the drive keeps
//! kernel  taking the command, and cycles of the stages / clock; cycles come from the iterations
//!         that the stages made. Behind another command a part of it has gone by (`stages.rs`)
//! merge   setup, and the slowest part of the merge; its scans come before it
//! link    bytes of the result / host link bandwidth, and one latency
//! ```
//!
//! All of them use the bank of device memory, which serves one burst after the other
//! (`scan_bank.rs`): it is busy while they are, and the limit of many commands if it is busiest.
//!
//! The scans of a merge share the compute units as those of several commands do; their results stay
//! in device memory, so they take no link.
//!
//! Schedules of loops (cycles an iteration) have their sources in `schedule.rs`: nothing was
//! synthesised. The model omits the flash translation layer.

use nearscan_command::Counters;
use nearscan_drive::{ModelId, Modelled};

use super::{
    Parameters,
    stages::{Waits, has_groups, kernel_time},
    whole,
};
use crate::build::Build;

/// Version of this model, shown with every figure.
pub const MODEL_VERSION: u32 = 5;

impl Parameters {
    /// Identity of the model with these parameters, of a drive with this build.
    pub fn model(&self, build: &Build) -> ModelId {
        let values = self.table().into_iter().map(|parameter| parameter.value);
        let Build { scan_units, lanes, merge_units } = *build;
        let words = values.chain([scan_units, lanes, merge_units].map(f64::from));
        let bytes: Vec<u8> = words.flat_map(f64::to_le_bytes).collect();
        ModelId {
            version: MODEL_VERSION,
            config_hash: xxhash_rust::xxh3::xxh3_64(&bytes),
            schedules: self.schedules(),
        }
    }

    /// The time of a scan whose input was read by `requests`, and whose result stays in device
    /// memory.
    pub fn scan(
        &self,
        build: &Build,
        requests: impl Iterator<Item = u64>,
        counters: &Counters,
    ) -> Modelled {
        let mut media_bytes = 0;
        let media = self.media(requests.inspect(|bytes| media_bytes += bytes));
        let stages = self.stages(counters, Waits::Exposed);
        let ideal = self.stages(counters, Waits::Hidden);
        let groups = has_groups(counters);
        Modelled {
            model: self.model(build),
            setup_ns: whole(self.setup_ns + media.wait_ns),
            media_ns: whole(media.busy_ns),
            bank_ns: whole(self.scan_bank_ns(media_bytes, counters)),
            kernel: kernel_time(&stages, groups),
            ideal_kernel: kernel_time(&ideal, groups),
            stages,
            merge_ns: 0,
            exchange_ns: 0,
            link_ns: 0,
            compute_units: build.scan_units,
            commands: 1,
        }
    }

    /// The time of loading another image.
    pub fn exchange_ns(&self) -> u64 {
        whole(self.image_load_ns)
    }

    /// The time of sending a result to the host.
    pub fn link_ns(&self, result_bytes: u64) -> u64 {
        whole(self.to_host_ns(result_bytes))
    }
}

#[cfg(test)]
mod tests {
    use nearscan_drive::KernelStage;

    use super::*;
    use crate::build::Profile;

    fn build() -> Build {
        Profile::SmartSsd.builds().first
    }

    #[test]
    fn megabyte_from_media_takes_its_share_of_bandwidth() {
        let requests = [1 << 20, 1 << 20, 1 << 20].into_iter();
        let time = Parameters::default().scan(&build(), requests, &Counters::default());
        assert_eq!(time.media_ns, 967_917);
        // The bank takes 3072 bursts of 1 KiB from the media.
        assert_eq!(time.bank_ns, 233_790);
    }

    #[test]
    fn kernel_that_waits_for_strings_is_slower_than_an_ideal_one() {
        let counters = Counters { memory_waits: 3000, ..Counters::default() };
        let time = Parameters::default().scan(&build(), std::iter::empty(), &counters);
        assert_eq!(time.kernel.alone_ns - time.ideal_kernel.alone_ns, 580_000);
        // What is loaded ahead hides none of it.
        let interval_ns = time.kernel.interval_ns;
        assert_eq!(interval_ns, time.kernel.alone_ns - time.stages.get(KernelStage::Start));
    }

    #[test]
    fn parameters_and_image_are_part_of_the_model() {
        let slower = Parameters { clock_hz: 250e6, ..Parameters::default() };
        let model = Parameters::default().model(&build());
        assert_ne!(slower.model(&build()), model);
        for other in [
            Build { scan_units: 2, ..build() },
            Build { lanes: 2, ..build() },
            Build { merge_units: 2, ..build() },
        ] {
            assert_ne!(Parameters::default().model(&other), model, "{other}");
        }
    }
}
