//! Update and condition expressions. Every attribute goes by a placeholder, so no reserved word ever matters.

use std::collections::HashMap;
use std::fmt::Display;

use aws_sdk_dynamodb::primitives::Blob;
use aws_sdk_dynamodb::types::AttributeValue;

use crate::item::SCHEMA;

/// What is changed, and under which condition.
#[derive(Clone, Debug, Default)]
pub(crate) struct Expression {
    names: HashMap<String, String>,
    values: HashMap<String, AttributeValue>,
    set: Vec<String>,
    add: Vec<String>,
    remove: Vec<String>,
    conditions: Vec<String>,
}

impl Expression {
    /// An expression that leaves items of a newer schema alone; so it holds for no item that is not there.
    pub(crate) fn of_ours() -> Self {
        let mut expression = Self::default();
        let (schema, ours) = (expression.name("schema"), expression.value(number(SCHEMA)));
        expression.when(format!("{schema} <= {ours}"))
    }

    /// The placeholder of an attribute.
    pub(crate) fn name(&mut self, attribute: &str) -> String {
        let placeholder = format!("#{attribute}");
        self.names.insert(placeholder.clone(), attribute.to_owned());
        placeholder
    }

    /// The placeholder of a value.
    pub(crate) fn value(&mut self, value: AttributeValue) -> String {
        let placeholder = format!(":{}", self.values.len());
        self.values.insert(placeholder.clone(), value);
        placeholder
    }

    /// Requires this as well.
    #[must_use]
    pub(crate) fn when(mut self, condition: String) -> Self {
        self.conditions.push(condition);
        self
    }

    /// Requires the attribute to have this value.
    #[must_use]
    pub(crate) fn when_is(mut self, attribute: &str, value: AttributeValue) -> Self {
        let condition = format!("{} = {}", self.name(attribute), self.value(value));
        self.when(condition)
    }

    /// Requires the attribute to be there.
    #[must_use]
    pub(crate) fn when_there(mut self, attribute: &str) -> Self {
        let condition = format!("attribute_exists({})", self.name(attribute));
        self.when(condition)
    }

    /// Requires the attribute, or with `pk` the item, not to be there.
    #[must_use]
    pub(crate) fn when_absent(mut self, attribute: &str) -> Self {
        let condition = format!("attribute_not_exists({})", self.name(attribute));
        self.when(condition)
    }

    /// Sets the attribute.
    #[must_use]
    pub(crate) fn set(mut self, attribute: &str, value: AttributeValue) -> Self {
        let action = format!("{} = {}", self.name(attribute), self.value(value));
        self.set.push(action);
        self
    }

    /// Appends to the list, which need not be there.
    #[must_use]
    pub(crate) fn append(mut self, attribute: &str, value: AttributeValue) -> Self {
        let (name, empty) = (self.name(attribute), self.value(AttributeValue::L(Vec::new())));
        let value = self.value(AttributeValue::L(vec![value]));
        self.set.push(format!("{name} = list_append(if_not_exists({name}, {empty}), {value})"));
        self
    }

    /// Adds a number to the number, or a set to the set, which need not be there.
    #[must_use]
    pub(crate) fn add(mut self, attribute: &str, amount: AttributeValue) -> Self {
        let action = format!("{} {}", self.name(attribute), self.value(amount));
        self.add.push(action);
        self
    }

    /// Removes the attribute.
    #[must_use]
    pub(crate) fn remove(mut self, attribute: &str) -> Self {
        let name = self.name(attribute);
        self.remove.push(name);
        self
    }

    /// The update expression; `None` when nothing changes.
    pub(crate) fn update(&self) -> Option<String> {
        let clauses = [("SET", &self.set), ("ADD", &self.add), ("REMOVE", &self.remove)];
        let clauses: Vec<String> = clauses
            .into_iter()
            .filter(|(_, actions)| !actions.is_empty())
            .map(|(verb, actions)| format!("{verb} {}", actions.join(", ")))
            .collect();
        (!clauses.is_empty()).then(|| clauses.join(" "))
    }

    /// The condition expression; `None` when there is none.
    pub(crate) fn condition(&self) -> Option<String> {
        (!self.conditions.is_empty()).then(|| self.conditions.join(" AND "))
    }

    /// The attributes behind the placeholders.
    pub(crate) fn names(&self) -> Option<HashMap<String, String>> {
        (!self.names.is_empty()).then(|| self.names.clone())
    }

    /// The values behind the placeholders.
    pub(crate) fn values(&self) -> Option<HashMap<String, AttributeValue>> {
        (!self.values.is_empty()).then(|| self.values.clone())
    }
}

/// A string attribute.
pub(crate) fn text(text: impl Into<String>) -> AttributeValue {
    AttributeValue::S(text.into())
}

/// A number attribute.
pub(crate) fn number<N: Display>(number: N) -> AttributeValue {
    AttributeValue::N(format!("{number}"))
}

/// A binary attribute.
pub(crate) fn bytes(bytes: &[u8]) -> AttributeValue {
    AttributeValue::B(Blob::new(bytes))
}
