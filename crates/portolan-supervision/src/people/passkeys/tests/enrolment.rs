//! Enrolment of passkeys.

use expect_test::expect;

use crate::people::People;

use super::{Authenticator, Registration, Saying, Stand, outcome_code, text};

#[test]
fn what_is_enrolled_is_what_the_page_was_asked_for() {
    let stand = Stand::enrolled();
    let begun = People::of(&stand.service("project")).begin_enrolment(&stand.challenges).expect("begun");
    assert_eq!(begun.exclude, [text("laptop")]);
    let (phone, challenge) = (Authenticator::new("phone"), text([1; 32]));
    let as_phone = |given: &mut Registration| {
        let client = given.client_data.clone();
        *given = Registration { client_data: client, ..phone.registered(&challenge) };
    };
    let wrong = |change: fn(&mut Registration)| {
        stand.enrol(|given| {
            as_phone(given);
            change(given);
        })
    };
    let codes = [
        stand.enrol(|_| {}),
        wrong(|given| given.client_data = text(Saying::of("webauthn.create", "x").client.to_string())),
        wrong(|given| given.client_data = text(Saying::of("webauthn.get", "x").client.to_string())),
        wrong(|given| given.id = text("another")),
        wrong(|given| given.id = String::new()),
        wrong(|given| given.id = "A".repeat(2_000)),
        wrong(|given| given.algorithm = -8),
        wrong(|given| given.algorithm = -257),
        wrong(|given| given.algorithm = -35),
        wrong(|given| given.public_key = String::new()),
        wrong(|given| given.public_key.truncate(120)),
        wrong(|given| given.public_key = "A".repeat(100_000)),
        wrong(|given| given.authenticator_data.truncate(52)),
        wrong(|given| given.authenticator_data = text(Saying::of("webauthn.create", "x").authenticator_data())),
        wrong(|given| given.name = "  ".to_owned()),
        wrong(|given| given.name = "a\nb".to_owned()),
        wrong(|given| given.name = "x".repeat(61)),
        wrong(|_| {}),
    ];
    expect![[r#"
        bad_passkey
        unknown_challenge
        wrong_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_passkey
        bad_input
        bad_input
        bad_input
        done"#]]
    .assert_eq(&codes.join("\n"));
    // The second one got a name of its own.
    let names: Vec<String> = People::of(&stand.service("project"))
        .passkeys()
        .expect("told")
        .kept
        .into_iter()
        .map(|kept| kept.name)
        .collect();
    assert_eq!(names, ["laptop", "laptop 2"]);
    assert_eq!(stand.says(|_| {}), "done", "the first one still counts");
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let mode = std::fs::metadata(stand.file()).expect("a file").permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
    for at in 2..16 {
        let another = Authenticator::new(&format!("key {at}"));
        assert_eq!(
            stand.enrol(|given| {
                let client = given.client_data.clone();
                *given = Registration { client_data: client, ..another.registered("x") };
            }),
            "done"
        );
    }
    let full = stand.service("project");
    assert_eq!(outcome_code(People::of(&full).begin_enrolment(&stand.challenges)), "too_many");
    assert_eq!(People::of(&full).credentials().expect("told").len(), 16);
}
