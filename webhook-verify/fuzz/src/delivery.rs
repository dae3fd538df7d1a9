//! Deliveries generated from valid and invalid parts. Random bytes alone would never contain a
//! correct tag.

use arbitrary::Arbitrary;

use crate::oracle;

/// A description of a delivery, from which its headers are generated.
#[derive(Arbitrary, Debug)]
pub struct Delivery {
    pub secrets: Vec<Vec<u8>>,
    pub timestamp: Timestamp,
    pub signature: Vec<SignaturePart>,
    pub body: Vec<u8>,
    pub now: u64,
    pub tolerance: u64,
}

/// The timestamp header.
#[derive(Arbitrary, Debug)]
pub enum Timestamp {
    Raw(Vec<u8>),
    /// An offset from `now`.
    NearNow(i16),
    /// A number, and how many zeros precede it.
    ZeroPadded(u64, u8),
}

/// A part of the signature header. The parts are concatenated.
#[derive(Arbitrary, Debug)]
pub enum SignaturePart {
    Raw(Vec<u8>),
    Comma,
    Space,
    Scheme,
    /// The correct tag for the secret with this index.
    Tag(u8),
    /// The correct tag in upper case.
    UpperTag(u8),
    /// The correct tag with the byte at a position replaced.
    ModifiedTag(u8, u8, u8),
    /// The correct tag truncated to a length.
    TruncatedTag(u8, u8),
    /// A number of commas.
    Commas(u8),
}

impl Delivery {
    /// Returns the value of the timestamp header.
    pub fn timestamp(&self) -> Vec<u8> {
        match &self.timestamp {
            Timestamp::Raw(bytes) => bytes.clone(),
            Timestamp::NearNow(offset) => {
                let time = self.now.saturating_add_signed(i64::from(*offset));
                time.to_string().into_bytes()
            }
            Timestamp::ZeroPadded(time, zeros) => {
                let zeros = "0".repeat(usize::from(*zeros % 24));
                format!("{zeros}{time}").into_bytes()
            }
        }
    }

    /// Returns the value of the signature header.
    pub fn signature(&self) -> Vec<u8> {
        let timestamp = self.timestamp();
        let tag = |index: &u8| match self.secrets.len() {
            0 => String::new(),
            len => oracle::tag(&self.secrets[usize::from(*index) % len], &timestamp, &self.body),
        };
        let mut header = Vec::new();
        for part in &self.signature {
            match part {
                SignaturePart::Raw(bytes) => header.extend(bytes),
                SignaturePart::Comma => header.push(b','),
                SignaturePart::Space => header.push(b' '),
                SignaturePart::Scheme => header.extend(b"svc-v1="),
                SignaturePart::Tag(index) => header.extend(tag(index).bytes()),
                SignaturePart::UpperTag(index) => header.extend(tag(index).to_uppercase().bytes()),
                SignaturePart::ModifiedTag(index, position, byte) => {
                    let mut tag = tag(index).into_bytes();
                    if let Some(slot) = tag.get_mut(usize::from(*position % 64)) {
                        *slot = *byte;
                    }
                    header.extend(tag);
                }
                SignaturePart::TruncatedTag(index, len) => {
                    header.extend(tag(index).bytes().take(usize::from(*len % 64)));
                }
                SignaturePart::Commas(count) => {
                    header.resize(header.len() + usize::from(*count), b',')
                }
            }
        }
        header
    }
}
