// SPDX-License-Identifier: Apache-2.0
//! Compiles loops for several levels of vector instructions, and runs each with the highest level
//! that the processor has.
//!
//! A loop is written once, as plain Rust that the compiler can vectorise. On x86-64 it is compiled
//! three times: for every processor of that architecture, with AVX2, and with AVX-512. NEON is part
//! of every 64-bit ARM processor, so there one version is enough.
//!
//! Only the caller of a leaf loop pays for the choice, a load and a branch; loops over a batch are
//! worth it, code for a single row is not.

#[cfg(not(test))]
use std::sync::LazyLock;

/// A level of vector instructions.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Level {
    /// What every processor of the architecture has.
    Base,
    /// AVX2 and what came with it.
    #[cfg(target_arch = "x86_64")]
    Avx2,
    /// AVX-512 with bytes, words, double words and short vectors.
    #[cfg(target_arch = "x86_64")]
    Avx512,
}

impl Level {
    /// The levels that this processor has, the highest one last.
    pub(crate) fn available() -> Vec<Self> {
        #[cfg_attr(not(target_arch = "x86_64"), expect(unused_mut, reason = "there is only one"))]
        let mut levels = vec![Self::Base];
        #[cfg(target_arch = "x86_64")]
        {
            let has_avx2 = is_x86_feature_detected!("avx2")
                && is_x86_feature_detected!("bmi1")
                && is_x86_feature_detected!("bmi2")
                && is_x86_feature_detected!("lzcnt")
                && is_x86_feature_detected!("popcnt");
            let has_avx512 = is_x86_feature_detected!("avx512f")
                && is_x86_feature_detected!("avx512bw")
                && is_x86_feature_detected!("avx512dq")
                && is_x86_feature_detected!("avx512vl");
            levels.extend(has_avx2.then_some(Self::Avx2));
            levels.extend((has_avx2 && has_avx512).then_some(Self::Avx512));
        }
        levels
    }

    fn highest() -> Self {
        Self::available().pop().unwrap_or(Self::Base)
    }
}

/// The level that loops run at.
#[cfg(not(test))]
pub(crate) fn level() -> Level {
    static LEVEL: LazyLock<Level> = LazyLock::new(Level::highest);
    *LEVEL
}

#[cfg(test)]
thread_local! {
    static LEVEL: std::cell::Cell<Option<Level>> = const { std::cell::Cell::new(None) };
}

/// The level that loops run at: the one that a test has chosen, else the highest.
#[cfg(test)]
pub(crate) fn level() -> Level {
    LEVEL.get().unwrap_or_else(Level::highest)
}

/// The outcomes of `run` at each level that this processor has, the base level first.
#[cfg(test)]
pub(crate) fn at_each_level<R>(run: impl Fn() -> R) -> Vec<R> {
    let at = |level| {
        LEVEL.set(Some(level));
        let outcome = run();
        LEVEL.set(None);
        outcome
    };
    Level::available().into_iter().map(at).collect()
}

/// Defines a function that runs at the highest level; generic parameters are in brackets.
macro_rules! by_level {
    (
        $(#[$attribute:meta])*
        $visibility:vis fn $name:ident [$($generic:tt)*] (
            $($argument:ident: $type:ty),* $(,)?
        ) -> $result:ty $body:block
    ) => {
        $(#[$attribute])*
        $visibility fn $name<$($generic)*>($($argument: $type),*) -> $result {
            #[inline(always)]
            fn base<$($generic)*>($($argument: $type),*) -> $result $body

            #[cfg(target_arch = "x86_64")]
            #[target_feature(enable = "avx2,bmi1,bmi2,lzcnt,popcnt")]
            fn avx2<$($generic)*>($($argument: $type),*) -> $result {
                base($($argument),*)
            }

            #[cfg(target_arch = "x86_64")]
            #[target_feature(
                enable = "avx2,bmi1,bmi2,lzcnt,popcnt,avx512f,avx512bw,avx512dq,avx512vl"
            )]
            fn avx512<$($generic)*>($($argument: $type),*) -> $result {
                base($($argument),*)
            }

            match $crate::simd::level() {
                $crate::simd::Level::Base => base($($argument),*),
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx2 => {
                    // SAFETY: the processor has this level.
                    #[expect(unsafe_code, reason = "a level that was detected")]
                    unsafe {
                        avx2($($argument),*)
                    }
                }
                #[cfg(target_arch = "x86_64")]
                $crate::simd::Level::Avx512 => {
                    // SAFETY: the processor has this level.
                    #[expect(unsafe_code, reason = "a level that was detected")]
                    unsafe {
                        avx512($($argument),*)
                    }
                }
            }
        }
    };
}
pub(crate) use by_level;

#[cfg(test)]
mod tests {
    use super::*;

    by_level! {
        fn doubled[T: Copy + std::ops::Add<Output = T>](values: &[T]) -> (Level, Vec<T>) {
            (level(), values.iter().map(|value| *value + *value).collect())
        }
    }

    #[test]
    fn function_runs_at_each_level_and_by_default_at_the_highest() {
        let outcomes = at_each_level(|| doubled(&[1, 2, 3]));
        let expected: Vec<_> =
            Level::available().into_iter().map(|level| (level, vec![2, 4, 6])).collect();
        assert_eq!(outcomes, expected);
        assert_eq!(Some(&doubled(&[1, 2, 3])), expected.last());
    }
}
