// SPDX-License-Identifier: Apache-2.0
//! Defines the interface of drives, which run commands near data.
//!
//! The optimizer and the engine use drives only through this crate: the traits [`Drive`] and
//! [`Session`], the description of a drive ([`Identity`], [`Capabilities`], [`CostSnapshot`]), and
//! its results ([`Completion`]). Backends implement the traits and are named in one file of the
//! engine.
//!
//! The life of one unit of work, which is a scan of one row group or a merge of several:
//!
//! ```text
//! locate(file) -> Placement                       once a file
//! open_session(spec) -> Session                   once a query
//!   lease(bytes) -> Lease | Refusal               once a unit; refused: the unit goes to the CPU
//!   submit(Submission) -> Ticket | Refusal        the drive owns the buffers from here on
//!   ticket.await -> Completion                    counted, timed
//!   completion.check(..) -> ResultView | Fault    no row leaves before this; a merge: check_merge
//! ```
//!
//! # What this crate does not do
//!
//! It has no backend and does not use Arrow or an async runtime: a [`Ticket`] is a plain future.
//!
//! # Invariants
//!
//! - A buffer that a drive may still touch is owned by the drive's job, never by the waiting query:
//!   dropping a [`Ticket`] sets the cancel word and frees nothing.
//! - Measured, modelled and composed time are three types ([`time`]).
//! - Every byte that crosses media, link or host is counted once, in [`Traffic`].
#![forbid(unsafe_code)]

pub mod budget;
pub mod capabilities;
pub mod clock;
pub mod completion;
pub mod cost;
pub mod drive;
pub mod error;
pub mod files;
pub mod fit;
pub mod flash;
pub mod images;
pub mod model;
pub mod observe;
pub mod placement;
pub mod queue;
mod recent;
pub mod registry;
pub mod stages;
pub mod time;

pub use budget::{Budget, Charged, Reservation, Unlimited};
pub use capabilities::{Capabilities, ImageAbility, Refused};
pub use completion::{Completion, Fault, Outcome, Traffic};
pub use cost::{
    CostSnapshot, FitQuality, Kernel, KernelRates, Load, LoadedImage, MediaPoint, MediaRates,
    RateSource, RatesByRequest, RequestClass,
};
pub use drive::{
    CancelOutcome, CancelWord, Drive, Identity, Lease, Session, SessionSpec, Submission, Ticket,
    Work,
};
pub use error::{Failure, Refusal};
pub use files::{FileTable, VersionedFile};
pub use flash::{FlashEvent, FlashEventKind, FlashLog};
pub use images::{ImageSlot, LentImage};
pub use model::{CardModel, DeviceClock, MakeMemory};
pub use observe::{Observation, Observer};
pub use placement::{FileRef, Placement, file_version};
pub use queue::{JobQueue, NotQueued};
pub use recent::Recent;
pub use registry::Drives;
pub use stages::{KernelStage, Limit, Schedule, Schedules, StageTimes};
pub use time::{Composed, DriveTime, KernelTime, Measured, ModelId, Modelled};
