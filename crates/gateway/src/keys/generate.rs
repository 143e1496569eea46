//! Generates client keys.

use std::fmt;

use base64::Engine;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use secrecy::{ExposeSecret, SecretString};

use super::hash::{hex, sha256};

/// Prefix of generated keys, for secret scanners and people.
const PREFIX: &str = "mj-";

/// A newly generated key; it is not stored anywhere.
#[non_exhaustive]
pub struct NewKey {
    /// The key, to be shown once.
    pub secret: SecretString,
    /// The entry for the configuration file.
    pub entry: String,
}

/// Generates a key of 32 random bytes; fails only if the system has no random bytes.
///
/// ```
/// use majordomo_gateway::generate_key;
///
/// let key = generate_key("laptop").unwrap();
/// assert!(key.entry.starts_with("[[keys]]\nname = \"laptop\"\nhash = \"sha256:"));
/// ```
pub fn generate_key(name: &str) -> std::io::Result<NewKey> {
    let (secret, hash) = generate_secret()?;
    let entry = format!(
        "[[keys]]\nname = {}\nhash = \"sha256:{hash}\"\n",
        quoted(name)
    );
    Ok(NewKey { secret, entry })
}

/// Generates a secret of 32 random bytes, and its SHA-256 in hexadecimal digits.
pub(crate) fn generate_secret() -> std::io::Result<(SecretString, String)> {
    let mut random = [0; 32];
    getrandom::fill(&mut random).map_err(|error| std::io::Error::other(error.to_string()))?;
    let secret = SecretString::from(format!("{PREFIX}{}", URL_SAFE_NO_PAD.encode(random)));
    let hash = hash_of(secret.expose_secret());
    Ok((secret, hash))
}

/// The SHA-256 of a secret, in hexadecimal digits.
pub(crate) fn hash_of(secret: &str) -> String {
    hex(&sha256(secret))
}

/// Quotes a text for the file; `$${` prevents substitution.
pub(crate) fn quoted(string: &str) -> String {
    let mut text = String::from('"');
    for c in string.replace("${", "$${").chars() {
        match c {
            '"' | '\\' => text.extend(['\\', c]),
            c if c.is_control() => text.push_str(&format!("\\u{:04X}", u32::from(c))),
            c => text.push(c),
        }
    }
    text.push('"');
    text
}

impl fmt::Debug for NewKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("NewKey").finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;
    use crate::config::Config;
    use crate::keys::ClientKeys;

    #[test]
    fn the_generated_entry_recognizes_its_key_for_any_name() {
        for name in ["laptop", "Ada's \"big\" box\\", "a ${b}", "tab\there"] {
            let made = generate_key(name).unwrap();
            let config = Config::parse("f", made.entry.clone(), &BTreeMap::new()).unwrap();
            let keys = ClientKeys::new(&config.keys, &config.teams);
            let key = keys.check(made.secret.expose_secret(), 0).expect(name);
            assert_eq!(key.name(), name);
        }
    }

    #[test]
    fn generated_keys_have_32_random_bytes_and_a_prefix() {
        let (one, two) = (generate_key("a").unwrap(), generate_key("a").unwrap());
        assert!(one.secret.expose_secret().starts_with(PREFIX));
        assert_eq!(one.secret.expose_secret().len(), PREFIX.len() + 43);
        assert_ne!(one.secret.expose_secret(), two.secret.expose_secret());
        assert!(!format!("{one:?}").contains(PREFIX));
    }
}
