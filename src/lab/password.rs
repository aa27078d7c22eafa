//! Passwords of servers that listen on TCP, and the SCRAM verifier stored for them.
//! Setting it in a server (`ALTER ROLE … PASSWORD`) is done by whoever speaks SQL.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use hmac::{Hmac, KeyInit, Mac};
use sha2::{Digest, Sha256};

/// A random password: 256 bits as 64 hexadecimal digits (ASCII, so SASLprep leaves it be).
pub fn random_password() -> Result<String, getrandom::Error> {
    let mut bytes = [0_u8; 32];
    getrandom::fill(&mut bytes)?;
    Ok(super::hexadecimal(&bytes))
}

/// A random salt for [`scram_verifier`], of the length the server itself uses.
pub fn random_salt() -> Result<[u8; 16], getrandom::Error> {
    let mut bytes = [0_u8; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes)
}

/// The verifier `SCRAM-SHA-256$1:<salt>$<StoredKey>:<ServerKey>` (RFC 5803; the server takes
/// it in place of a plain password), with *one* iteration of PBKDF2.
///
/// Iterations slow down the guessing of weak passwords. Ours is 256 random bits, which
/// nobody guesses at any speed. The client performs them, and apply workers and walreceivers
/// are clients: the usual 4096 would cost CPU inside a measured server at each connection.
pub fn scram_verifier(password: &str, salt: &[u8]) -> String {
    // PBKDF2 with one iteration is HMAC(password, salt || INT(1)), RFC 8018, 5.2.
    let salted = hmac_sha256(password.as_bytes(), &[salt, &1_u32.to_be_bytes()].concat());
    let stored_key = Sha256::digest(hmac_sha256(&salted, b"Client Key"));
    let server_key = hmac_sha256(&salted, b"Server Key");
    format!("SCRAM-SHA-256$1:{}${}:{}", STANDARD.encode(salt), STANDARD.encode(stored_key), STANDARD.encode(server_key))
}

fn hmac_sha256(key: &[u8], message: &[u8]) -> Vec<u8> {
    let mut mac = Hmac::<Sha256>::new_from_slice(key).expect("HMAC takes a key of any length");
    mac.update(message);
    mac.finalize().into_bytes().to_vec()
}

#[cfg(test)]
mod tests {
    #![expect(clippy::unwrap_used, reason = "tests")]

    use super::*;

    #[test]
    fn passwords_are_long_and_differ() {
        let (one, two) = (random_password().unwrap(), random_password().unwrap());
        assert_eq!(one.len(), 64);
        assert_ne!(one, two);
    }

    /// Computed apart with Python's `hashlib.pbkdf2_hmac` and `hmac`.
    #[test]
    fn the_verifier_agrees_with_an_independent_computation() {
        assert_eq!(
            scram_verifier("secret", b"0123456789abcdef"),
            "SCRAM-SHA-256$1:MDEyMzQ1Njc4OWFiY2RlZg==$rb2i4FWE8CCi1HDhnBxhv8/uERf3QN6tiTjE4qSdliQ=:gWfVquF9Vgm4YA/KIyjllnL4Zn6B7unP+DKFnilYEAg="
        );
    }
}
