//! The calls that tests make most, in short.

use std::sync::Arc;

use portolan_core::run::Actor;
use portolan_core::value::Outcome;
use portolan_runtime::carrier::Address;
use portolan_runtime::definition::Definition;
use portolan_runtime::service::{
    Act, Caller, Function, FunctionResult, FunctionRun, How, InterruptionPolicy, Open, Report, Request, Service,
    ServiceError, View,
};
use portolan_runtime::store::{Record, RunId};
use serde_json::Value;

type Answer = Result<View, ServiceError>;

/// A report about a position.
#[derive(Clone, Debug)]
pub(crate) struct Move {
    pub(crate) address: Address,
    pub(crate) branch: Option<String>,
    pub(crate) revision: Option<u64>,
    pub(crate) outcome: Outcome,
    pub(crate) note: Option<String>,
    pub(crate) outputs: Option<Arc<Value>>,
}

/// A call of a function, whose run is perhaps kept.
pub(crate) struct FunctionCall {
    pub(crate) definition: Arc<Definition>,
    pub(crate) input: Value,
    pub(crate) by: Actor,
    pub(crate) how: How,
    pub(crate) kept: bool,
}

pub(crate) trait Calls {
    async fn start(&self, address: &Address, revision: Option<u64>, caller: &Caller) -> Answer;
    async fn current(&self, address: &Address, branch: Option<&str>, caller: &Caller) -> Answer;
    async fn question(&self, address: &Address, branch: Option<&str>, caller: &Caller) -> Answer;
    async fn next(&self, wanted: &Move, caller: &Caller) -> Answer;
    async fn cancel(&self, address: &Address, reason: &str, caller: &Caller) -> Answer;
    async fn records(&self, address: &Address) -> Result<Vec<Record>, ServiceError>;
    async fn call_function(&self, call: FunctionCall) -> Result<FunctionResult, ServiceError>;
    async fn resume_function(
        &self,
        id: &RunId,
        interrupted: InterruptionPolicy,
        how: How,
    ) -> Result<FunctionResult, ServiceError>;
}

impl Calls for Service {
    async fn start(&self, address: &Address, revision: Option<u64>, caller: &Caller) -> Answer {
        self.act(&Request { revision, ..Request::of(address.clone()) }, &Act::Begin, caller).await
    }

    async fn current(&self, address: &Address, branch: Option<&str>, caller: &Caller) -> Answer {
        let branch = branch.map(str::to_owned);
        self.view(&Request { branch, ..Request::of(address.clone()) }, caller).await
    }

    async fn question(&self, address: &Address, branch: Option<&str>, caller: &Caller) -> Answer {
        let branch = branch.map(str::to_owned);
        self.view(&Request { branch, asked: true, ..Request::of(address.clone()) }, caller).await
    }

    async fn next(&self, wanted: &Move, caller: &Caller) -> Answer {
        let Move { address, branch, revision, outcome, note, outputs } = wanted.clone();
        let report = Act::Report(Report { outcome, note, outputs });
        self.act(&Request { branch, revision, ..Request::of(address) }, &report, caller).await
    }

    async fn cancel(&self, address: &Address, reason: &str, caller: &Caller) -> Answer {
        let end = Act::End { reason: reason.to_owned() };
        self.act(&Request::of(address.clone()), &end, caller).await
    }

    async fn records(&self, address: &Address) -> Result<Vec<Record>, ServiceError> {
        Ok(self.history(address).await?.records)
    }

    async fn call_function(&self, call: FunctionCall) -> Result<FunctionResult, ServiceError> {
        let FunctionCall { definition, input, by, how, kept } = call;
        if !kept {
            return self.drive(FunctionRun::Called { definition, input, by }, how).await;
        }
        let function = Some(Function { definition, remembered: None, folder: None });
        let wanted = Open { function, input: Some(Arc::new(input)), ..Open::default() };
        let view = self.open(&wanted, &Caller { by, can_ask: false }).await?;
        let id = view.address.handle().expect("it is in the store").clone();
        self.drive(FunctionRun::kept(id), how).await
    }

    async fn resume_function(
        &self,
        id: &RunId,
        interrupted: InterruptionPolicy,
        how: How,
    ) -> Result<FunctionResult, ServiceError> {
        self.drive(FunctionRun::Kept { run: id.clone(), interrupted, resumed: None }, how).await
    }
}
