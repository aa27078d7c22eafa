//! CREATE and ALTER SUBSCRIPTION.

use super::marker;
use super::publication::with;
use crate::plan::instruction::SqlText;
use crate::spec::scenario::Subscription;
use crate::text::quote::identifier;

/// The statement that creates a subscription of the spec; the marker's publication is named beside its own.
pub fn create(name: &str, subscription: &Subscription) -> SqlText {
    let mut publications: Vec<String> = subscription.publications.iter().map(|name| identifier(name)).collect();
    publications.push(identifier(marker::PUBLICATION));
    let options = with(subscription.options.iter().map(|(key, written)| (key.as_str(), written.value.as_str())));
    SqlText::plain(format!("CREATE SUBSCRIPTION {} CONNECTION ", identifier(name)))
        .conninfo(&subscription.node, &subscription.publisher, name)
        .text(&format!(" PUBLICATION {}{options}", publications.join(", ")))
}

/// ENABLE.
pub fn enable(name: &str) -> SqlText {
    SqlText::plain(format!("ALTER SUBSCRIPTION {} ENABLE", identifier(name)))
}

/// DISABLE.
pub fn disable(name: &str) -> SqlText {
    SqlText::plain(format!("ALTER SUBSCRIPTION {} DISABLE", identifier(name)))
}

/// REFRESH PUBLICATION.
pub fn refresh(name: &str) -> SqlText {
    SqlText::plain(format!("ALTER SUBSCRIPTION {} REFRESH PUBLICATION", identifier(name)))
}
