//! Writing boxes and big-endian numbers, 4.2.

/// Writes a box and fills in its size after writing the content.
pub(super) fn boxed(out: &mut Vec<u8>, kind: &[u8; 4], content: impl FnOnce(&mut Vec<u8>)) {
    let start = out.len();
    out.extend_from_slice(&[0; 4]);
    out.extend_from_slice(kind);
    content(out);
    let size = (out.len() - start) as u32;
    if let Some(field) = out.get_mut(start..start + 4) {
        field.copy_from_slice(&size.to_be_bytes());
    }
}

/// Writes a box with a version and flags.
pub(super) fn full(
    out: &mut Vec<u8>,
    kind: &[u8; 4],
    version: u8,
    flags: u32,
    content: impl FnOnce(&mut Vec<u8>),
) {
    boxed(out, kind, |out| {
        u32s(out, &[u32::from(version) << 24 | flags]);
        content(out);
    });
}

pub(super) fn u16s(out: &mut Vec<u8>, values: &[u16]) {
    for value in values {
        out.extend_from_slice(&value.to_be_bytes());
    }
}

pub(super) fn u32s(out: &mut Vec<u8>, values: &[u32]) {
    for value in values {
        out.extend_from_slice(&value.to_be_bytes());
    }
}
