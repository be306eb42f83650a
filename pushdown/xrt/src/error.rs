// SPDX-License-Identifier: Apache-2.0
//! Defines why a card could not be opened.

use std::path::PathBuf;

use nearscan_link::ImageError;

/// The reason why a card could not be opened, with a hint where one is known.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The runtime's libraries are not there.
    #[error(
        "XRT is not installed: {library} cannot be loaded ({reason}); install libxrt1, or source \
         setup.sh of /opt/xilinx/xrt"
    )]
    NoRuntime {
        /// The library.
        library: String,
        /// The message of the loader.
        reason: String,
    },
    /// They are of a version that lacks what is needed.
    #[error("{library} has no function {symbol}: it is of another version of XRT")]
    Symbol {
        /// The library.
        library: String,
        /// The function.
        symbol: String,
    },
    /// A file cannot be read or written.
    #[error("{path}: {reason}")]
    File {
        /// The file.
        path: PathBuf,
        /// The message of the system.
        reason: std::io::Error,
    },
    /// The image is of no use here.
    #[error("{path} cannot be used: {reason}")]
    Image {
        /// The file.
        path: PathBuf,
        /// The reason.
        reason: ImageError,
    },
    /// One image cannot take the place of the other.
    #[error("{first} and {second} cannot be images of one drive: {reason}")]
    Images {
        /// The image that the card is opened with.
        first: PathBuf,
        /// The other one.
        second: PathBuf,
        /// The difference between them.
        reason: &'static str,
    },
    /// The runtime requires its environment before the process has threads.
    #[error(
        "XRT reads its environment unguarded, and this process has {threads} threads: prepare it \
         before there is a second one, or start it with the variables of `Environment`"
    )]
    Threads {
        /// Their number.
        threads: usize,
    },
    /// One process reaches cards or emulates them, not both.
    #[error("this process was prepared for {prepared}, and one process has one of both")]
    OtherTarget {
        /// The purpose that the process was prepared for.
        prepared: &'static str,
    },
    /// A card is wanted where the environment requests emulation.
    #[error(
        "the image is for a card, and XCL_EMULATION_MODE is set to {value:?}: unset it to reach \
         the card"
    )]
    EmulationMode {
        /// Its value.
        value: String,
    },
    /// An image for emulation needs something to emulate the card.
    #[error("the image is for software emulation, and no model of a card was given")]
    NoModel,
    /// The name of a card makes no sense.
    #[error("{target:?} is neither an index nor an address such as 0000:01:00.1")]
    Target {
        /// The given value.
        target: String,
    },
    /// There is no such card.
    #[error("there is no card {target}{detail}")]
    NoCard {
        /// Which was requested.
        target: String,
        /// Findings in addition.
        detail: String,
    },
    /// This process has opened it already.
    #[error("the card {target} is open in this process already, with the image {image}")]
    AlreadyOpen {
        /// Which card.
        target: String,
        /// Its image.
        image: String,
    },
    /// Another process uses the card with another image.
    #[error(
        "the card {target} is in use with another image: all processes share one, so end those \
         that use it, or use theirs"
    )]
    ImageInUse {
        /// Which card.
        target: String,
    },
    /// The image is for another platform.
    #[error("the image is for the platform {image}, and the card {target} has {card}")]
    Platform {
        /// Which card.
        target: String,
        /// The image's.
        image: String,
        /// The card's.
        card: String,
    },
    /// The runtime did not do what was requested.
    #[error("the card {target} failed to {what}: {reason}")]
    Card {
        /// Which card.
        target: String,
        /// The step that was tried.
        what: &'static str,
        /// The message of the runtime.
        reason: String,
    },
    /// The counter-measure for the runtime's own mistake found it in an unknown state.
    #[error("the software emulation of XRT is in an unexpected state: {reason}")]
    Shim {
        /// The finding that was not expected.
        reason: &'static str,
    },
    /// No thread could be started.
    #[error("a thread of the drive cannot be started: {0}")]
    Thread(std::io::Error),
}

impl OpenError {
    /// For `map_err` of what touches a file.
    pub(crate) fn file(path: impl Into<PathBuf>) -> impl FnOnce(std::io::Error) -> Self {
        let path = path.into();
        move |reason| Self::File { path, reason }
    }
}
