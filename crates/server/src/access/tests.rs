use super::*;
use std::os::unix::fs::PermissionsExt;

#[test]
fn a_token_is_known_until_it_is_revoked_and_is_in_no_file() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("scumble.ledger");
    assert!(list(&ledger).unwrap().is_empty());
    let token = add(&ledger, "ada", Role::Analyst).unwrap();
    assert!(token.len() == 64 && token.chars().all(|letter| letter.is_ascii_hexdigit()));
    let other = add(&ledger, "bob", Role::Viewer).unwrap();
    let who = |token: &str| AccessList::read(&ledger).unwrap().who(token).map(|entry| (entry.name.clone(), entry.role));
    assert_eq!(who(&token), Some(("ada".to_string(), Role::Analyst)));
    assert_eq!(who(&other), Some(("bob".to_string(), Role::Viewer)));
    assert_eq!(who(&token.to_uppercase()), None);
    assert_eq!(who(""), None);
    let path = folder.path().join("scumble.ledger.access");
    let text = std::fs::read_to_string(&path).unwrap();
    assert!(!text.contains(&token) && text.contains(&scumble_engine::digest(token.as_bytes())));
    assert_eq!(std::fs::metadata(&path).unwrap().permissions().mode() & 0o777, 0o600);
    revoke(&ledger, "ada").unwrap();
    assert_eq!(who(&token), None);
    assert!(list(&ledger).unwrap()[0].revoked.is_some());
    let again = add(&ledger, "ada", Role::Curator).unwrap();
    assert_eq!((who(&token), who(&again).map(|one| one.1)), (None, Some(Role::Curator)));
    assert_eq!(std::fs::read_dir(folder.path()).unwrap().count(), 1, "no temporary file is left");
}

#[test]
fn what_is_wrong_is_said_in_a_sentence() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("scumble.ledger");
    let said = |result: Result<String>| result.unwrap_err().to_string();
    for name in ["", "Ada", "a b", "../x", "-a", "curator", "a\nb", &"x".repeat(64)] {
        assert!(said(add(&ledger, name, Role::Viewer)).contains("cannot be a name"), "{name:?}");
    }
    add(&ledger, "ada", Role::Viewer).unwrap();
    assert!(said(add(&ledger, "ada", Role::Viewer)).contains("has access already"));
    assert!(revoke(&ledger, "adda").unwrap_err().to_string().contains("did you mean 'ada'?"));
    let path = folder.path().join("scumble.ledger.access");
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o644)).unwrap();
    assert!(list(&ledger).unwrap_err().to_string().contains("chmod 600"));
    std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o600)).unwrap();
    std::fs::write(&path, "{}").unwrap();
    assert!(list(&ledger).unwrap_err().to_string().contains("not in a form"));
    std::fs::remove_file(&path).unwrap();
    std::os::unix::fs::symlink("/dev/zero", &path).unwrap();
    assert!(list(&ledger).unwrap_err().to_string().contains("not an access file of scumble"));
}

/// Names that nobody has had other salts after each restart, and names that somebody has had not: who waited for a
/// restart knew who is there.
#[test]
fn the_salt_of_a_name_never_changes() {
    let folder = tempfile::tempdir().unwrap();
    let ledger = folder.path().join("scumble.ledger");
    prepare(&ledger).unwrap();
    let challenge = |name: &str| AccessList::read(&ledger).unwrap().challenge(name);
    let (before, other) = (challenge("ada"), challenge("bob"));
    assert_ne!(before.salt, other.salt);
    prepare(&ledger).unwrap();
    assert_eq!((challenge("ada"), challenge("bob")), (before.clone(), other.clone()));
    let token = add(&ledger, "ada", Role::Viewer).unwrap();
    let added = challenge("ada");
    assert_eq!(added, ScramVerifier::with_salt(&token, before.salt.clone()));
    assert_eq!((added.salt, added.iterations), (before.salt.clone(), before.iterations));
    revoke(&ledger, "ada").unwrap();
    assert_eq!(challenge("ada"), before, "whoever was revoked is nobody");
    add(&ledger, "ada", Role::Curator).unwrap();
    assert_eq!((challenge("ada").salt, challenge("bob")), (before.salt, other));
}

/// A file of an earlier version has no secret: it gets one, and who is in it keeps what they have.
#[test]
fn a_file_of_before_gets_a_secret() {
    let folder = tempfile::tempdir().unwrap();
    let (ledger, path) = (folder.path().join("scumble.ledger"), folder.path().join("scumble.ledger.access"));
    let token = add(&ledger, "ada", Role::Analyst).unwrap();
    let mut shown: serde_json::Value = serde_json::from_str(&std::fs::read_to_string(&path).unwrap()).unwrap();
    shown.as_object_mut().unwrap().remove("secret");
    std::fs::write(&path, shown.to_string()).unwrap();
    prepare(&ledger).unwrap();
    let access = AccessList::read(&ledger).unwrap();
    assert!(access.who(&token).is_some() && access.challenge("nobody") != AccessList::default().challenge("nobody"));
}
