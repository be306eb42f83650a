// SPDX-License-Identifier: Apache-2.0
//! Runs the short calls, the streams that put an object, and those of applications: installing,
//! calling, tables and notices. Each is recorded when it begins and when it has ended, also if its
//! client leaves; what runs an application ends then.

use std::{iter, pin::Pin, sync::Arc};

use arrow_flight::{FlightData, PutResult};
use bytes::Bytes;
use futures::{StreamExt, stream};
use prost::Message;
use tokio::sync::{mpsc, oneshot};
use tokio_stream::{Stream as Messages, wrappers::ReceiverStream};
use tonic::Status;

use super::{
    Served, Stage,
    command::Running,
    gate::{Admitted, Caller, Need},
    objects::Objects,
    outgoing::Outgoing,
    session::WAITING_MESSAGES,
    upload::Upload,
};
use crate::{
    protocol::{
        action,
        applications::{Answered, Install, RUN, Run, Stream},
        objects::Put,
    },
    results::{self, PART_BYTES_MAX},
};

/// Bytes of a stream that are on their way at once.
pub(super) const STREAM_BYTES: u64 = (WAITING_MESSAGES * PART_BYTES_MAX) as u64;

/// The messages of a stream to a client.
pub(super) type Answers<T> = Pin<Box<dyn Messages<Item = Result<T, Status>> + Send>>;

/// Waits for a request that goes on to its end, and is recorded, also if its client leaves.
pub(super) async fn to_its_end<T: Send + 'static>(
    request: impl Future<Output = Result<T, Status>> + Send + 'static,
) -> Result<T, Status> {
    let ended = tokio::spawn(request).await;
    ended.unwrap_or_else(|error| Err(Status::internal(error.to_string())))
}

/// Waits for a call of an application, which is stopped when its client leaves or the server ends.
/// That is recorded too.
async fn while_wanted<T>(
    served: &Served,
    gone: oneshot::Receiver<()>,
    call: impl Future<Output = Result<T, Status>>,
) -> Result<T, Status> {
    tokio::select! {
        answer = call => answer,
        _ = gone => Err(left()),
        () = served.reached(Stage::Ending) => Err(ending()),
    }
}

/// Answers an action. It goes on to its end if its client leaves, unless it runs an application.
pub(super) async fn act(
    served: Arc<Served>,
    name: &str,
    admitted: Admitted,
    answer: impl Future<Output = Result<Vec<u8>, Status>> + Send + 'static,
) -> Result<Vec<u8>, Status> {
    let runs_application = matches!(name, action::APP_SCHEMA | action::DEAD_LETTER_RETRY);
    if runs_application && served.stage() > Stage::Serving {
        return Err(ending());
    }
    // Dropped with this future, when the client leaves.
    let (_here, gone) = oneshot::channel::<()>();
    to_its_end(async move {
        let answer = match runs_application {
            true => {
                let _running = Running::enter(&served);
                while_wanted(&served, gone, answer).await
            }
            false => answer.await,
        };
        if admitted.is_change() {
            served.applications.changed();
        }
        admitted.ended(&answer).await;
        answer
    })
    .await
}

fn left() -> Status {
    Status::cancelled("the client has left")
}

fn ending() -> Status {
    Status::unavailable("the server is shutting down")
}

/// Puts an object.
pub(super) async fn put(
    served: Arc<Served>,
    objects: Objects,
    caller: Caller,
    put: Put,
    parts: Upload,
) -> Result<PutResult, Status> {
    let mut admitted = caller.begin(Need::to_put(&put.name, STREAM_BYTES)).await?;
    let info = to_its_end(async move {
        let info = objects.put(put, parts).await;
        served.applications.changed();
        admitted.moved(info.as_ref().map_or(0, |info| info.length));
        admitted.ended(&info).await;
        info
    })
    .await?;
    Ok(PutResult { app_metadata: info.encode_to_vec().into() })
}

/// Installs an application. It goes on if its client leaves after the last part.
pub(super) async fn install(
    served: Arc<Served>,
    caller: Caller,
    install: Install,
    parts: Upload,
) -> Result<PutResult, Status> {
    let mut admitted = caller.begin(Need::to_install(&install.manifest, STREAM_BYTES)).await?;
    let installed = to_its_end(async move {
        let length = install.length;
        let installed = served.applications.install(install, parts, &served.budget).await;
        admitted.moved(length);
        admitted.ended(&installed).await;
        installed
    })
    .await?;
    Ok(PutResult { app_metadata: installed.encode_to_vec().into() })
}

/// Calls an application with a request, and sends its answer. The call is cancelled if its client
/// leaves.
pub(super) async fn run(
    served: Arc<Served>,
    caller: Caller,
    run: Run,
    parts: Upload,
) -> Result<Answers<Outgoing>, Status> {
    if served.stage() > Stage::Serving {
        return Err(ending());
    }
    let mut admitted = caller.begin(Need::to_call(RUN, &run.name, STREAM_BYTES)).await?;
    // Dropped with this future, when the client leaves.
    let (_here, gone) = oneshot::channel::<()>();
    let (answer, admitted) = to_its_end(async move {
        let _running = Running::enter(&served);
        let length = run.length;
        let running = served.applications.run(run, admitted.reach(), parts, &served.budget);
        let answer = while_wanted(&served, gone, running).await;
        admitted.moved(answer.as_ref().map_or(length, |answer| length + answer.len() as u64));
        admitted.ended(&answer).await;
        answer.map(|answer| (answer, admitted))
    })
    .await?;
    let length = Some(answer.len() as u64);
    let head = results::schema_message().with_app_metadata(Answered { length }.encode_to_vec());
    let parts = results::cut(&answer).map(|part| Outgoing::carrying(part, Bytes::new()));
    let messages = stream::iter(iter::once(head.into()).chain(parts)).map(Ok);
    Ok(messages.map(move |message| admitted.holds(message)).boxed())
}

/// Sends a table or notices. They end when their client leaves.
pub(super) fn send(served: Arc<Served>, admitted: Admitted, stream: Stream) -> Answers<FlightData> {
    let (outgoing, messages) = mpsc::channel(WAITING_MESSAGES);
    drop(outgoing.try_send(Ok(results::schema_message())));
    drop(tokio::spawn(async move {
        let sending = async {
            match stream {
                Stream::Table(_) if served.stage() > Stage::Serving => Err(ending()),
                Stream::Table(call) => {
                    let _running = Running::enter(&served);
                    served.applications.table(call, admitted.reach(), &outgoing).await
                }
                Stream::Watch(watch) => served.applications.watch(watch, &outgoing).await,
            }
        };
        let ended = tokio::select! {
            ended = sending => ended,
            () = outgoing.closed() => Err(left()),
            () = served.reached(Stage::Ending) => Err(ending()),
        };
        admitted.ended(&ended).await;
        if let Err(status) = ended {
            // When the client has left, nobody hears it.
            drop(outgoing.send(Err(status)).await);
        }
    }));
    ReceiverStream::new(messages).boxed()
}
