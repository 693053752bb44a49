//! A log facade with the call shape of the `tracing` crate.
//!
//! An application installs a subscriber with [`set_subscriber`]; without one,
//! events are dropped.

use std::fmt;
use std::sync::OnceLock;

/// Receives every event: target, fields and text already joined.
pub trait Subscriber: Send + Sync {
    fn event(&self, target: &str, text: fmt::Arguments<'_>);
}

static SUBSCRIBER: OnceLock<Box<dyn Subscriber>> = OnceLock::new();

/// Install the subscriber. The first call wins.
pub fn set_subscriber(subscriber: Box<dyn Subscriber>) -> bool {
    SUBSCRIBER.set(subscriber).is_ok()
}

#[doc(hidden)]
pub fn emit(target: &str, text: fmt::Arguments<'_>) {
    if let Some(subscriber) = SUBSCRIBER.get() {
        subscriber.event(target, text);
    }
}

#[doc(hidden)]
#[macro_export]
macro_rules! __event_warn {
    (target: $target:expr, $($field:ident = $value:expr,)* $text:literal $(,)?) => {
        $crate::tracing::emit(
            $target,
            format_args!(concat!($text, $(" ", stringify!($field), "={}",)*), $($value),*),
        )
    };
}

pub use crate::__event_warn as warn;
