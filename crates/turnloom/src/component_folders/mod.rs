//! Components of people's own: folders with a page that draws them. They are read whole, at start and when somebody asks for it, so what is served is
//! what was hashed, and no request ever leads to the disk. Not here: the routes, and what a page may ask of the workbench.

mod manifest;
mod policy;
mod read;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use bytes::Bytes;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};
use turnloom_core::component::Entry;

pub use self::manifest::PageEntry;
use self::policy::Domains;
pub(crate) use self::policy::is_domain;
use crate::sync::Locked;

/// Where the folder of folders is in the data directory.
const FOLDER: &str = "components";

/// Every folder has this page.
const PAGE: &str = "index.html";

/// Pages that are drawn in frames.
#[derive(Debug, Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
pub struct ViewsConfig {
    /// What pages of components may load from or connect to, if they say that they want to, such as `https://api.example`.
    pub allow_domains: Vec<String>,
}

/// One component, as it was read.
#[derive(Debug)]
pub struct Folder {
    entry: PageEntry,
    hash: String,
    files: BTreeMap<String, Bytes>,
    domains: Domains,
}

/// A folder that is none, or that was left out, and why.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, JsonSchema)]
#[schemars(rename = "ComponentFolderProblem")]
pub struct FolderProblem {
    pub folder: String,
    pub problem: String,
}

#[derive(Debug, Default)]
struct Loaded {
    folders: BTreeMap<String, Arc<Folder>>,
    /// What was served before the last reload: a page that is open goes on loading its own files.
    before: BTreeMap<String, Arc<Folder>>,
    problems: Vec<FolderProblem>,
}

/// Every folder there is.
#[derive(Debug)]
pub struct ComponentFolders {
    places: Vec<PathBuf>,
    allowed: Vec<String>,
    loaded: Locked<Loaded>,
}

impl ComponentFolders {
    /// Reads the folders in the data directory, and then those in other places; of two with one name the first counts. Blocks.
    pub fn open(data: &Path, places: &[PathBuf], allowed: &[String]) -> Self {
        let places = std::iter::once(data.join(FOLDER)).chain(places.iter().map(|place| data.join(place))).collect();
        let folders = Self { places, allowed: allowed.to_vec(), loaded: Locked::default() };
        folders.reload();
        for FolderProblem { folder, problem } in folders.problems() {
            tracing::warn!("the component in {folder} is not served: {problem}");
        }
        folders
    }

    /// Reads everything again. Blocks.
    pub fn reload(&self) {
        let (folders, problems) = read::all(&self.places, &self.allowed);
        let mut loaded = self.loaded.lock();
        let before = std::mem::take(&mut loaded.folders);
        *loaded = Loaded { folders, before, problems };
    }

    /// What the registry says of them.
    pub fn entries(&self) -> Vec<PageEntry> {
        self.loaded.lock().folders.values().map(|folder| folder.entry.clone()).collect()
    }

    /// The same, as entries of the registry.
    pub fn registered(&self) -> Vec<Entry> {
        // One is made of what the other says, so nothing is left out.
        let entry = |page: &PageEntry| serde_json::from_value(serde_json::to_value(page).ok()?).ok();
        self.entries().iter().filter_map(entry).collect()
    }

    pub fn problems(&self) -> Vec<FolderProblem> {
        self.loaded.lock().problems.clone()
    }

    /// The folder that is served under this name with these files.
    pub(crate) fn find(&self, name: &str, hash: &str) -> Option<Arc<Folder>> {
        let loaded = self.loaded.lock();
        let known = [loaded.folders.get(name), loaded.before.get(name)];
        known.into_iter().flatten().find(|folder| folder.hash == hash).map(Arc::clone)
    }
}

impl Folder {
    pub(crate) fn file(&self, path: &str) -> Option<&Bytes> {
        self.files.get(path)
    }

    /// What its page may do, when it is served by this host.
    pub(crate) fn content_security_policy(&self, host: &str) -> String {
        self.domains.policy(&format!("http://{host}{}", address(&self.entry.name, &self.hash)))
    }
}

/// The path below which a folder is served.
fn address(name: &str, hash: &str) -> String {
    format!("/views/c/{name}/{hash}/")
}
