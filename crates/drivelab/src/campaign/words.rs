//! What stands in the way of a campaign, as sentences that name the option.

use ::campaign::CampaignError;
use anyhow::{Error, anyhow};

/// What cannot be done, with the cure.
pub fn in_words(error: CampaignError) -> Error {
    match &error {
        CampaignError::Exists(path) => {
            let path = record::quoted(path);
            anyhow!(
                "{error}: go on with it by `drivelab campaign resume {path}`, or name another \
                 with --directory"
            )
        }
        CampaignError::NotThere(_) => anyhow!(
            "{error}: name the directory that `drivelab campaign FILE` made, such as sweep.campaign"
        ),
        CampaignError::Newer { .. } => {
            anyhow!("{error}: use the drivelab that made it, or a newer one")
        }
        CampaignError::Damaged { .. } => {
            anyhow!("{error}: remove that file, and `drivelab campaign resume` does its task again")
        }
        CampaignError::NoTask { .. } => anyhow!("--task: {error}"),
        _ => error.into(),
    }
}
