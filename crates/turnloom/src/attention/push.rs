//! Web Push: the content is encrypted for one browser (RFC 8291, in the form of RFC 8188), and the request is signed with a key of the daemon's own
//! (RFC 8292), so that the push service reads nothing and nobody else can use the subscription.

use base64::Engine as _;
use base64::prelude::{BASE64_STANDARD, BASE64_URL_SAFE_NO_PAD};
use ring::aead::{AES_128_GCM, Aad, LessSafeKey, NONCE_LEN, Nonce, UnboundKey};
use ring::agreement::{self, ECDH_P256, EphemeralPrivateKey, UnparsedPublicKey};
use ring::hkdf::{HKDF_SHA256, KeyType, Salt};
use ring::rand::{SecureRandom as _, SystemRandom};
use ring::signature::{ECDSA_P256_SHA256_FIXED_SIGNING, EcdsaKeyPair, KeyPair as _};
use serde_json::json;
use turnloom_core::time::Timestamp;
use turnloom_core::webhook::address::Target;

use super::{Error, PushKeys};
use crate::secrets::{NewSecret, SecretSource, Secrets};

/// What the daemon's own key is called among the secrets.
const SECRET: &str = "notification/vapid";

/// How long a signature is good; services take at most a day.
const SIGNED_FOR_SECONDS: i64 = 12 * 3600;

/// What a push service is told of who sends, unless the settings say it.
const CONTACT: &str = "mailto:turnloom@example.com";

const PUBLIC_KEY_BYTES: usize = 65;
const AUTH_BYTES: usize = 16;
const SALT_BYTES: usize = 16;

/// The size of the one record: what every service takes.
const RECORD_SIZE: u32 = 4096;

/// What fits into one record besides its header, its end and its tag.
const MAX_CONTENT_BYTES: usize = 4096 - 86 - 17;

/// The key by which browsers know this daemon.
pub(super) struct Vapid(EcdsaKeyPair);

impl Vapid {
    /// The key that is kept, or a new one.
    pub(super) fn open(secrets: &Secrets) -> Result<Self, Error> {
        let broken = |what: &str| Error::Invalid(format!("the key for push messages {what}"));
        let kept = secrets.find(SECRET, &SecretSource::Stored {});
        let pkcs8 = if let Some(kept) = kept {
            BASE64_STANDARD.decode(kept).map_err(|_| broken("is not what was kept"))?
        } else {
            let made = EcdsaKeyPair::generate_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &SystemRandom::new());
            let made = made.map_err(|_| broken("cannot be made"))?;
            let value = Some(BASE64_STANDARD.encode(made.as_ref()));
            secrets.keep(SECRET, NewSecret { value, ..NewSecret::default() })?;
            made.as_ref().to_vec()
        };
        let pair = EcdsaKeyPair::from_pkcs8(&ECDSA_P256_SHA256_FIXED_SIGNING, &pkcs8, &SystemRandom::new());
        pair.map(Self).map_err(|_| broken("is not what was kept"))
    }

    /// In base64url, as browsers take it.
    pub(super) fn public_key(&self) -> String {
        BASE64_URL_SAFE_NO_PAD.encode(self.0.public_key().as_ref())
    }

    /// The `Authorization` of a request to a push service.
    pub(super) fn authorization(&self, endpoint: &Target, contact: Option<&str>, now: Timestamp) -> Option<String> {
        let scheme = if endpoint.secure { "https" } else { "http" };
        let header = json!({ "typ": "JWT", "alg": "ES256" });
        let claims = json!({
            "aud": format!("{scheme}://{}", endpoint.authority()),
            "exp": now.millis() / 1000 + SIGNED_FOR_SECONDS,
            "sub": contact.unwrap_or(CONTACT),
        });
        let encode = |value: String| BASE64_URL_SAFE_NO_PAD.encode(value);
        let signed = format!("{}.{}", encode(header.to_string()), encode(claims.to_string()));
        let signature = self.0.sign(&SystemRandom::new(), signed.as_bytes()).ok()?;
        let signature = BASE64_URL_SAFE_NO_PAD.encode(signature.as_ref());
        Some(format!("vapid t={signed}.{signature}, k={}", self.public_key()))
    }
}

/// What is wrong with the keys that a browser gave.
pub(super) fn check_keys(keys: &PushKeys) -> Result<(), String> {
    let (public, auth) = decode(keys).ok_or("`keys` of a subscription are in base64url")?;
    // Only a point of the curve agrees on anything.
    let is_point = EphemeralPrivateKey::generate(&ECDH_P256, &SystemRandom::new())
        .and_then(|own| agreement::agree_ephemeral(own, &UnparsedPublicKey::new(&ECDH_P256, &public), |_| ()));
    if public.len() != PUBLIC_KEY_BYTES || is_point.is_err() {
        return Err("`p256dh` is not a public key of P-256".to_owned());
    }
    if auth.len() != AUTH_BYTES {
        return Err(format!("`auth` has {AUTH_BYTES} bytes"));
    }
    Ok(())
}

/// Some browsers pad what the others do not.
fn decode(keys: &PushKeys) -> Option<(Vec<u8>, Vec<u8>)> {
    let bytes = |text: &str| BASE64_URL_SAFE_NO_PAD.decode(text.trim_end_matches('=')).ok();
    Some((bytes(&keys.p256dh)?, bytes(&keys.auth)?))
}

/// Content that only this browser can read.
pub(super) fn encrypt(keys: &PushKeys, content: &[u8]) -> Option<Vec<u8>> {
    let (theirs, auth) = decode(keys)?;
    let random = SystemRandom::new();
    let own = EphemeralPrivateKey::generate(&ECDH_P256, &random).ok()?;
    let own_public = own.compute_public_key().ok()?;
    let mut salt = [0; SALT_BYTES];
    random.fill(&mut salt).ok()?;
    let peer = UnparsedPublicKey::new(&ECDH_P256, &theirs);
    let keys = (theirs.as_slice(), own_public.as_ref());
    agreement::agree_ephemeral(own, &peer, |shared| seal(shared, &auth, keys, &salt, content)).ok()?
}

/// One record, from everything that is known to both or chosen by us.
fn seal(
    shared: &[u8],
    auth: &[u8],
    (theirs, own): (&[u8], &[u8]),
    salt: &[u8; SALT_BYTES],
    content: &[u8],
) -> Option<Vec<u8>> {
    if content.len() > MAX_CONTENT_BYTES {
        return None;
    }
    let mut input = [0; 32];
    derive(auth, shared, &[b"WebPush: info\0", theirs, own], &mut input)?;
    let (mut key, mut nonce) = ([0; 16], [0; NONCE_LEN]);
    derive(salt, &input, &[b"Content-Encoding: aes128gcm\0"], &mut key)?;
    derive(salt, &input, &[b"Content-Encoding: nonce\0"], &mut nonce)?;
    // Two is the end of the last record.
    let mut sealed = [content, &[2]].concat();
    let key = LessSafeKey::new(UnboundKey::new(&AES_128_GCM, &key).ok()?);
    key.seal_in_place_append_tag(Nonce::assume_unique_for_key(nonce), Aad::empty(), &mut sealed).ok()?;
    let length = u8::try_from(own.len()).ok()?;
    Some([salt.as_slice(), &RECORD_SIZE.to_be_bytes(), &[length], own, &sealed].concat())
}

struct Length(usize);

impl KeyType for Length {
    fn len(&self) -> usize {
        self.0
    }
}

fn derive(salt: &[u8], input: &[u8], info: &[&[u8]], out: &mut [u8]) -> Option<()> {
    let extracted = Salt::new(HKDF_SHA256, salt).extract(input);
    extracted.expand(info, Length(out.len())).ok()?.fill(out).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn bytes(text: &str) -> Vec<u8> {
        BASE64_URL_SAFE_NO_PAD.decode(text).unwrap()
    }

    /// RFC 8291, appendix A.
    #[test]
    fn the_example_of_the_standard_is_made_as_it_stands_there() {
        let shared = bytes("kyrL1jIIOHEzg3sM2ZWRHDRB62YACZhhSlknJ672kSs");
        let auth = bytes("BTBZMqHH6r4Tts7J_aSIgg");
        let theirs = bytes("BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4");
        let own = bytes("BP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A8");
        let salt = bytes("DGv6ra1nlYgDCS1FRnbzlw").try_into().unwrap();
        let content = b"When I grow up, I want to be a watermelon";
        let sealed = seal(&shared, &auth, (&theirs, &own), &salt, content).unwrap();
        let expected = "DGv6ra1nlYgDCS1FRnbzlwAAEABBBP4z9KsN6nGRTbVYI_c7VJSPQTBtkgcy27mlmlMoZIIgDll6e3vCYLocInmYWAmS6TlzAC8wEqKK6PBru3jl7A_yl95bQpu6cVPTpK4Mqgkf1CXztLVBSt2Ks3oZwbuwXPXLWyouBWLVWGNWQexSgSxsj_Qulcy4a-fN";
        assert_eq!(BASE64_URL_SAFE_NO_PAD.encode(sealed), expected);
    }

    #[test]
    fn no_two_messages_are_alike_and_none_is_too_long() {
        let keys = PushKeys {
            p256dh: "BCVxsr7N_eNgVRqvHtD0zTZsEc6-VV-JvLexhqUzORcxaOzi6-AYWXvTBHm4bjyPjs7Vd8pZGH6SRpkNtoIAiw4="
                .to_owned(),
            auth: "BTBZMqHH6r4Tts7J_aSIgg".to_owned(),
        };
        check_keys(&keys).unwrap();
        assert_ne!(encrypt(&keys, b"a").unwrap(), encrypt(&keys, b"a").unwrap());
        assert_eq!(encrypt(&keys, &[0; MAX_CONTENT_BYTES]).unwrap().len(), 4096);
        assert_eq!(encrypt(&keys, &[0; MAX_CONTENT_BYTES + 1]), None);
        let not_a_point = BASE64_URL_SAFE_NO_PAD.encode([[4].as_slice(), &[7; 64]].concat());
        for p256dh in ["", "BCVx", "&", not_a_point.as_str()] {
            let keys = PushKeys { p256dh: p256dh.to_owned(), ..keys.clone() };
            assert!(check_keys(&keys).is_err(), "{p256dh}");
        }
        assert!(check_keys(&PushKeys { auth: "BTBZ".to_owned(), ..keys }).is_err());
    }
}
