//! How far a running step is, for whoever watches.

use std::sync::atomic::{AtomicU64, Ordering};

use basecase_model::OperationClass;

/// How far one role is.
#[derive(Debug)]
pub struct RoleProgress {
    /// What its statements do.
    pub class: OperationClass,
    /// Items that it will finish, when that is known.
    pub planned_items: Option<u64>,
    items: AtomicU64,
}

impl RoleProgress {
    pub(crate) fn new(class: OperationClass, planned_items: Option<u64>) -> Self {
        RoleProgress { class, planned_items, items: AtomicU64::new(0) }
    }

    pub(crate) fn add(&self, items: u32) {
        self.items.fetch_add(u64::from(items), Ordering::Relaxed);
    }

    /// Items finished so far.
    pub fn items(&self) -> u64 {
        self.items.load(Ordering::Relaxed)
    }
}

/// How far a step is.
#[derive(Debug)]
pub struct Progress {
    /// Its roles in the order of the plan.
    pub roles: Vec<RoleProgress>,
}

impl Progress {
    /// Share of the planned items that is finished, 0 to 1, over all roles with a plan.
    pub fn share(&self) -> f64 {
        let planned =
            self.roles.iter().filter_map(|role| role.planned_items.map(|planned| (role.items(), planned)));
        let (done, all) = planned.fold((0, 0), |(done, all), (items, planned)| (done + items, all + planned));
        if all == 0 { 0.0 } else { done as f64 / all as f64 }
    }

    /// Items of one class finished so far, over all clients.
    pub fn items(&self, class: OperationClass) -> u64 {
        self.roles.iter().filter(|role| role.class == class).map(RoleProgress::items).sum()
    }
}
