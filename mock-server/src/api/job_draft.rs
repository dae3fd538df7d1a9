//! Drafts of jobs: what the fields of a submit ask for.

use svc_sdk::types::Usd;

use crate::engine::directives::Directives;
use crate::engine::jobs::JobType;
use crate::engine::resources::ResourceDetails;
use crate::engine::versioned_models::Product;
use crate::media::Spec;

#[derive(Clone, Debug, PartialEq)]
pub(super) struct JobDraft {
    pub(super) job_type: JobType,
    pub(super) model: &'static str,
    pub(super) directives: Directives,
    /// The price, or `None` if the job is free.
    pub(super) price: Option<Usd>,
    /// The specification of each file. Seeds are assigned when the job is created.
    pub(super) spec: Spec,
    pub(super) files: u64,
}

impl JobDraft {
    /// Creates the draft of a job of the price list that makes one file.
    pub(super) fn of_product(
        job_type: JobType,
        tier: &str,
        units: u64,
        spec: Spec,
        directives: Directives,
    ) -> Self {
        let product = Product::of(job_type);
        let model = product.map_or("", |product| product.model);
        let price = product.and_then(|product| product.price(tier, units));
        Self { job_type, model, directives, price, spec, files: 1 }
    }
}

/// The effect of a submit on resources that have IDs of their own.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum ResourceChange {
    None,
    Create(ResourceDetails),
    /// Regenerates the resource with this ID.
    Regenerate(String),
}
