// SPDX-License-Identifier: Apache-2.0
//! Compares a query with pushdown to the same query with pushdown off.
//!
//! Rows, order, types and every bit have to be the same. A difference is forgiven only if the query
//! leaves it open ([`crate::third_party::open`] shows that both answers are right ones), or if the
//! query gives one thing and then another with pushdown off too. That it does so with pushdown
//! alone is a difference like any other.

use std::future::Future;

use super::{Asked, Both, FileRunner, Mode};
use crate::{
    error::Result,
    suite,
    third_party::{
        answer::{Answer, Answered, Likeness, Precision},
        open::{Open, Promise},
        report::{Off, Verdict},
        statement::{first_word, has_order},
        value::{self, Value},
    },
};

/// Times that a query is asked again with pushdown off, to see whether it answers otherwise.
const AGAIN: usize = 3;

/// The setting that says where queries run.
const MODE: &str = "nearscan.pushdown.mode";

/// The setting that says which reader scans have.
const SCAN: &str = "nearscan.scan";

/// The setting that says which operator groups rows.
const AGGREGATE: &str = "nearscan.aggregate";

impl FileRunner {
    /// Asks again with pushdown off, and compares.
    pub(super) async fn compare_with_off(
        &self,
        asked: Asked<'_>,
        answered: Answered,
    ) -> Result<Both> {
        let answered_off = self.ask_off(asked.sql).await?;
        let off = match (&answered, &answered_off) {
            (Ok(forced), Ok(off)) => {
                let passes =
                    asked.lines.is_some() && self.judge(asked, &answered) == Verdict::Passed;
                self.compare_rows(asked.sql, forced, off, passes).await?
            }
            (Err(forced), Err(off)) if forced.is_like(off) => Off::Same,
            (Ok(_), Err(_)) | (Err(_), Ok(_) | Err(_)) => {
                let is_same = |again: &Answered| match (&answered_off, again) {
                    (Ok(_), Ok(_)) => true,
                    (Err(off), Err(again)) => off.is_like(again),
                    (Ok(_), Err(_)) | (Err(_), Ok(_)) => false,
                };
                self.unstable_or_differs(asked.sql, is_same).await?
            }
        };
        Ok(Both { answered, off, answered_off: Some(answered_off) })
    }

    /// Compares rows; `passes` says that they are the rows of the file.
    async fn compare_rows(
        &self,
        sql: &str,
        forced: &Answer,
        off: &Answer,
        passes: bool,
    ) -> Result<Off> {
        match forced.likeness(off, Precision::Bits) {
            Likeness::Same => return Ok(Off::Same),
            // The text of EXECUTE is not that of the query.
            Likeness::OtherOrder if !has_order(sql) && first_word(sql) != "execute" => {
                return Ok(Off::Same);
            }
            Likeness::OtherOrder | Likeness::Differs => {}
        }
        let promise = Promise::of(&self.engine, sql).await;
        let precision = promise.as_ref().map_or(Precision::Bits, |promise| promise.precision);
        let is_sorted = promise.as_ref().is_none_or(|promise| promise.is_sorted);
        let likeness = forced.likeness(off, precision);
        if likeness == Likeness::Same || likeness == Likeness::OtherOrder && !is_sorted {
            return Ok(Off::Same);
        }
        if let Some(open) = promise.as_ref().and_then(|promise| promise.open.as_ref())
            && forced.has_types_of(off)
            && let Some(all) = self.all_rows(open).await?
            && open.explains(off, &all, precision)
        {
            if open.explains(forced, &all, precision) {
                return Ok(Off::Unstable);
            }
            let explains = |again: &Answered| {
                again.as_ref().is_ok_and(|again| open.explains(again, &all, precision))
            };
            return self.unstable_or_differs(sql, explains).await;
        }
        // It is not known what the query leaves open: the suite says what is right.
        if passes && is_sorted && forced.has_types_of(off) {
            return Ok(Off::Unstable);
        }
        let is_same = |again: &Answered| {
            again.as_ref().is_ok_and(|again| off.likeness(again, precision) != Likeness::Differs)
        };
        self.unstable_or_differs(sql, is_same).await
    }

    /// Asks again with pushdown off: a query that then answers otherwise is unstable.
    async fn unstable_or_differs(
        &self,
        sql: &str,
        is_same: impl Fn(&Answered) -> bool,
    ) -> Result<Off> {
        for _ in 0..AGAIN {
            if !is_same(&self.ask_off(sql).await?) {
                return Ok(Off::Unstable);
            }
        }
        Ok(Off::Differs)
    }

    /// All rows of which a query gives some, each with the keys of its place, in their order.
    async fn all_rows(&self, open: &Open) -> Result<Option<Vec<Vec<Value>>>> {
        let run = async {
            let session = self.engine.uncorrected_context();
            let frame = Box::pin(session.execute_logical_plan(open.whole.clone())).await.ok()?;
            let batches = Box::pin(frame.collect()).await.ok()?;
            let mut all = Vec::new();
            for batch in &batches {
                all.extend(value::rows(batch, self.dialect).ok()?);
            }
            Some(all)
        };
        // A panic of this query is none of the one that was asked.
        self.with_off(async { suite::catch_panic(Box::pin(run)).await.ok().flatten() }).await
    }

    /// Asks with pushdown off.
    pub(super) async fn ask_off(&self, sql: &str) -> Result<Answered> {
        self.with_off(self.ask(sql)).await
    }

    async fn with_off<T>(&self, run: impl Future<Output = T>) -> Result<T> {
        let options = self.engine.options();
        let (scan, aggregate) = (options.scan.to_string(), options.aggregate.to_string());
        self.engine.set(MODE, Mode::Off.name()).await?;
        self.engine.set(SCAN, "datafusion").await?;
        self.engine.set(AGGREGATE, "datafusion").await?;
        let done = run.await;
        self.engine.set(MODE, self.mode.name()).await?;
        self.engine.set(SCAN, &scan).await?;
        self.engine.set(AGGREGATE, &aggregate).await?;
        Ok(done)
    }
}
