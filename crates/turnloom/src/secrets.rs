//! Secrets that the daemon must know in full, such as the keys of signatures: in one file that only its owner can read. They are never shown. A secret may
//! also stay where it is, in a variable or a file, and is looked up each time it is needed.

use std::collections::BTreeMap;
use std::io;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

use crate::private;
use crate::sync::Locked;

/// The longest secret.
const MAX_BYTES: usize = 4 * 1024;

/// A secret as somebody gives it: one of these.
#[derive(Clone, Default, Deserialize, JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(rename = "NewSecret")]
pub struct NewSecret {
    /// The secret itself; it is stored and never shown again.
    pub value: Option<String>,
    /// A variable in the environment of the daemon.
    pub env: Option<String>,
    /// A file that holds it; spaces around it do not count.
    pub file: Option<PathBuf>,
}

impl std::fmt::Debug for NewSecret {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("NewSecret")
    }
}

/// Where a secret is.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
#[serde(tag = "from", rename_all = "snake_case")]
#[schemars(rename = "SecretSource")]
pub enum SecretSource {
    /// The daemon has it.
    Stored {},
    Env {
        name: String,
    },
    File {
        path: PathBuf,
    },
}

/// Why a secret cannot be kept.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    #[error("a secret has one of `value`, `env` and `file`, and is not empty")]
    None,
    #[error("a secret has at most {MAX_BYTES} bytes")]
    TooLong,
    #[error("the secrets cannot be written: {0}")]
    Write(io::Error),
}

/// All that are stored. Cloning shares them.
#[derive(Clone)]
pub struct Secrets(Arc<Inner>);

struct Inner {
    file: PathBuf,
    known: Locked<BTreeMap<String, String>>,
}

impl std::fmt::Debug for Secrets {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Secrets")
    }
}

impl Secrets {
    pub fn open(file: PathBuf) -> io::Result<Self> {
        private::restrict(&file)?;
        let known = match std::fs::read(&file) {
            Ok(bytes) => serde_json::from_slice(&bytes).map_err(io::Error::other)?,
            Err(error) if error.kind() == io::ErrorKind::NotFound => BTreeMap::new(),
            Err(error) => return Err(error),
        };
        Ok(Self(Arc::new(Inner { file, known: Locked::new(known) })))
    }

    /// Keeps a secret under a name, in the place of one that was there.
    pub fn keep(&self, name: &str, new: NewSecret) -> Result<SecretSource, Error> {
        match (new.value, new.env, new.file) {
            (Some(value), None, None) if !value.trim().is_empty() => {
                if value.len() > MAX_BYTES {
                    return Err(Error::TooLong);
                }
                let mut known = self.0.known.lock();
                let before = known.insert(name.to_owned(), value);
                if let Err(error) = self.write(&known) {
                    match before {
                        Some(before) => known.insert(name.to_owned(), before),
                        None => known.remove(name),
                    };
                    return Err(error);
                }
                Ok(SecretSource::Stored {})
            }
            (None, Some(env), None) if !env.trim().is_empty() => Ok(SecretSource::Env { name: env }),
            (None, None, Some(path)) if path != Path::new("") => Ok(SecretSource::File { path }),
            _ => Err(Error::None),
        }
    }

    /// Forgets one; nothing else knows it.
    pub fn forget(&self, name: &str) -> Result<(), Error> {
        let mut known = self.0.known.lock();
        if known.remove(name).is_none() {
            return Ok(());
        }
        self.write(&known)
    }

    /// The secret, if it is there.
    pub fn find(&self, name: &str, source: &SecretSource) -> Option<String> {
        let found = match source {
            SecretSource::Stored {} => self.0.known.lock().get(name).cloned(),
            SecretSource::Env { name } => std::env::var(name).ok(),
            SecretSource::File { path } => {
                let bytes = crate::regular_file::read(path, MAX_BYTES).ok()?;
                String::from_utf8(bytes).ok().map(|text| text.trim().to_owned())
            }
        };
        found.filter(|secret| !secret.is_empty())
    }

    fn write(&self, known: &BTreeMap<String, String>) -> Result<(), Error> {
        let json = serde_json::to_vec(known).map_err(|error| Error::Write(io::Error::other(error)))?;
        private::replace_durably(&self.0.file, &json).map_err(Error::Write)
    }
}
