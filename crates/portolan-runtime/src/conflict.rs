//! Retries after write conflicts: a decision is made again from the run as another writer left it.

use std::pin::Pin;

use crate::error::ServiceError;

/// The reason why a decision was not stored.
#[derive(Debug)]
pub enum CommitError<E = ServiceError> {
    /// Another writer came first.
    Conflict,
    /// The decision cannot be stored, or cannot be made.
    Failed(E),
}

impl<E> From<E> for CommitError<E> {
    fn from(error: E) -> CommitError<E> {
        CommitError::Failed(error)
    }
}

impl<E> CommitError<E> {
    /// Returns the error for a caller that does not retry.
    pub(crate) fn error_or(self, conflict: impl FnOnce() -> E) -> E {
        match self {
            CommitError::Conflict => conflict(),
            CommitError::Failed(error) => error,
        }
    }

    /// Adds to the error of a failure.
    pub(crate) fn map<F>(self, more: impl FnOnce(E) -> F) -> CommitError<F> {
        match self {
            CommitError::Conflict => CommitError::Conflict,
            CommitError::Failed(error) => CommitError::Failed(more(error)),
        }
    }
}

/// The remaining attempts of a decision.
pub(crate) struct Retries {
    left: usize,
}

impl Retries {
    /// A conflict means that another writer made progress.
    pub(crate) const NONE_SPENT: Retries = Retries { left: 32 };

    /// Returns the result of a decision. `None` if it must be made again.
    pub(crate) fn settled<T, E: From<ServiceError>>(
        &mut self,
        decided: Result<T, CommitError<E>>,
    ) -> Option<Result<T, E>> {
        match decided {
            Ok(decided) => return Some(Ok(decided)),
            Err(CommitError::Failed(error)) => return Some(Err(error)),
            Err(CommitError::Conflict) => {}
        }
        self.left -= 1;
        (self.left == 0).then(|| Err(too_busy().into()))
    }
}

/// Decides, and decides again while another writer comes first. `decide` loads the run that it decides about. It is no
/// `AsyncFnMut`, because the compiler cannot prove that the future of one is `Send`. The future is behind a pointer,
/// because the compiler would otherwise prove anew that it is `Send` wherever a face awaits the service, and that took a
/// tenth of the time to compile the faces.
///
/// # Errors
/// The decision cannot be stored, or other writers came first again and again.
pub(crate) async fn retrying<T, E, F>(mut decide: impl FnMut() -> F) -> Result<T, E>
where
    E: From<ServiceError>,
    F: Future<Output = Result<T, CommitError<E>>> + Send,
{
    let mut retries = Retries::NONE_SPENT;
    loop {
        let attempt: Pin<Box<dyn Future<Output = _> + Send + '_>> = Box::pin(decide());
        if let Some(settled) = retries.settled(attempt.await) {
            return settled;
        }
    }
}

/// Returns the error for repeated conflicts.
pub(crate) fn too_busy() -> ServiceError {
    ServiceError::refused(
        "stale",
        "other writers repeatedly changed this run in the meantime",
        "check the current situation and choose again",
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test]
    async fn a_decision_is_made_anew_until_it_is_kept_and_not_for_ever() {
        let mut made = 0;
        let decided = retrying(|| {
            made += 1;
            let kept: Result<i32, CommitError> = if made < 3 { Err(CommitError::Conflict) } else { Ok(made) };
            async { kept }
        });
        assert_eq!(decided.await.expect("the third one is kept"), 3);

        let mut made = 0;
        let decided = retrying(|| {
            made += 1;
            async { Err::<(), CommitError>(CommitError::Conflict) }
        });
        assert_eq!((decided.await.expect_err("it never is").code, made), ("stale", 32));
    }
}
