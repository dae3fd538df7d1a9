//! Exact amounts of US dollars.

use std::fmt;
use std::iter::Sum;
use std::str::FromStr;

use serde::de::{self, Deserializer, Visitor};
use serde::{Deserialize, Serialize, Serializer};

use super::json_schema::json_schema;

/// An exact amount of US dollars, stored as an integer number of micros (millionths of a dollar).
///
/// In JSON it is a decimal string with four to six decimal places, such as `"0.7035"`. Numbers are
/// read as well.
///
/// ```
/// use svc_sdk::types::Usd;
///
/// let per_second: Usd = "0.1407".parse()?;
/// let price = per_second.checked_mul(5);
/// assert_eq!(price, Some(Usd::from_micros(703_500)));
/// assert_eq!(Usd::from_micros(703_500).to_string(), "0.7035");
/// # Ok::<(), svc_sdk::types::ParseUsdError>(())
/// ```
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Usd {
    micros: i64,
}

/// An error returned when parsing a [`Usd`] fails.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ParseUsdError {
    text: String,
}

impl fmt::Display for ParseUsdError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "invalid amount `{}`: expected dollars, such as 0.50", self.text)
    }
}

impl std::error::Error for ParseUsdError {}

impl Usd {
    /// Zero dollars.
    pub const ZERO: Self = Self { micros: 0 };

    /// Creates an amount from micros (millionths of a dollar).
    #[must_use]
    pub const fn from_micros(micros: i64) -> Self {
        Self { micros }
    }

    /// Creates an amount from cents, or returns `None` on overflow.
    #[must_use]
    pub const fn from_cents(cents: i64) -> Option<Self> {
        match cents.checked_mul(10_000) {
            Some(micros) => Some(Self { micros }),
            None => None,
        }
    }

    /// Returns the amount in micros (millionths of a dollar).
    #[must_use]
    pub const fn as_micros(self) -> i64 {
        self.micros
    }

    /// Adds two amounts, or returns `None` on overflow.
    #[must_use]
    pub const fn checked_add(self, other: Self) -> Option<Self> {
        match self.micros.checked_add(other.micros) {
            Some(micros) => Some(Self { micros }),
            None => None,
        }
    }

    /// Subtracts an amount, or returns `None` on overflow.
    #[must_use]
    pub const fn checked_sub(self, other: Self) -> Option<Self> {
        match self.micros.checked_sub(other.micros) {
            Some(micros) => Some(Self { micros }),
            None => None,
        }
    }

    /// Multiplies the amount by an integer, or returns `None` on overflow.
    #[must_use]
    pub const fn checked_mul(self, factor: i64) -> Option<Self> {
        match self.micros.checked_mul(factor) {
            Some(micros) => Some(Self { micros }),
            None => None,
        }
    }

    /// Rounds the amount up to a multiple of 0.0001 USD, the unit of prices.
    #[must_use]
    pub const fn round_up_to_price_unit(self) -> Self {
        let rest = self.micros.rem_euclid(100);
        if rest == 0 { self } else { Self { micros: self.micros.saturating_add(100 - rest) } }
    }

    /// Returns whether the amount, parsed from the text, is written like it.
    pub(super) fn is_written_as(self, text: &str) -> bool {
        let Some((dollars, fraction)) = text.trim_start_matches('-').split_once('.') else {
            return false;
        };
        let is_negative = text.starts_with('-');
        is_negative == (self.micros < 0)
            && (dollars == "0" || !dollars.starts_with('0'))
            && (fraction.len() == 4 || fraction.len() > 4 && !fraction.ends_with('0'))
    }
}

impl fmt::Display for Usd {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let magnitude = self.micros.unsigned_abs();
        let (dollars, micros) = (magnitude / 1_000_000, magnitude % 1_000_000);
        let sign = if self.micros < 0 { "-" } else { "" };
        let text = if micros % 100 == 0 {
            format!("{sign}{dollars}.{:04}", micros / 100)
        } else {
            let digits = format!("{micros:06}");
            format!("{sign}{dollars}.{}", digits.trim_end_matches('0'))
        };
        f.pad(&text)
    }
}

impl FromStr for Usd {
    type Err = ParseUsdError;

    fn from_str(text: &str) -> Result<Self, Self::Err> {
        parse(text).ok_or_else(|| ParseUsdError { text: text.chars().take(40).collect() })
    }
}

fn parse(text: &str) -> Option<Usd> {
    let (sign, digits) = match text.strip_prefix('-') {
        Some(rest) => (-1, rest),
        None => (1, text),
    };
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, "0"));
    let all_digits = |part: &str| !part.is_empty() && part.bytes().all(|b| b.is_ascii_digit());
    if !all_digits(whole) || !all_digits(fraction) {
        return None;
    }
    let fraction = fraction.trim_end_matches('0');
    if fraction.len() > 6 {
        return None;
    }
    let dollars: i64 = whole.parse().ok()?;
    let digit = |place| fraction.as_bytes().get(place).map_or(0, |byte| byte - b'0');
    let micros = (0..6).fold(0, |micros, place| micros * 10 + i64::from(digit(place)));
    let micros = dollars.checked_mul(sign * 1_000_000)?.checked_add(sign * micros)?;
    Some(Usd { micros })
}

impl Sum for Usd {
    fn sum<I: Iterator<Item = Self>>(amounts: I) -> Self {
        Self { micros: amounts.fold(0, |sum, amount| sum.saturating_add(amount.micros)) }
    }
}

json_schema! { Usd {
    "description": "An exact amount of US dollars, as a decimal string.",
    "type": "string",
    "pattern": "^-?[0-9]+\\.[0-9]{4,6}$",
    "examples": ["0.7035"],
} }

impl Serialize for Usd {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.collect_str(self)
    }
}

impl<'de> Deserialize<'de> for Usd {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct Amount;

        impl Visitor<'_> for Amount {
            type Value = Usd;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an amount of dollars as a decimal string or a number")
            }

            fn visit_str<E: de::Error>(self, text: &str) -> Result<Usd, E> {
                text.parse().map_err(E::custom)
            }

            fn visit_i64<E: de::Error>(self, dollars: i64) -> Result<Usd, E> {
                Usd::from_micros(1_000_000)
                    .checked_mul(dollars)
                    .ok_or_else(|| E::custom("amount out of range"))
            }

            fn visit_u64<E: de::Error>(self, dollars: u64) -> Result<Usd, E> {
                let dollars = i64::try_from(dollars).map_err(E::custom)?;
                self.visit_i64(dollars)
            }

            /// Parses the shortest decimal representation, which is what the sender wrote.
            fn visit_f64<E: de::Error>(self, dollars: f64) -> Result<Usd, E> {
                self.visit_str(&dollars.to_string())
            }
        }

        deserializer.deserialize_any(Amount)
    }
}

#[cfg(test)]
mod properties;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn displays_four_to_six_decimal_places() {
        let rows = [
            (0, "0.0000"),
            (703_500, "0.7035"),
            (100, "0.0001"),
            (1, "0.000001"),
            (120, "0.00012"),
            (100_000_000, "100.0000"),
            (-703_500, "-0.7035"),
            (-1, "-0.000001"),
            (i64::MIN, "-9223372036854.775808"),
        ];
        for (micros, text) in rows {
            assert_eq!(Usd::from_micros(micros).to_string(), text);
            assert_eq!(text.parse(), Ok(Usd::from_micros(micros)));
            assert!(Usd::from_micros(micros).is_written_as(text));
        }
        for text in ["0", "1.5", "0.70350", "0.1000000", "00.5000", "-0.0000", "01.2345"] {
            assert!(!text.parse::<Usd>().unwrap().is_written_as(text), "{text}");
        }
    }

    #[test]
    fn rejects_invalid_amounts() {
        let malformed = ["", ".", "1.", ".5", "1e3", "+1", "--1", "0x1", " 1", "1,5"];
        let beyond =
            ["1.2345678", "9999999999999999", "9223372036854.775808", "-9223372036854.775809"];
        for text in malformed.into_iter().chain(beyond) {
            assert!(text.parse::<Usd>().is_err(), "{text:?}");
        }
        assert_eq!(
            "abc".parse::<Usd>().unwrap_err().to_string(),
            "invalid amount `abc`: expected dollars, such as 0.50"
        );
    }

    #[test]
    fn deserializes_numbers_and_strings() {
        for json in ["\"0.7035\"", "0.7035", "0.703500"] {
            assert_eq!(serde_json::from_str::<Usd>(json).unwrap().as_micros(), 703_500, "{json}");
        }
        assert_eq!(serde_json::from_str::<Usd>("100").unwrap().to_string(), "100.0000");
        assert!(serde_json::from_str::<Usd>("1e300").is_err());
    }

    #[test]
    fn display_respects_the_width() {
        assert_eq!(format!("{:>8}", Usd::from_micros(-500_000)), " -0.5000");
    }
}
