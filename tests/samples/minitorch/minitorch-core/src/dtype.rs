//! Element types.

use std::any::TypeId;
use std::fmt::Debug;
use std::ops::{Add, AddAssign, Div, Mul, Neg, Sub};

/// A floating point element type.
pub trait Float:
    Copy
    + Debug
    + Default
    + PartialOrd
    + Send
    + Sync
    + Add<Output = Self>
    + Sub<Output = Self>
    + Mul<Output = Self>
    + Div<Output = Self>
    + Neg<Output = Self>
    + AddAssign
    + 'static
{
    const NAME: &'static str;

    fn from_f64(value: f64) -> Self;
    fn to_f64(self) -> f64;

    fn zero() -> Self {
        Self::from_f64(0.0)
    }

    fn one() -> Self {
        Self::from_f64(1.0)
    }

    fn exp(self) -> Self {
        Self::from_f64(self.to_f64().exp())
    }

    fn ln(self) -> Self {
        Self::from_f64(self.to_f64().ln())
    }

    fn sqrt(self) -> Self {
        Self::from_f64(self.to_f64().sqrt())
    }

    fn tanh(self) -> Self {
        Self::from_f64(self.to_f64().tanh())
    }
}

impl Float for f32 {
    const NAME: &'static str = "f32";

    fn from_f64(value: f64) -> Self {
        value as f32
    }

    fn to_f64(self) -> f64 {
        f64::from(self)
    }
}

impl Float for f64 {
    const NAME: &'static str = "f64";

    fn from_f64(value: f64) -> Self {
        value
    }

    fn to_f64(self) -> f64 {
        self
    }
}

pub fn is_f32<T: Float>() -> bool {
    TypeId::of::<T>() == TypeId::of::<f32>()
}

pub fn is_f64<T: Float>() -> bool {
    TypeId::of::<T>() == TypeId::of::<f64>()
}
