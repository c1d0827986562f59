//! The tasks of this process, bounded for each client and in all.

use std::collections::BTreeMap;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use rmcp::ErrorData;
use rmcp::model::{CallToolResponse, DetailedTask, InputRequests, InputResponses, Task, TaskPayload};
use tokio::sync::{oneshot, watch};
use tokio::time::sleep;

use super::OwnedCall;
use super::id::{LIFETIME_MS, Owner, TaskId};
use super::task::{Entry, Running, error_object, result_object};

/// The most tasks of a client that are known at once. With more, calls are answered when they are done.
const MOST_OF_ONE: usize = 128;
/// The most tasks of a client that work at once.
const MOST_WORKING: usize = 32;
/// The most tasks in all.
const MOST: usize = 4_096;

/// The tasks, by id.
#[derive(Default)]
pub(super) struct Table(Mutex<BTreeMap<TaskId, Entry>>);

/// Room for one more task.
pub(super) struct Room<'t>(&'t Arc<Table>);

impl Table {
    /// Returns room for a task of a client. `None` if it has too many.
    pub(super) fn room(self: &Arc<Table>, owner: &Owner) -> Option<Room<'_>> {
        let mut tasks = self.lock();
        // Expired work is dropped with its entry.
        tasks.retain(|id, _| !id.is_expired());
        let own = || tasks.iter().filter(|(id, _)| id.owner() == owner);
        let working = own().filter(|(_, entry)| !entry.is_over()).count();
        (tasks.len() < MOST && own().count() < MOST_OF_ONE && working < MOST_WORKING).then_some(Room(self))
    }

    pub(super) fn state(&self, id: &TaskId) -> Option<DetailedTask> {
        let (task, payload) = self.lock().get(id)?.state();
        Some(DetailedTask::new(task, payload))
    }

    pub(super) fn update(&self, id: &TaskId, responses: InputResponses) {
        if let Some(entry) = self.lock().get_mut(id) {
            entry.answer(responses);
        }
    }

    pub(super) fn cancel(&self, id: &TaskId) {
        self.end(id, TaskPayload::Cancelled);
    }

    fn end(&self, id: &TaskId, payload: TaskPayload) {
        if let Some(entry) = self.lock().get_mut(id) {
            entry.end(payload);
        }
    }

    fn ask(&self, id: &TaskId, questions: InputRequests) -> Option<oneshot::Receiver<InputResponses>> {
        Some(self.lock().get_mut(id)?.ask(questions))
    }

    fn lock(&self) -> MutexGuard<'_, BTreeMap<TaskId, Entry>> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Room<'_> {
    /// Makes a task of a call under way.
    pub(super) fn begin(self, id: TaskId, running: Running, call: OwnedCall, ending: watch::Receiver<bool>) -> Task {
        let table = self.0;
        running.news.become_task();
        let entry = Entry::new(&id, Arc::clone(&running.news));
        let (task, _) = entry.state();
        table.lock().insert(id.clone(), entry);
        // The work holds no table: it ends with it.
        let working = work(Arc::downgrade(table), id.clone(), running, call, ending);
        let work = tokio::spawn(working).abort_handle();
        if let Some(entry) = table.lock().get_mut(&id) {
            entry.works(work);
        }
        task
    }
}

/// Does the work of a task. It is dropped when the server ends, or the task has expired.
async fn work(table: Weak<Table>, id: TaskId, running: Running, call: OwnedCall, mut ending: watch::Receiver<bool>) {
    let payload = tokio::select! {
        payload = result(&table, &id, running, call) => payload,
        () = sleep(Duration::from_millis(LIFETIME_MS)) => {
            Some(failed(&ErrorData::internal_error("the task has expired before its call was done", None)))
        }
        _ = ending.wait_for(|ending| *ending) => None,
    };
    if let Some((table, payload)) = table.upgrade().zip(payload) {
        table.end(&id, payload);
    }
}

/// Waits for the result of a call, which may ask the client's user in between. `None` if nobody waits for it.
async fn result(table: &Weak<Table>, id: &TaskId, mut running: Running, mut call: OwnedCall) -> Option<TaskPayload> {
    loop {
        let required = match call.await {
            Ok(CallToolResponse::Complete(result)) => {
                return Some(TaskPayload::Completed { result: result_object(&result) });
            }
            Ok(CallToolResponse::InputRequired(required)) => required,
            Ok(_) => return Some(failed(&ErrorData::internal_error("the call has led to another task", None))),
            Err(error) => return Some(failed(&error)),
        };
        running.request.input_responses = match required.input_requests.filter(|questions| !questions.is_empty()) {
            Some(questions) => {
                let answers = table.upgrade()?.ask(id, questions)?;
                Some(answers.await.ok()?)
            }
            None => None,
        };
        running.request.request_state = required.request_state;
        call = running.begin();
    }
}

fn failed(error: &ErrorData) -> TaskPayload {
    TaskPayload::Failed { error: error_object(error) }
}

#[cfg(test)]
mod tests {
    use rmcp::model::InputRequest;
    use serde_json::{Value, json};

    use super::*;

    fn ada() -> Owner {
        Owner::of("/project", "ada")
    }

    fn add(table: &Table, owner: Owner) -> TaskId {
        let id = TaskId::new(owner, "Next", None);
        table.lock().insert(id.clone(), Entry::new(&id, Arc::default()));
        id
    }

    fn question() -> InputRequest {
        let schema = json!({ "type": "object", "properties": { "answer": { "type": "string" } } });
        let params = json!({ "message": "Well?", "requestedSchema": schema });
        serde_json::from_value(json!({ "method": "elicitation/create", "params": params })).expect("a question")
    }

    fn status(table: &Table, id: &TaskId) -> Value {
        let state = serde_json::to_value(table.state(id).expect("it is known")).expect("it is JSON");
        let open: Vec<&String> =
            state["inputRequests"].as_object().into_iter().flatten().map(|(name, _)| name).collect();
        json!([state["status"], open])
    }

    #[test]
    fn a_client_has_so_many_tasks_and_no_more() {
        let table = Arc::new(Table::default());
        let working: Vec<TaskId> = (0..MOST_WORKING).map(|_| add(&table, ada())).collect();
        assert!(table.room(&ada()).is_none() && table.room(&Owner::of("/project", "ben")).is_some());
        working.iter().for_each(|id| table.cancel(id));
        assert!(table.room(&ada()).is_some());
        (MOST_WORKING..MOST_OF_ONE).for_each(|_| table.cancel(&add(&table, ada())));
        assert!(table.room(&ada()).is_none(), "those that are over are still known");
    }

    #[tokio::test]
    async fn a_task_continues_once_all_its_questions_are_answered() {
        let table = Table::default();
        let id = add(&table, ada());
        for round in 1..=2 {
            let questions = InputRequests::from(["a", "b"].map(|name| (name.to_owned(), question())));
            let answers = table.ask(&id, questions).expect("it is known");
            let names = ["a", "b"].map(|name| format!("{round}-{name}"));
            assert_eq!(status(&table, &id), json!(["input_required", names]));
            table.update(&id, InputResponses::from([("a".to_owned(), json!(0)), ("3-a".to_owned(), json!(0))]));
            assert_eq!(status(&table, &id), json!(["input_required", names]), "other names are ignored");
            table.update(&id, InputResponses::from([(names[0].clone(), json!(1))]));
            assert_eq!(status(&table, &id), json!(["input_required", [names[1]]]));
            table.update(&id, InputResponses::from([(names[1].clone(), json!(2)), (names[0].clone(), json!(3))]));
            assert_eq!(status(&table, &id), json!(["working", []]));
            let expected = [("a".to_owned(), json!(1)), ("b".to_owned(), json!(2))];
            assert_eq!(answers.await, Ok(InputResponses::from(expected)));
        }
    }

    #[test]
    fn what_a_task_came_to_first_stays() {
        let table = Table::default();
        let id = add(&table, ada());
        table.cancel(&id);
        table.end(&id, failed(&ErrorData::internal_error("too late", None)));
        assert_eq!(status(&table, &id)[0], "cancelled");
    }
}
