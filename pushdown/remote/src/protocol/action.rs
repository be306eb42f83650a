// SPDX-License-Identifier: Apache-2.0
//! Names the actions, which are the short calls of the protocol.

/// [`Hello`](super::Hello) to [`Welcome`](super::Welcome).
pub(crate) const CONNECT: &str = "nearscan.connect";
/// [`Locate`](super::Locate) to [`Located`](super::Located).
pub(crate) const LOCATE: &str = "nearscan.locate";
/// [`Ask`](super::Ask) to [`Snapshot`](super::Snapshot).
pub(crate) const SNAPSHOT: &str = "nearscan.snapshot";
/// [`Ask`](super::Ask) to [`Health`](super::Health).
pub(crate) const HEALTH: &str = "nearscan.health";
/// [`Ask`](super::Ask) to [`Health`](super::Health), in the new epoch.
pub(crate) const RESET: &str = "nearscan.reset";
/// [`ObjectName`](super::ObjectName) to [`ObjectInfo`](super::objects::ObjectInfo).
pub(crate) const INFO: &str = "nearscan.object.info";
/// [`Remove`](super::objects::Remove) to [`Done`](super::objects::Done).
pub(crate) const REMOVE: &str = "nearscan.object.remove";
/// [`Write`](super::objects::Write) to [`ObjectInfo`](super::objects::ObjectInfo).
pub(crate) const WRITE: &str = "nearscan.object.write";
/// [`Truncate`](super::objects::Truncate) to [`ObjectInfo`](super::objects::ObjectInfo).
pub(crate) const TRUNCATE: &str = "nearscan.object.truncate";
/// [`Copy`](super::objects::Copy) to [`ObjectInfo`](super::objects::ObjectInfo).
pub(crate) const COPY: &str = "nearscan.object.copy";
/// [`Within`](super::objects::Within) to [`Attributes`](super::objects::Attributes).
pub(crate) const ATTRIBUTES: &str = "nearscan.attributes";
/// [`SetAttribute`](super::objects::SetAttribute) to [`Done`](super::objects::Done).
pub(crate) const SET_ATTRIBUTE: &str = "nearscan.attributes.set";
/// [`List`](super::objects::List) to [`Listed`](super::objects::Listed).
pub(crate) const LIST: &str = "nearscan.collection.list";
/// [`Within`](super::objects::Within) to [`Containers`](super::objects::Containers).
pub(crate) const CONTAINERS: &str = "nearscan.containers";
/// [`Container`](super::objects::Container) to [`Done`](super::objects::Done).
pub(crate) const CREATE_CONTAINER: &str = "nearscan.containers.create";
/// [`ObjectName`](super::ObjectName) to [`Done`](super::objects::Done).
pub(crate) const REMOVE_CONTAINER: &str = "nearscan.containers.remove";
/// [`Container`](super::objects::Container) to [`Done`](super::objects::Done).
pub(crate) const SET_QUOTA: &str = "nearscan.containers.quota";
/// [`ListChanges`](super::objects::ListChanges) to [`Changes`](super::objects::Changes).
pub(crate) const CHANGES: &str = "nearscan.changes";

/// [`Name`](super::applications::Name) to [`Done`](super::objects::Done).
pub(crate) const APP_REMOVE: &str = "nearscan.app.remove";
/// [`Name`](super::applications::Name) to [`Done`](super::objects::Done).
pub(crate) const APP_START: &str = "nearscan.app.start";
/// [`Name`](super::applications::Name) to [`Done`](super::objects::Done).
pub(crate) const APP_STOP: &str = "nearscan.app.stop";
/// [`ListAfter`](super::applications::ListAfter) to
/// [`Applications`](super::applications::Applications).
pub(crate) const APP_LIST: &str = "nearscan.app.list";
/// [`Call`](super::applications::Call) to [`Schema`](super::applications::Schema).
pub(crate) const APP_SCHEMA: &str = "nearscan.app.schema";
/// [`Register`](super::applications::Register) to [`Done`](super::objects::Done).
pub(crate) const HANDLER_REGISTER: &str = "nearscan.handler.register";
/// [`Name`](super::applications::Name) to [`Done`](super::objects::Done).
pub(crate) const HANDLER_UNREGISTER: &str = "nearscan.handler.unregister";
/// [`ListAfter`](super::applications::ListAfter) to [`Handlers`](super::applications::Handlers).
pub(crate) const HANDLER_LIST: &str = "nearscan.handler.list";
/// [`ListDeadLetters`](super::applications::ListDeadLetters) to
/// [`DeadLetters`](super::applications::DeadLetters).
pub(crate) const DEAD_LETTER_LIST: &str = "nearscan.deadletter.list";
/// [`Letter`](super::applications::Letter) to [`Done`](super::objects::Done).
pub(crate) const DEAD_LETTER_RETRY: &str = "nearscan.deadletter.retry";
/// [`Letter`](super::applications::Letter) to [`Done`](super::objects::Done).
pub(crate) const DEAD_LETTER_CLEAR: &str = "nearscan.deadletter.clear";

/// Each action of a drive with what it is for.
pub(crate) const OF_DRIVES: [(&str, &str); 5] = [
    (CONNECT, "compares versions; says who the drive is and what it can run"),
    (LOCATE, "whether the drive holds a file, and under which number"),
    (SNAPSHOT, "how fast the drive is right now"),
    (HEALTH, "epoch and commands in flight; the keep-alive of clients"),
    (RESET, "stops everything that runs and starts a new epoch"),
];

/// Each action of a store of objects with what it is for.
pub(crate) const OF_STORES: [(&str, &str); 13] = [
    (INFO, "length, version and times of an object"),
    (REMOVE, "removes an object"),
    (WRITE, "writes bytes at the end of an object, or from an offset on"),
    (TRUNCATE, "cuts an object off"),
    (COPY, "copies an object in the server"),
    (ATTRIBUTES, "the attributes of an object, a collection or a partition"),
    (SET_ATTRIBUTE, "sets or removes one of them"),
    (LIST, "the objects of a collection, in the order of their names"),
    (CONTAINERS, "the partitions, or the collections of one, with their quotas"),
    (CREATE_CONTAINER, "makes a partition or a collection"),
    (REMOVE_CONTAINER, "removes an empty partition or collection"),
    (SET_QUOTA, "sets the quota of a partition or a collection"),
    (CHANGES, "the changes of objects, in their order"),
];

/// Each action of the applications of a store with what it is for.
pub(crate) const OF_APPLICATIONS: [(&str, &str); 11] = [
    (APP_REMOVE, "removes an application; its calls that run are stopped"),
    (APP_START, "lets an application be called"),
    (APP_STOP, "ends that an application can be called; its events wait"),
    (APP_LIST, "the applications, in the order of their names"),
    (APP_SCHEMA, "the schema of an application's table"),
    (HANDLER_REGISTER, "registers a handler of events"),
    (HANDLER_UNREGISTER, "unregisters a handler"),
    (HANDLER_LIST, "the handlers, in the order of their names"),
    (DEAD_LETTER_LIST, "the events that a handler could not handle"),
    (DEAD_LETTER_RETRY, "has a handler try such an event again, once"),
    (DEAD_LETTER_CLEAR, "removes such an event"),
];
