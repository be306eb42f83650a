// SPDX-License-Identifier: Apache-2.0
//! The connection to a server that runs: writes objects, and asks for tables.

use std::sync::Arc;

use bytes::Bytes;
use nearscan::{
    Engine, Session,
    arrow::{
        array::AsArray,
        datatypes::{Decimal128Type, Int64Type},
    },
};
use nearscan_remote::{
    Address, ObjectError, Options, RemoteDrive,
    applications::{Beginning, EventKind, Filter, Handler, Package, Replace},
};
use nearscan_store::{CollectionPath, Condition, Quota};

use crate::{accounts::Totals, error::Error, program::OURS};

/// The collections of CSV objects and of tables.
const RAW: &str = "raw";
const TABLES: &str = "tables";

/// A connection to the server, which is made anew when it is lost.
pub(super) struct Client {
    address: Address,
    drive: Arc<RemoteDrive>,
    session: Session,
}

impl Client {
    pub(super) async fn connect(address: Address) -> Result<Self, Error> {
        let drive = RemoteDrive::connect(&address, Options::default());
        let drive = drive.map_err(|error| serving(&error.to_string()))?;
        let drive = Arc::new(drive);
        let engine = Engine::builder().threads(1).attach_server(Arc::clone(&drive));
        let engine = engine.map_err(Error::prepare)?.build().await.map_err(Error::prepare)?;
        Ok(Self { address, drive, session: engine.session() })
    }

    /// Makes the collections, and installs the application as a handler of what is written.
    pub(super) async fn install(&self, package: &Package) -> Result<(), Error> {
        for name in [RAW, TABLES] {
            let collection = CollectionPath::in_default(name).map_err(Error::prepare)?;
            let made = self.drive.objects().create_collection(&collection, Quota::default()).await;
            made.map_err(|error| Error::prepare(error.to_string()))?;
        }
        let applications = self.drive.applications();
        let installed = applications.install(package.clone(), Replace::Never).await;
        let name = installed.map_err(|error| serving(&error.to_string()))?.name;
        let started = applications.start(&name).await;
        started.map_err(|error| serving(&error.to_string()))?;
        let filter = Filter {
            kinds: vec![EventKind::Created, EventKind::Written],
            collection: Some(RAW.to_owned()),
            suffixes: vec![".csv".to_owned()],
            ..Filter::default()
        };
        let handler = Handler { name: "csv".to_owned(), application: name, filter };
        let registered = applications.register(&handler, Beginning::Now).await;
        registered.map_err(|error| serving(&error.to_string()))
    }

    /// The address of the server.
    pub(super) fn address(&self) -> &Address {
        &self.address
    }

    /// Writes an object; it is acknowledged once this returns.
    pub(super) async fn write(&self, number: u64, csv: Bytes) -> Result<(), Error> {
        let collection = CollectionPath::in_default(RAW).map_err(Error::prepare)?;
        let path = collection.object(&name_of(number)).map_err(Error::prepare)?;
        let failed = |error: ObjectError| Error::Write { reason: error.to_string() };
        let objects = self.drive.objects();
        let upload = objects.upload(&path, Condition::Always, Default::default());
        let mut upload = upload.map_err(failed)?;
        upload.send(csv).await.map_err(failed)?;
        upload.finish().await.map(drop).map_err(failed)
    }

    /// What the rows of a table add up to, or why there is none.
    pub(super) async fn totals(&self, number: u64) -> Result<Totals, String> {
        let statement = format!(
            "SELECT count(*), sum(account), sum(CAST(balance AS DECIMAL(12, 2))) \
             FROM 'drive://{}/{TABLES}/{}.parquet'",
            self.address,
            name_of(number),
        );
        let failed = |error: nearscan::Error| error.render();
        let query = self.session.sql(&statement).await.map_err(failed)?;
        let result = query.collect().await.map_err(failed)?;
        let batch = result.batches.first().ok_or("there is no answer")?;
        let number = |index: usize| batch.column(index).as_primitive::<Int64Type>().value(0);
        let cents = batch.column(2).as_primitive::<Decimal128Type>().value(0);
        Ok(Totals { rows: number(0).unsigned_abs(), accounts: i128::from(number(1)), cents })
    }
}

fn name_of(number: u64) -> String {
    format!("accounts-{number}.csv")
}

fn serving(reason: &str) -> Error {
    Error::Server { server: OURS, reason: reason.to_owned() }
}
