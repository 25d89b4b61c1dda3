//! The fields of a node. They are few and their names are nearly always known when this is compiled, so a list is smaller and quicker than a table.

use std::borrow::Cow;
use std::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer, Serialize, Serializer};
use serde_json::{Map, Value};

type Name = Cow<'static, str>;

/// Values by name, in the order they came.
#[derive(Debug, Clone, PartialEq, Default)]
pub struct Fields(Vec<(Name, Value)>);

/// `fields! { "name": value }`: what serializes becomes JSON, as in `json!`.
macro_rules! fields {
    ($($name:literal: $value:expr),* $(,)?) => {
        $crate::view::fields::Fields::from_iter([$((std::borrow::Cow::Borrowed($name), serde_json::json!($value))),*])
    };
}
pub(super) use fields;

impl Fields {
    pub fn get(&self, name: &str) -> Option<&Value> {
        self.0.iter().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub fn get_mut(&mut self, name: &str) -> Option<&mut Value> {
        self.0.iter_mut().find(|(known, _)| known == name).map(|(_, value)| value)
    }

    pub fn contains(&self, name: &str) -> bool {
        self.get(name).is_some()
    }

    pub fn insert(&mut self, name: impl Into<Name>, value: Value) {
        let name = name.into();
        match self.get_mut(&name) {
            Some(known) => *known = value,
            None => self.0.push((name, value)),
        }
    }

    pub fn remove(&mut self, name: &str) -> Option<Value> {
        let at = self.0.iter().position(|(known, _)| known == name)?;
        Some(self.0.remove(at).1)
    }

    /// Takes a value out, to be changed and put back.
    pub(super) fn take(&mut self, name: &str) -> Value {
        self.get_mut(name).map(std::mem::take).unwrap_or_default()
    }

    /// Without what is `null`.
    pub(super) fn known(mut self) -> Self {
        self.0.retain(|(_, value)| !value.is_null());
        self
    }

    /// The fields of something that serializes to an object.
    pub(super) fn of(value: impl Serialize) -> Self {
        match serde_json::to_value(value) {
            Ok(Value::Object(map)) => map.into(),
            Ok(_) | Err(_) => Self::default(),
        }
    }

    /// The values of `other` instead of, or beside, what is here; `null` removes one.
    pub(super) fn set(&mut self, other: Fields) {
        for (name, value) in other.0 {
            if value.is_null() {
                self.remove(&name);
            } else {
                self.insert(name, value);
            }
        }
    }

    /// The values of `other` instead of, or beside, what is here.
    pub(super) fn extend(&mut self, other: Fields) {
        for (name, value) in other.0 {
            self.insert(name, value);
        }
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = (&str, &Value)> {
        self.0.iter().map(|(name, value)| (name.as_ref(), value))
    }
}

impl FromIterator<(Name, Value)> for Fields {
    fn from_iter<I: IntoIterator<Item = (Name, Value)>>(fields: I) -> Self {
        Self(fields.into_iter().collect())
    }
}

impl IntoIterator for Fields {
    type Item = (Name, Value);
    type IntoIter = std::vec::IntoIter<(Name, Value)>;

    fn into_iter(self) -> Self::IntoIter {
        self.0.into_iter()
    }
}

impl From<Map<String, Value>> for Fields {
    fn from(map: Map<String, Value>) -> Self {
        map.into_iter().map(|(name, value)| (Cow::Owned(name), value)).collect()
    }
}

impl From<&Fields> for Map<String, Value> {
    fn from(fields: &Fields) -> Self {
        fields.iter().map(|(name, value)| (name.to_owned(), value.clone())).collect()
    }
}

impl Serialize for Fields {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_map(self.iter())
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Reader;
        impl<'de> Visitor<'de> for Reader {
            type Value = Fields;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object")
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
                let mut fields = Fields::default();
                while let Some((name, value)) = map.next_entry::<String, Value>()? {
                    fields.insert(name, value);
                }
                Ok(fields)
            }
        }
        deserializer.deserialize_map(Reader)
    }
}
