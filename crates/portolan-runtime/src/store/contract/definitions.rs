//! The guarantees for definition bundles.

use std::sync::Arc;

use super::sample::Sample;
use super::{Subject, new_run};
use crate::store::{Digest, NewRun, RunId, StoreError};

pub(super) async fn runs_share_definitions(subject: &Subject) {
    let store = subject.store();
    let sample = Sample::opened("mend the door");
    let texts = ["{}", "{ }", "{}"];
    for text in texts {
        let new = new_run(&RunId::random(), &sample);
        store.create(NewRun { definition: Digest::of(text), definition_text: text.into(), ..new }).await.expect("kept");
    }
    for text in texts {
        assert_eq!(&*subject.store().definition(&Digest::of(text)).await.expect("it was kept"), text);
    }
}

pub(super) async fn definitions_are_kept_without_a_run(subject: &Subject) {
    let store = subject.store();
    let text: Arc<str> = "{\"alone\": \"日本\"}".into();
    let digest = Digest::of(&*text);
    for _ in ["once", "again"] {
        store.keep_definition(&digest, &text).await.expect("it is kept");
        assert_eq!(subject.store().definition(&digest).await.expect("it was kept"), text);
    }
    let new = new_run(&RunId::random(), &Sample::opened("mend the door"));
    let new = NewRun { definition: digest.clone(), definition_text: Arc::clone(&text), ..new };
    let id = new.id.clone();
    store.create(new).await.expect("a run may begin with it");
    store.keep_definition(&digest, &text).await.expect("it is kept");
    assert_eq!(store.load(&id).await.expect("it was created").definition, digest);
    assert_eq!(store.definition(&digest).await.expect("it was kept"), text);
}

/// Tokens name a definition by the first half of its digest.
pub(super) async fn definitions_are_found_by_their_beginning(subject: &Subject) {
    let store = subject.store();
    let half = |digest: &Digest| digest.as_str()[..32].to_owned();
    let texts: [Arc<str>; 3] = ["one".into(), "another".into(), "a third".into()];
    for text in &texts {
        let digest = Digest::of(&**text);
        assert_eq!(store.definition_like(&half(&digest)).await, Ok(None));
        store.keep_definition(&digest, text).await.expect("it is kept");
    }
    for digest in texts.iter().map(|text| Digest::of(&**text)) {
        assert_eq!(subject.store().definition_like(&half(&digest)).await, Ok(Some(digest.clone())));
        assert_eq!(subject.store().definition_like(digest.as_str()).await, Ok(Some(digest)));
    }
    assert_eq!(store.definition_like(&half(&Digest::of("none"))).await, Ok(None));
    let none = Digest::of("none");
    assert_eq!(store.definition(&none).await, Err(StoreError::no_definition(&none)));
}
