//! Which traces are recorded, as `OTEL_TRACES_SAMPLER` configures.

use crate::trace::TraceContext;

/// The sampling decision.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) struct Sampler {
    /// Whether the decision of a caller that sent its trace applies.
    parent_based: bool,
    /// The share of the other traces that is recorded, from 0 to 1.
    ratio: f64,
}

impl Default for Sampler {
    fn default() -> Sampler {
        Sampler { parent_based: true, ratio: 1.0 }
    }
}

impl Sampler {
    /// Returns the sampler with this name, or `None` if there is none.
    pub(super) fn named(name: &str, argument: Option<&str>) -> Option<Sampler> {
        let (parent_based, name) = match name.strip_prefix("parentbased_") {
            Some(rest) => (true, rest),
            None => (false, name),
        };
        let ratio = match name {
            "always_on" => 1.0,
            "always_off" => 0.0,
            "traceidratio" => argument.map_or(Some(1.0), |text| text.parse().ok())?,
            _ => return None,
        };
        (0.0..=1.0).contains(&ratio).then_some(Sampler { parent_based, ratio })
    }

    /// Checks whether a run of this trace is recorded. Every process with the same configuration decides the same for
    /// one trace.
    pub(super) fn takes(&self, context: &TraceContext) -> bool {
        if self.parent_based && context.parent.is_some() {
            return context.sampled;
        }
        let drawn = u128::from_be_bytes(context.trace.0) as u64 >> 1;
        self.ratio >= 1.0 || (drawn as f64) < self.ratio * (1_u64 << 63) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn taken(name: &str, argument: Option<&str>, traceparents: &[&str]) -> Vec<bool> {
        let sampler = Sampler::named(name, argument).expect("a sampler");
        let context = |text: &&str| TraceContext::within(text).expect("a traceparent");
        let alone = |context: TraceContext| TraceContext { parent: None, ..context };
        let given = traceparents.iter().map(context);
        given.flat_map(|context| [sampler.takes(&context), sampler.takes(&alone(context.clone()))]).collect()
    }

    #[test]
    fn a_sampler_takes_what_its_name_says() {
        let traces = [
            "00-00000000000000010000000000000001-b7ad6b7169203331-00",
            "00-0000000000000001ffffffffffffffff-b7ad6b7169203331-01",
        ];
        // For each trace, with a caller's decision and without a caller.
        assert_eq!(taken("always_on", None, &traces), [true, true, true, true]);
        assert_eq!(taken("always_off", None, &traces), [false, false, false, false]);
        assert_eq!(taken("parentbased_always_on", None, &traces), [false, true, true, true]);
        assert_eq!(taken("parentbased_always_off", None, &traces), [false, false, true, false]);
        assert_eq!(taken("traceidratio", Some("0.5"), &traces), [true, true, false, false]);
        assert_eq!(taken("parentbased_traceidratio", Some("0.5"), &traces), [false, true, true, false]);
    }

    #[test]
    fn what_is_no_sampler_is_none() {
        for (name, argument) in [("often", None), ("traceidratio", Some("2")), ("traceidratio", Some("half"))] {
            assert_eq!(Sampler::named(name, argument), None, "{name} {argument:?}");
        }
    }
}
