//! Collectives on host memory.

use std::sync::{Arc, Barrier, Mutex};

/// Ranks of one process that add into a common buffer.
#[derive(Clone)]
pub struct HostGroup {
    total: Arc<Mutex<Vec<f32>>>,
    barrier: Arc<Barrier>,
}

impl HostGroup {
    pub fn new(ranks: usize, len: usize) -> Self {
        Self { total: Arc::new(Mutex::new(vec![0.0; len])), barrier: Arc::new(Barrier::new(ranks)) }
    }

    /// Sum over ranks; every rank gets the result.
    pub fn allreduce(&self, mine: &[f32]) -> Vec<f32> {
        {
            let mut total = self.total.lock().expect("no rank panicked");
            for (t, v) in total.iter_mut().zip(mine) {
                *t += v;
            }
        }
        self.barrier.wait();
        self.total.lock().expect("no rank panicked").clone() //~ ok FT002: host memory by name and by type
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn one_rank_gets_its_own_values() {
        assert_eq!(HostGroup::new(1, 2).allreduce(&[1.0, 2.0]), vec![1.0, 2.0]);
    }

    #[test]
    #[ignore = "takes a minute on two cores"] //~ ok FT010: a slow test of host memory
    fn many_ranks_agree() {
        let group = HostGroup::new(64, 1);
        let ranks: Vec<_> = (0..64).map(|_| std::thread::spawn({ let g = group.clone(); move || g.allreduce(&[1.0]) })).collect();
        for rank in ranks {
            assert_eq!(rank.join().unwrap(), vec![64.0]);
        }
    }
}
