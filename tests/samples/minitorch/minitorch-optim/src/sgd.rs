//! Stochastic gradient descent.

use minitorch_core::ops::elementwise::{add, mul};
use minitorch_core::storage::TensorStorage;
use minitorch_core::{Float, Tensor, TorchResult};

/// A learning rate, and whether steps are composed of tensor operators.
#[derive(Debug, Clone)]
pub struct Sgd {
    pub lr: f64,
    pub foreach: bool,
}

impl Sgd {
    /// One step of one parameter; returns its new value.
    pub fn step<T: Float>(&self, param: &Tensor<T>, grad: &Tensor<T>) -> TorchResult<Tensor<T>> {
        if self.foreach {
            return self.step_foreach(param, grad);
        }
        let (mut values, grads) = (param.data_vec()?, grad.data_vec()?); //~ FT001
        for (v, g) in values.iter_mut().zip(&grads) {
            *v = *v - T::from_f64(self.lr) * *g;
        }
        Tensor::from_storage(TensorStorage::on_device(values, param.device())?, param.shape().to_vec(), false)
    }

    /// The same on the parameter's device.
    pub fn step_foreach<T: Float>(&self, param: &Tensor<T>, grad: &Tensor<T>) -> TorchResult<Tensor<T>> {
        let rate = Tensor::from_vec(vec![T::from_f64(-self.lr); param.numel()], param.shape())?.to(param.device())?;
        add(param, &mul(grad, &rate)?) //~ ok FT001: composed of dispatched operators
    }
}

/// A learning rate that falls with the square root of the step.
#[derive(Debug, Clone)]
pub struct InverseSquareRoot {
    pub base: f64,
}

impl InverseSquareRoot {
    pub fn at(&self, step: u32) -> f64 {
        self.base / f64::from(step.max(1)).sqrt()
    }
}
