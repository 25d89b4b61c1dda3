use super::*;

const NOW: Timestamp = Timestamp::from_millis(1_700_000_000_000);
const SECRET: &str = "It's a Secret to Everybody";

fn check(kind: Kind, secret: &Secret, headers: &[(&str, &str)], body: &[u8]) -> Result<(), &'static str> {
    let headers = Headers::new(headers.iter().copied());
    let request = Request { headers: &headers, body, now: NOW };
    verify(kind, &HmacHeader::default(), secret, request).map_err(|refusal| refusal.code())
}

fn secret() -> Secret {
    Secret::Text(SECRET.to_owned())
}

#[test]
fn github_signs_the_body() {
    // The example of GitHub's own documentation.
    let right = "sha256=757107ea0eb2509fc211221cce984b8a37570b6d7586c22c46f4379c8b043e17";
    let name = "X-Hub-Signature-256";
    assert_eq!(check(Kind::Github, &secret(), &[(name, right)], b"Hello, World!"), Ok(()));
    assert_eq!(check(Kind::Github, &secret(), &[(name, right)], b"Hello, World?"), Err("signature_wrong"));
    assert_eq!(check(Kind::Github, &secret(), &[(name, &right[7..])], b"Hello, World!"), Err("signature_wrong"));
    assert_eq!(check(Kind::Github, &secret(), &[(name, "sha256=")], b"Hello, World!"), Err("signature_wrong"));
    assert_eq!(check(Kind::Github, &secret(), &[], b"Hello, World!"), Err("signature_missing"));
    let other = Secret::Text("another".to_owned());
    assert_eq!(check(Kind::Github, &other, &[(name, right)], b"Hello, World!"), Err("signature_wrong"));
}

#[test]
fn a_channel_without_a_secret_takes_nothing() {
    let none = Secret::Text(String::new());
    let empty_key = crate::blob::hex(&hmac_sha256("", &[b"x"]));
    let headers = [
        ("x-hub-signature-256", format!("sha256={empty_key}")),
        ("x-signature-256", format!("sha256={empty_key}")),
        ("x-slack-signature", "v0=00".to_owned()),
        ("x-slack-request-timestamp", "1700000000".to_owned()),
        ("x-telegram-bot-api-secret-token", String::new()),
        ("authorization", "Bearer ".to_owned()),
        ("webhook-id", "a".to_owned()),
        ("webhook-timestamp", "1700000000".to_owned()),
        ("webhook-signature", "v1,".to_owned()),
    ];
    let headers: Vec<(&str, &str)> = headers.iter().map(|(name, value)| (*name, value.as_str())).collect();
    for kind in [Kind::Hmac, Kind::Github, Kind::Slack, Kind::Telegram, Kind::Bearer, Kind::Standard] {
        assert_eq!(check(kind, &none, &headers, b"x"), Err("channel_secret_missing"), "{kind:?}");
    }
}

#[test]
fn slack_signs_the_time_too_and_late_ones_are_refused() {
    // The example of Slack's own documentation.
    let body = b"token=xyzz0WbapA4vBCDEFasx0q6G&team_id=T1DC2JH3J&team_domain=testteamnow&channel_id=G8PSS9T3V&channel_name=foobar&user_id=U2CERLKJA&user_name=roadrunner&command=%2Fwebhook-collect&text=&response_url=https%3A%2F%2Fhooks.slack.com%2Fcommands%2FT1DC2JH3J%2F397700885554%2F96rGlfmibIGlgcZRskXaIFfN&trigger_id=398738663015.47445629121.803a0bc887a14d10d2c447fce8b6703c";
    let headers = Headers::new([
        ("X-Slack-Signature", "v0=a2114d57b48eac39b9ad189dd8316235a7b4a8d21a10bd27519666489c69b503"),
        ("X-Slack-Request-Timestamp", "1531420618"),
    ]);
    let secret = Secret::Text("8f742231b10e8888abcd99yyyzzz85a5".to_owned());
    let at = |seconds: i64| {
        let now = Timestamp::from_millis(seconds * 1000);
        verify(Kind::Slack, &HmacHeader::default(), &secret, Request { headers: &headers, body, now })
    };
    assert_eq!(at(1_531_420_618), Ok(()));
    assert_eq!(at(1_531_420_618 + MAX_AGE_SECONDS), Ok(()));
    assert_eq!(at(1_531_420_618 + MAX_AGE_SECONDS + 1), Err(Refusal::Late));
    assert_eq!(at(1_531_420_618 - MAX_AGE_SECONDS - 1), Err(Refusal::Late), "from the future");
    let signature = ("x-slack-signature", "v0=00");
    for time in ["", "yesterday", "1700000000.5", "99999999999999999999", "-9223372036854775808"] {
        let said = check(Kind::Slack, &secret, &[signature, ("x-slack-request-timestamp", time)], b"");
        assert_eq!(said, Err("delivery_too_old"), "{time}");
    }
}

#[test]
fn a_plain_hmac_stands_where_the_channel_says() {
    let body = br#"{"message":"hi"}"#;
    let hex = crate::blob::hex(&hmac_sha256(SECRET, &[body]));
    let upper = format!("sha256={}", hex.to_uppercase());
    assert_eq!(check(Kind::Hmac, &secret(), &[("x-signature-256", &upper)], body), Ok(()));
    let elsewhere = HmacHeader {
        header: "X-Sig".to_owned(),
        prefix: String::new(),
        encoding: Encoding::Base64,
        timestamp_header: Some("x-time".to_owned()),
    };
    let signed = BASE64_STANDARD.encode(hmac_sha256(SECRET, &[b"1699999999.", body]));
    let with = |time: &str| {
        let headers = Headers::new([("x-sig", signed.as_str()), ("x-time", time)]);
        verify(Kind::Hmac, &elsewhere, &secret(), Request { headers: &headers, body, now: NOW })
    };
    assert_eq!(with("1699999999"), Ok(()));
    assert_eq!(with("1699999998"), Err(Refusal::SignatureWrong));
    assert_eq!(with("1600000000"), Err(Refusal::Late));
}

#[test]
fn secrets_that_are_only_compared_are_known_by_their_digest() {
    let known = Secret::Digest(digest(SECRET));
    let token = "x-telegram-bot-api-secret-token";
    assert_eq!(check(Kind::Telegram, &known, &[(token, SECRET)], b""), Ok(()));
    assert_eq!(check(Kind::Telegram, &known, &[(token, "It's")], b""), Err("signature_wrong"));
    let bearer = format!("bearer {SECRET}");
    assert_eq!(check(Kind::Bearer, &known, &[("Authorization", &bearer)], b""), Ok(()));
    assert_eq!(check(Kind::Bearer, &secret(), &[("Authorization", &bearer)], b""), Ok(()));
    for wrong in ["Bearer", "Bearer x", "Basic abc", SECRET] {
        assert_eq!(check(Kind::Bearer, &known, &[("Authorization", wrong)], b""), Err("signature_wrong"), "{wrong}");
    }
    assert_eq!(
        check(Kind::Github, &known, &[("x-hub-signature-256", "sha256=00")], b""),
        Err("channel_secret_missing")
    );
    assert_eq!(format!("{known:?}"), "Secret");
}

#[test]
fn standard_webhooks_may_be_signed_with_several_secrets() {
    let secret = Secret::Text(sign::secret(&[3; 24]));
    let Secret::Text(text) = &secret else { unreachable!() };
    let right = sign::sign(text, "msg_1", "1700000000", b"{}").unwrap();
    let given = |signature: &str, id: &str| {
        let headers = [("webhook-id", id), ("webhook-timestamp", "1700000000"), ("webhook-signature", signature)];
        check(Kind::Standard, &secret, &headers, b"{}")
    };
    assert_eq!(given(&right, "msg_1"), Ok(()));
    assert_eq!(given(&format!("v1,AAAA {right}"), "msg_1"), Ok(()));
    assert_eq!(given(&right, "msg_2"), Err("signature_wrong"));
    assert_eq!(given("v1,AAAA v1a,BBBB", "msg_1"), Err("signature_wrong"));
}
