// SPDX-License-Identifier: Apache-2.0
//! Measures the four jobs as loops on this machine's processor.
//!
//! One core, the best loop we have in plain Rust: no branch depends on the data, and the compiler
//! is left to use the vector instructions that every processor of its kind has. The crate is
//! optimised in every profile, so that a debug build measures the same loops.
//!
//! Nothing here is modelled, and the clock that the machine ran at is not known.

use std::hint::black_box;

use nearscan_drive::clock::Stopwatch;
use nearscan_emulator::timing::study::Kernel;
use nearscan_models::study::Average;
use serde::Serialize;

use crate::{
    data::{Data, Golden, SOUGHT},
    error::{Error, Result},
};

/// The number of times that each loop is run; the median counts. The loops take turns, so that
/// something else that the machine does for a while does not fall on one of them.
const SAMPLES: usize = 15;

/// The measured loops, and the processor that they ran on.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct Host {
    /// The processor's name, or its architecture if the system does not tell.
    pub processor: String,
    /// The number of times that each loop was run.
    pub samples: usize,
    /// The loops, in the study's order.
    pub loops: Vec<MeasuredLoop>,
}

/// A loop, measured.
#[derive(Debug, Clone, PartialEq, Serialize)]
pub struct MeasuredLoop {
    /// The job's name.
    #[serde(serialize_with = "kernel_name")]
    pub kernel: Kernel,
    /// Elements of the job.
    pub elements: usize,
    /// Median of the samples.
    pub seconds_measured: f64,
    /// The fastest of them: far from the median, the machine was busy with something else.
    pub seconds_measured_min: f64,
}

impl MeasuredLoop {
    /// Elements a second.
    #[must_use]
    pub fn elements_per_s(&self) -> f64 {
        self.elements as f64 / self.seconds_measured
    }

    /// Elements a second of the fastest sample.
    #[must_use]
    pub fn elements_per_s_max(&self) -> f64 {
        self.elements as f64 / self.seconds_measured_min
    }
}

/// The highest ratio of the median to the fastest sample on a machine that does nothing else.
const QUIET_RATIO_MAX: f64 = 1.25;

impl Host {
    /// Whether something else kept the machine busy, so that the figures are too low.
    #[must_use]
    pub fn was_busy(&self) -> bool {
        let ratio = |one: &MeasuredLoop| one.seconds_measured / one.seconds_measured_min;
        self.loops.iter().any(|measured| ratio(measured) > QUIET_RATIO_MAX)
    }

    /// Measures every loop on the arrays, and checks what it gives.
    ///
    /// # Errors
    /// When an answer is wrong.
    pub fn measure(data: &Data, golden: &Golden) -> Result<Self> {
        // Its pages are there before the clock runs.
        let mut room = vec![-1; data.a.len()];
        let mut samples: [Vec<f64>; 4] = Default::default();
        for _ in 0..SAMPLES {
            for (kernel, seconds) in Kernel::ALL.into_iter().zip(&mut samples) {
                seconds.push(sample(kernel, data, golden, &mut room)?);
            }
        }
        let loops = Kernel::ALL.into_iter().zip(samples).map(|(kernel, mut seconds)| {
            seconds.sort_by(f64::total_cmp);
            MeasuredLoop {
                kernel,
                elements: data.a.len(),
                seconds_measured: seconds[SAMPLES / 2],
                seconds_measured_min: seconds[0],
            }
        });
        Ok(Self { processor: processor(), samples: SAMPLES, loops: loops.collect() })
    }
}

/// Runs a loop once, in seconds, and checks its answer.
fn sample(kernel: Kernel, data: &Data, golden: &Golden, room: &mut [i32]) -> Result<f64> {
    let Data { a, b, sorted_a, sorted_b } = data;
    let stopwatch = Stopwatch::start();
    let answer = match kernel {
        Kernel::Count => Answer::Count(count(a, SOUGHT)),
        Kernel::Average => Answer::Average(average(a)),
        Kernel::VectorAddition => Answer::Elements(add(a, b, room)),
        Kernel::ArrayMerge => Answer::Elements(merge(sorted_a, sorted_b, room)),
    };
    let answer = black_box(answer);
    let seconds = stopwatch.elapsed().as_secs_f64();
    let put_out = |count| room.get(..count);
    let is_right = match (kernel, answer) {
        (_, Answer::Count(count)) => count == golden.count,
        (_, Answer::Average(average)) => average == golden.average,
        (Kernel::ArrayMerge, Answer::Elements(count)) => put_out(count) == Some(&golden.merged),
        (_, Answer::Elements(count)) => put_out(count) == Some(&golden.added),
    };
    if is_right { Ok(seconds) } else { Err(Error::WrongHostAnswer { kernel }) }
}

/// The answer of a loop.
enum Answer {
    Count(u64),
    Average(Average),
    /// So many elements, in the room for them.
    Elements(usize),
}

/// Elements that a 32-bit counter takes before it is emptied into a wide one.
const CHUNK: usize = 1 << 14;

fn count(a: &[i32], value: i32) -> u64 {
    let chunk = |chunk: &[i32]| {
        chunk.iter().fold(0_u32, |sum, element| sum.wrapping_add(u32::from(*element == value)))
    };
    a.chunks(CHUNK).map(|elements| u64::from(chunk(elements))).sum()
}

fn average(a: &[i32]) -> Average {
    let sum = a.iter().fold(0_i64, |sum, element| sum.wrapping_add(i64::from(*element)));
    Average { sum, count: a.len() as u64 }
}

/// Adds; returns how many elements are put out.
fn add(a: &[i32], b: &[i32], out: &mut [i32]) -> usize {
    for ((out, a), b) in out.iter_mut().zip(a).zip(b) {
        *out = a.wrapping_add(*b);
    }
    a.len()
}

/// Merges without a branch that depends on the elements; returns how many are put out. `out` has
/// room for all.
fn merge(a: &[i32], b: &[i32], out: &mut [i32]) -> usize {
    let (mut at_a, mut at_b, mut put) = (0, 0, 0);
    // Something that the first element is not.
    let mut last =
        a.first().into_iter().chain(b.first()).min().map_or(0, |first| first.wrapping_sub(1));
    while at_a < a.len() && at_b < b.len() && put < out.len() {
        let (from_a, from_b) = (a[at_a], b[at_b]);
        let lower = from_a.min(from_b);
        out[put] = lower;
        put += usize::from(lower != last);
        last = lower;
        at_a += usize::from(from_a <= from_b);
        at_b += usize::from(from_b <= from_a);
    }
    for element in a[at_a..].iter().chain(&b[at_b..]) {
        if *element != last {
            out[put] = *element;
            put += 1;
            last = *element;
        }
    }
    put
}

fn kernel_name<S: serde::Serializer>(kernel: &Kernel, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(kernel)
}

fn processor() -> String {
    let text = std::fs::read_to_string("/proc/cpuinfo").unwrap_or_default();
    let named = text.lines().find(|line| line.starts_with("model name"));
    let name = named.and_then(|line| line.split_once(':')).map(|(_, name)| name.trim().to_owned());
    name.unwrap_or_else(|| std::env::consts::ARCH.to_owned())
}

#[cfg(test)]
mod tests {
    use rstest::rstest;

    use super::*;

    #[rstest]
    #[case(&[], &[], &[])]
    #[case(&[], &[i32::MIN, i32::MIN, 3], &[i32::MIN, 3])]
    #[case(&[1, 1, 2], &[], &[1, 2])]
    #[case(&[1, 1, 5, 5], &[0, 1, 5, 9, 9], &[0, 1, 5, 9])]
    #[case(&[i32::MAX], &[i32::MAX, i32::MAX], &[i32::MAX])]
    #[case(&[7, 7, 7], &[7, 7], &[7])]
    fn merge_leaves_each_value_once(
        #[case] a: &[i32],
        #[case] b: &[i32],
        #[case] expected: &[i32],
    ) {
        let mut out = vec![0; a.len() + b.len()];
        let count = merge(a, b, &mut out);
        assert_eq!(&out[..count], expected);
    }

    #[test]
    fn busy_machine_is_detected_by_its_samples() {
        let host = |seconds_measured| Host {
            processor: String::new(),
            samples: SAMPLES,
            loops: vec![MeasuredLoop {
                kernel: Kernel::Count,
                elements: 1,
                seconds_measured,
                seconds_measured_min: 1.0,
            }],
        };
        assert!(!host(1.2).was_busy());
        assert!(host(1.3).was_busy());
    }

    #[test]
    fn every_loop_is_checked_and_measured() {
        let data = Data::new(100_000, 3);
        let golden = data.golden();
        let host = Host::measure(&data, &golden).unwrap();
        assert_eq!(host.loops.len(), 4);
        assert!(host.loops.iter().all(|measured| measured.seconds_measured > 0.0));
        let spoilt = [
            Golden { count: golden.count + 1, ..golden.clone() },
            Golden { average: Average { sum: 0, ..golden.average }, ..golden.clone() },
            Golden { added: vec![0; 100_000], ..golden.clone() },
            Golden { merged: Vec::new(), ..golden.clone() },
        ];
        for (kernel, golden) in Kernel::ALL.into_iter().zip(&spoilt) {
            let error = Host::measure(&data, golden).unwrap_err();
            assert_eq!(error.to_string(), format!("wrong answer of the host's loop for {kernel}"));
        }
    }
}
