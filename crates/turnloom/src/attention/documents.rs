//! What people said of items, who is told, and what each device was told: documents.

use std::collections::BTreeMap;

use serde::de::DeserializeOwned;
use turnloom_core::attention::{Mark, Settings, Told};

use super::Device;
use crate::log::{self, Document, DocumentChange, DocumentQuery, Log, MAX_DOCUMENT_CHANGES};

const MARK: &str = "inbox_mark";
const DEVICE: &str = "notification_device";
const TOLD: &str = "notification";
const SETTINGS: &str = "notification_settings";
const SETTINGS_KEY: &str = "settings";

const PAGE: usize = 256;

/// What each device was told.
pub(super) type ToldByDevice = BTreeMap<String, BTreeMap<String, Told>>;

pub(super) async fn marks(log: &Log) -> Result<BTreeMap<String, Mark>, log::Error> {
    Ok(all(log, MARK, "").await?.into_iter().collect())
}

pub(super) async fn devices(log: &Log) -> Result<BTreeMap<String, Device>, log::Error> {
    Ok(all(log, DEVICE, "").await?.into_iter().collect())
}

pub(super) async fn settings(log: &Log) -> Result<Settings, log::Error> {
    let document = log.document(SETTINGS, SETTINGS_KEY).await?;
    Ok(document.and_then(|document| parse(&document)).unwrap_or_default())
}

pub(super) async fn told(log: &Log) -> Result<ToldByDevice, log::Error> {
    let mut told = ToldByDevice::new();
    for (key, what) in all(log, TOLD, "").await? {
        if let Some((device, item)) = key.split_once('/') {
            told.entry(device.to_owned()).or_default().insert(item.to_owned(), what);
        }
    }
    Ok(told)
}

/// Writes marks; those that say nothing are removed.
pub(super) async fn keep_marks(log: &Log, marks: &[(String, Mark)]) -> Result<(), log::Error> {
    let change = |(item, mark): &(String, Mark)| {
        if mark.is_empty() { Ok(DocumentChange::remove(MARK, item)) } else { DocumentChange::put(MARK, item, mark) }
    };
    write(log, marks.iter().filter_map(|mark| change(mark).ok()).collect()).await
}

pub(super) async fn keep_settings(log: &Log, settings: &Settings) -> Result<(), log::Error> {
    write(log, DocumentChange::put(SETTINGS, SETTINGS_KEY, settings).into_iter().collect()).await
}

pub(super) async fn keep_device(log: &Log, device: &Device) -> Result<(), log::Error> {
    write(log, DocumentChange::put(DEVICE, &device.device_id, device).into_iter().collect()).await
}

/// Removes a device, and what it was told.
pub(super) async fn forget_device(log: &Log, id: &str) -> Result<(), log::Error> {
    let told = all::<Told>(log, TOLD, &format!("{id}/")).await?;
    let mut changes = vec![DocumentChange::remove(DEVICE, id)];
    changes.extend(told.into_iter().map(|(key, _)| DocumentChange::remove(TOLD, key)));
    write(log, changes).await
}

/// What a device was told of an item; nothing, if it was taken back.
pub(super) async fn keep_told(log: &Log, device: &str, item: &str, told: Option<Told>) -> Result<(), log::Error> {
    let key = format!("{device}/{item}");
    let change = match told {
        Some(told) => DocumentChange::put(TOLD, key, &told).into_iter().collect(),
        None => vec![DocumentChange::remove(TOLD, key)],
    };
    write(log, change).await
}

async fn write(log: &Log, changes: Vec<DocumentChange>) -> Result<(), log::Error> {
    for some in changes.chunks(MAX_DOCUMENT_CHANGES) {
        log.write_documents(some.to_vec()).await?;
    }
    Ok(())
}

async fn all<T: DeserializeOwned>(log: &Log, kind: &'static str, prefix: &str) -> Result<Vec<(String, T)>, log::Error> {
    let mut found = Vec::new();
    let mut query = DocumentQuery { prefix: prefix.to_owned(), ..DocumentQuery::all(PAGE) };
    loop {
        let page = log.documents(kind, query.clone()).await?;
        let Some(last) = page.last() else { return Ok(found) };
        query.cursor = Some(last.key.clone());
        found.extend(page.iter().filter_map(|document| Some((document.key.clone(), parse(document)?))));
    }
}

fn parse<T: DeserializeOwned>(document: &Document) -> Option<T> {
    match document.parse() {
        Ok(value) => Some(value),
        Err(error) => {
            tracing::error!(document = document.key, %error, "something about notifications cannot be read and is left out");
            None
        }
    }
}
