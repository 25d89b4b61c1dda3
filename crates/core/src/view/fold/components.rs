//! Components: in the conversation a block, elsewhere an element of the view's list. What each of them holds is not decided here, but in
//! [`crate::component`].

use serde_json::Value;

use super::{Key, Step, tell};
use crate::component::Component;
use crate::event::{Event, Surface};
use crate::view::block::{ComponentBlock, ToolBlock};
use crate::view::change::{COMPONENTS, Fields, Node, Op, Path};

impl Step<'_> {
    /// Brings the components forward, and tells what is different.
    pub(super) fn components(&mut self) {
        // A change may be what shows a call.
        if let Event::ComponentUpdate(update) = &self.envelope.event
            && let Some(path) = update.tool_use_id.as_ref().and_then(|call| self.place(&Key::Tool(call.to_string())))
        {
            self.uncover(&update.component_id);
            self.fold.open.places.insert(Key::CoveredRow(update.component_id.clone()), path);
        }
        for id in self.fold.open.components.step(self.envelope) {
            self.draw(&id);
        }
    }

    /// The row that this component has covered is there again.
    fn uncover(&mut self, id: &str) {
        let key = Key::CoveredRow(id.to_owned());
        if let (Some(row), Some(path)) = (self.block_of::<ToolBlock>(&key), self.place(&key))
            && row.covered_by.is_some()
        {
            self.set_at(&path, "covered_by", None, |block: &mut ToolBlock, now| block.covered_by = now);
        }
    }

    /// The component that covers the row of this call.
    pub(super) fn cover_of(&self, tool_use_id: &str, component_id: &str) -> Option<String> {
        let covers = self.fold.open.components.covers(component_id, self.shared());
        covers.filter(|covered| covered.as_str() == tool_use_id).map(|_| component_id.to_owned())
    }

    fn shared(&self) -> &Value {
        self.fold.view.state.as_ref().unwrap_or(&Value::Null)
    }

    /// Shows a component where it belongs, and nowhere else.
    fn draw(&mut self, id: &str) {
        let key = Key::Component(id.to_owned());
        match self.fold.open.components.get(id, self.shared()) {
            None => {
                self.unlist(id);
                self.remove(&key);
            }
            Some(component) if component.surface == Surface::Chat => {
                self.unlist(id);
                if self.fold.open.places.contains_key(&key) {
                    self.edit(&key, |block: &mut ComponentBlock| block.component = component);
                } else {
                    let inside = self.inside();
                    let path = self.insert_named(inside, format!("c:{id}"), |birth| {
                        let (id, started_at) = (birth.id, birth.at);
                        ComponentBlock { id, started_at, component, ..ComponentBlock::default() }.into()
                    });
                    self.fold.open.places.insert(key, path);
                }
            }
            Some(component) => {
                // Its block stays, as a line that says where it is.
                let Component { component_id, name, surface, .. } = component.clone();
                let line = Component { component_id, name, surface, ..Component::default() };
                self.edit(&key, |block: &mut ComponentBlock| block.component = line);
                self.list(component);
            }
        }
        self.cover(id);
    }

    /// The row of its call is there exactly when the component does not show it.
    fn cover(&mut self, id: &str) {
        let key = Key::CoveredRow(id.to_owned());
        let Some(row) = self.block_of::<ToolBlock>(&key) else { return };
        let (before, now) = (row.covered_by.clone(), self.cover_of(row.tool_use_id.as_str(), id));
        if before != now
            && let Some(path) = self.place(&key)
        {
            self.set_at(&path, "covered_by", now, |block: &mut ToolBlock, now| block.covered_by = now);
        }
        if !self.fold.open.components.contains(id) {
            self.fold.open.places.remove(&key);
        }
    }

    fn list(&mut self, component: Component) {
        let id = component.component_id.clone();
        let components = &mut self.fold.view.components;
        if let Some(known) = components.iter_mut().find(|known| known.component_id == id) {
            if !self.out.is_muted() {
                let fields = Fields::of(&component).since(Fields::of(known));
                if !fields.0.is_empty() {
                    self.out.push(|| Op::Set { path: component_path(&id), fields });
                }
            }
            *known = component;
            return;
        }
        // The order is that of the first facts.
        let earlier = self.fold.open.components.ids().take_while(|known| *known != id);
        let at = earlier.filter(|earlier| components.iter().any(|known| known.component_id == **earlier)).count();
        if at == components.len() {
            let node = Node::Component(Box::new(component.clone()));
            self.out.push(|| Op::Insert { path: vec![COMPONENTS.to_owned()], node });
            components.push(component);
        } else {
            components.insert(at, component);
            tell!(self, components);
        }
    }

    fn unlist(&mut self, id: &str) {
        let components = &mut self.fold.view.components;
        if let Some(at) = components.iter().position(|known| known.component_id == id) {
            components.remove(at);
            self.out.push(|| Op::Remove { path: component_path(id) });
        }
    }
}

fn component_path(id: &str) -> Path {
    vec![COMPONENTS.to_owned(), id.to_owned()]
}
