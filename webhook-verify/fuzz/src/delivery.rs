//! Deliveries put together from good and bad pieces: bytes drawn at random would never
//! contain a tag that is right.

use arbitrary::Arbitrary;

use crate::oracle;

/// A delivery before its signature is written out.
#[derive(Arbitrary, Debug)]
pub struct Delivery {
    pub secrets: Vec<Vec<u8>>,
    pub timestamp: Timestamp,
    pub signature: Vec<Piece>,
    pub body: Vec<u8>,
    pub now: u64,
    pub tolerance: u64,
}

#[derive(Arbitrary, Debug)]
pub enum Timestamp {
    Raw(Vec<u8>),
    Near(i16),
    Padded(u64, u8),
}

#[derive(Arbitrary, Debug)]
pub enum Piece {
    Raw(Vec<u8>),
    Comma,
    Blank,
    Scheme,
    /// The right tag of one of the secrets.
    Tag(u8),
    /// The same in upper case.
    UpperTag(u8),
    /// The same with a digit turned into something else.
    WrongTag(u8, u8, u8),
    /// The same cut short.
    CutTag(u8, u8),
    /// So many commas.
    Commas(u8),
}

impl Delivery {
    pub fn timestamp(&self) -> Vec<u8> {
        match &self.timestamp {
            Timestamp::Raw(bytes) => bytes.clone(),
            Timestamp::Near(offset) => {
                let time = self.now.saturating_add_signed(i64::from(*offset));
                time.to_string().into_bytes()
            }
            Timestamp::Padded(time, zeros) => {
                let zeros = "0".repeat(usize::from(*zeros % 24));
                format!("{zeros}{time}").into_bytes()
            }
        }
    }

    pub fn signature(&self) -> Vec<u8> {
        let timestamp = self.timestamp();
        let tag = |which: &u8| match self.secrets.len() {
            0 => String::new(),
            len => oracle::tag(
                &self.secrets[usize::from(*which) % len],
                &timestamp,
                &self.body,
            ),
        };
        let mut header = Vec::new();
        for piece in &self.signature {
            match piece {
                Piece::Raw(bytes) => header.extend(bytes),
                Piece::Comma => header.push(b','),
                Piece::Blank => header.push(b' '),
                Piece::Scheme => header.extend(b"svc-v1="),
                Piece::Tag(which) => header.extend(tag(which).bytes()),
                Piece::UpperTag(which) => header.extend(tag(which).to_uppercase().bytes()),
                Piece::WrongTag(which, place, digit) => {
                    let mut tag = tag(which).into_bytes();
                    if let Some(place) = tag.get_mut(usize::from(*place % 64)) {
                        *place = *digit;
                    }
                    header.extend(tag);
                }
                Piece::CutTag(which, len) => {
                    header.extend(tag(which).bytes().take(usize::from(*len % 64)));
                }
                Piece::Commas(count) => header.resize(header.len() + usize::from(*count), b','),
            }
        }
        header
    }
}
