#!/usr/bin/env python3
"""Generates vectors.json: valid and invalid deliveries, with the expected result of each.

    python3 webhook-verify/vectors/generate.py > webhook-verify/vectors/vectors.json

The signatures are computed with the standard library's hmac, and the expected results follow
the service's specification, so the vectors are independent of the Rust code. README.md describes
the format.
"""

import hashlib
import hmac
import json
import sys

NOW = 1_700_000_000
MAX = 2**64 - 1
NEWEST, PREVIOUS, OTHER = "whsec_newest", "whsec_previous", "whsec_other"
BODY = '{"event":"job.completed","job_id":"job_123"}'
BODY_BYTES = BODY.encode()

cases = []


def tag(body=BODY_BYTES, timestamp=NOW, secret=NEWEST, algorithm=hashlib.sha256):
    """Returns the hex digits that follow `svc-v1=`."""
    key = secret if isinstance(secret, bytes) else secret.encode()
    prefix = timestamp if isinstance(timestamp, bytes) else str(timestamp).encode()
    return hmac.new(key, prefix + b"." + body, algorithm).hexdigest()


def entry(*args, **kwargs):
    return "svc-v1=" + tag(*args, **kwargs)


def as_json(value):
    """Returns text unchanged, and bytes that are not UTF-8 as hex."""
    if isinstance(value, str):
        return value
    try:
        return value.decode()
    except UnicodeDecodeError:
        return {"hex": value.hex()}


def lines(value):
    if value is None:
        return []
    return [as_json(line) for line in (value if isinstance(value, list) else [value])]


def case(name, expect, *, signature=None, timestamp=NOW, body=BODY_BYTES, secrets=(NEWEST,),
         now=NOW, tolerance=300, default_signature=True):
    """Adds a case. `expect` is the index of the matching secret, or the reason for rejection."""
    if signature is None and default_signature:
        signature = entry(body=body, timestamp=timestamp, secret=secrets[0])
    accept = isinstance(expect, int)
    cases.append({
        "name": name,
        "secrets": [as_json(secret) for secret in secrets],
        "timestamp": lines(str(timestamp) if isinstance(timestamp, int) else timestamp),
        "signature": lines(signature),
        "body": as_json(body),
        "now": str(now),
        "tolerance": str(tolerance),
        "expect": {"accept": True, "secret": expect} if accept else
                  {"accept": False, "reason": expect},
    })


valid = entry()
wrong = "svc-v1=" + "0" * 64
previous = entry(secret=PREVIOUS)
both = (NEWEST, PREVIOUS)

# Valid deliveries with different bodies.
case("genuine", 0)
case("empty body", 0, body=b"")
case("binary body", 0, body=b"\x00\xff\xfe\x80")
case("body of every byte", 0, body=bytes(range(256)))
case("body of one newline", 0, body=b"\n")
case("body with CRLF", 0, body=b'{"event":\r\n"x"}')
case("body in UTF-8", 0, body='{"prompt":"ein Fuchs 🦊"}'.encode())
case("body with a byte order mark", 0, body=b"\xef\xbb\xbf{}")
case("body with a lone surrogate", 0, body=b"\xed\xa0\x80")
case("body that is not JSON", 0, body=b"hello")
case("body that begins with a dot", 0, body=b".{}")
case("body that looks like a signed message", 0, body=b"1700000000.{}")
case("body of 63 bytes", 0, body=b"x" * 63)
case("body of 64 bytes", 0, body=b"x" * 64)
case("body of 65 bytes", 0, body=b"x" * 65)
case("body of 10000 bytes", 0, body=b"x" * 10_000)

# Bodies that differ from the signed one.
case("body truncated at its end", "signature_mismatch", signature=valid, body=BODY_BYTES[:-1])
case("body truncated at its start", "signature_mismatch", signature=valid, body=BODY_BYTES[1:])
case("body removed", "signature_mismatch", signature=valid, body=b"")
case("newline appended to the body", "signature_mismatch", signature=valid, body=BODY_BYTES + b"\n")
case("zero byte appended to the body", "signature_mismatch", signature=valid, body=BODY_BYTES + b"\0")
case("body with another job ID", "signature_mismatch", signature=valid,
     body=BODY_BYTES.replace(b"123", b"124"))
case("body parsed and serialized again", "signature_mismatch", signature=valid,
     body=b'{"event": "job.completed", "job_id": "job_123"}')
case("body with its keys in another order", "signature_mismatch", signature=valid,
     body=b'{"job_id":"job_123","event":"job.completed"}')
case("body in another encoding", "signature_mismatch", signature=valid,
     body=BODY.encode("utf-16"))
case("body with one bit flipped", "signature_mismatch", signature=valid,
     body=bytes([BODY_BYTES[0] ^ 1]) + BODY_BYTES[1:])
case("invalid UTF-8 replaced by a text decoder", "signature_mismatch",
     signature=entry(body=b"\xff"), body="\ufffd".encode())

# Well-formed timestamps.
case("timestamp of zero", 0, timestamp=0, now=0)
case("timestamp of zero, tolerance of 0", 0, timestamp=0, tolerance=0)
case("largest 64-bit timestamp", 0, timestamp=MAX, now=MAX)
case("signed leading zeros", 0, timestamp="0001700000000",
     signature=entry(timestamp=b"0001700000000"))
case("twenty digits with leading zeros", 0, timestamp="00000000001700000000",
     signature=entry(timestamp=b"00000000001700000000"))
case("leading zeros added in transit", "signature_mismatch", timestamp="0001700000000", signature=valid)
case("leading zeros removed in transit", "signature_mismatch",
     signature=entry(timestamp=b"0001700000000"))
case("timestamp changed by a second", "signature_mismatch", timestamp=NOW + 1, signature=valid)
case("digit moved from body to timestamp", "signature_mismatch", timestamp="17000000001",
     signature=entry(body=b"1"), body=b"", tolerance=0)

# The tolerance.
case("299 s ago", 0, timestamp=NOW - 299)
case("300 s ago", 0, timestamp=NOW - 300)
case("301 s ago", "timestamp_too_old", timestamp=NOW - 301)
case("299 s ahead", 0, timestamp=NOW + 299)
case("300 s ahead", 0, timestamp=NOW + 300)
case("301 s ahead", "timestamp_in_future", timestamp=NOW + 301)
case("a year ago", "timestamp_too_old", timestamp=NOW - 31_536_000)
case("a year ahead", "timestamp_in_future", timestamp=NOW + 31_536_000)
case("milliseconds", "timestamp_in_future", timestamp=NOW * 1000)
case("timestamp of zero, current clock", "timestamp_too_old", timestamp=0)
case("largest timestamp, current clock", "timestamp_in_future", timestamp=MAX)
case("tolerance of 1 s, 1 s ago", 0, timestamp=NOW - 1, tolerance=1)
case("tolerance of 1 s, 2 s ago", "timestamp_too_old", timestamp=NOW - 2, tolerance=1)
case("tolerance of 1 s, 1 s ahead", 0, timestamp=NOW + 1, tolerance=1)
case("tolerance of 1 s, 2 s ahead", "timestamp_in_future", timestamp=NOW + 2, tolerance=1)
case("tolerance of 0, a year ago", 0, timestamp=NOW - 31_536_000, tolerance=0)
case("tolerance of 0, a year ahead", 0, timestamp=NOW + 31_536_000, tolerance=0)
case("tolerance of 0, largest timestamp", 0, timestamp=MAX, now=0, tolerance=0)
case("tolerance of 0, timestamp missing", "timestamp_missing", timestamp=None, signature=valid, tolerance=0)
case("tolerance of 0, timestamp malformed", "timestamp_malformed", timestamp="soon",
     signature=entry(timestamp=b"soon"), tolerance=0)
case("tolerance of 0, wrong signature", "signature_mismatch", signature=wrong, tolerance=0)
case("largest tolerance", 0, timestamp=0, now=MAX, tolerance=MAX)
case("clock at zero", "timestamp_in_future", now=0)
case("clock at the largest time", "timestamp_too_old", now=MAX)
case("stale timestamp and wrong signature", "timestamp_too_old", timestamp=NOW - 301, signature=wrong)

# Malformed timestamps. The signature matches the exact bytes, so only the format is invalid.
for name, text in [
    ("negative timestamp", b"-1700000000"),
    ("lowest signed 64-bit number", b"-9223372036854775808"),
    ("minus zero", b"-0"),
    ("plus sign", b"+1700000000"),
    ("leading space", b" 1700000000"),
    ("trailing space", b"1700000000 "),
    ("trailing tab", b"1700000000\t"),
    ("trailing newline", b"1700000000\n"),
    ("space between digits", b"1700 000000"),
    ("thousands separators", b"1,700,000,000"),
    ("underscores", b"1_700_000_000"),
    ("decimal point", b"1700000000.0"),
    ("trailing decimal point", b"1700000000."),
    ("exponent", b"17e8"),
    ("hexadecimal", b"0x6553f100"),
    ("octal", b"0o14524770400"),
    ("infinity", b"inf"),
    ("not a number", b"NaN"),
    ("words", b"now"),
    ("a date", b"2023-11-14T22:13:20Z"),
    ("an HTTP date", b"Tue, 14 Nov 2023 22:13:20 GMT"),
    ("quoted", b'"1700000000"'),
    ("JSON null", b"null"),
    ("one more than 64 bits", b"18446744073709551616"),
    ("twenty nines", b"9" * 20),
    ("21 digits", b"000000000001700000000"),
    ("4096 digits", b"1" * 4096),
    ("Arabic digits", "١٧٠٠٠٠٠٠٠٠".encode()),
    ("full-width digits", "１７００００００００".encode()),
    ("superscript digit", "170000000²".encode()),
    ("not UTF-8", b"1700000000\xff"),
    ("two timestamps in one line", b"1700000000,1700000000"),
    ("timestamp with a unit", b"1700000000s"),
]:
    case("timestamp malformed: " + name, "timestamp_malformed", timestamp=text,
         signature=entry(timestamp=text))
case("timestamp missing", "timestamp_missing", timestamp=None, signature=valid)
case("timestamp empty", "timestamp_missing", timestamp="", signature=entry(timestamp=b""))
case("two equal timestamps", "timestamp_malformed", timestamp=["1700000000", "1700000000"],
     signature=valid)
case("two timestamps, one stale", "timestamp_malformed", timestamp=["1600000000", "1700000000"],
     signature=valid)
case("a valid timestamp and an empty one", "timestamp_malformed", timestamp=["1700000000", ""], signature=valid)

# Secret rotation.
case("rotation: both entries, newest secret configured", 0, signature=f"{valid},{previous}")
case("rotation: both entries, previous secret configured", 0, signature=f"{valid},{previous}",
     secrets=(PREVIOUS,))
case("rotation: both entries, both secrets configured", 0, signature=f"{valid},{previous}", secrets=both)
case("rotation: entries in reverse order", 0, signature=f"{previous},{valid}", secrets=both)
case("rotation: secrets in reverse order", 0, signature=f"{valid},{previous}",
     secrets=(PREVIOUS, NEWEST))
case("rotation: only the previous entry, both secrets configured", 1, signature=previous, secrets=both)
case("rotation: only the newest entry, both secrets configured", 0, signature=valid, secrets=both)
case("rotation: finished, previous secret configured", "signature_mismatch", signature=valid,
     secrets=(PREVIOUS,))
case("rotation: neither secret configured", "signature_mismatch", signature=f"{valid},{previous}", secrets=(OTHER,))
case("rotation: the eighth of eight secrets", 7,
     secrets=[f"whsec_{number}" for number in range(7)] + [NEWEST], signature=valid)
case("rotation: the same secret twice", 0, signature=valid, secrets=(NEWEST, NEWEST))
case("rotation: entries with different timestamps", 0,
     signature=entry(timestamp=NOW - 5, secret=PREVIOUS) + "," + valid, secrets=both)

# Signature headers with several entries.
case("space after the comma", 0, signature=f"{wrong}, {valid}")
case("spaces and tabs around entries", 0, signature=f" \t{wrong}\t ,\t {valid} \t")
case("leading comma", 0, signature=f",{valid}")
case("trailing comma", 0, signature=f"{valid},")
case("leading and trailing commas", 0, signature=f",, ,{valid}, ,,")
case("wrong entry before", 0, signature=f"{wrong},{valid}")
case("wrong entry after", 0, signature=f"{valid},{wrong}")
case("the same entry twice", 0, signature=f"{valid},{valid}")
case("malformed entry before", 0, signature=f"svc-v1=zz,{valid}")
case("malformed entry after", 0, signature=f"{valid},garbage")
case("truncated entry and valid entry", 0, signature=f"{valid[:-2]},{valid}")
case("unknown version and valid entry", 0, signature=f"svc-v2=abc,{valid}")
case("entries of another service and valid entry", 0, signature=f"t=1700000000,v1={tag()},{valid}")
case("entry that is not UTF-8 and valid entry", 0, signature=b"\xff\xfe=\x80," + valid.encode())
case("hex in upper case", 0, signature="svc-v1=" + tag().upper())
case("hex in mixed case", 0, signature="svc-v1=" + tag()[:32].upper() + tag()[32:])
case("valid entry is the last of 32", 0, signature="a=b," * 31 + valid)
case("valid entry is the first of 32", 0, signature=valid + ",a=b" * 31)
case("a header of 4096 bytes", 0, signature=f"{valid},a=" + "b" * (4096 - len(valid) - 3))
case("two lines, the first matches", 0, signature=[valid, wrong])
case("two lines, the second matches", 0, signature=[wrong, valid])
case("two lines, one malformed", 0, signature=["\t", valid])
case("two lines, one empty", 0, signature=["", valid])
case("two lines of 16 entries", 0, signature=["a=b," * 15 + "a=b", "a=b," * 15 + valid])

# Rejected signature headers.
case("signature missing", "signature_missing", default_signature=False)
case("signature empty", "signature_missing", signature="")
case("signature of white space", "signature_missing", signature=" \t ")
case("only commas", "signature_missing", signature=", ,\t,")
case("two empty lines", "signature_missing", signature=["", ""])
case("wrong signature", "signature_mismatch", signature=wrong)
case("two wrong signatures", "signature_mismatch", signature=f"{wrong},{wrong}")
case("32 wrong signatures", "signature_mismatch", signature=",".join([wrong] * 32))
case("one bit flipped", "signature_mismatch", signature="svc-v1=%064x" % (int(tag(), 16) ^ 1))
case("most significant bit flipped", "signature_mismatch",
     signature="svc-v1=%064x" % (int(tag(), 16) ^ 1 << 255))
case("tag reversed", "signature_mismatch", signature="svc-v1=" + tag()[::-1])
case("tag over the body without timestamp", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), BODY_BYTES, "sha256").hexdigest())
case("tag over body before timestamp", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), BODY_BYTES + b".1700000000", "sha256").hexdigest())
case("tag without the dot", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), b"1700000000" + BODY_BYTES, "sha256").hexdigest())
case("tag with a colon instead of the dot", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), b"1700000000:" + BODY_BYTES, "sha256").hexdigest())
case("plain SHA-256 of secret and message", "signature_mismatch",
     signature="svc-v1=" + hashlib.sha256(NEWEST.encode() + b"1700000000." + BODY_BYTES).hexdigest())
case("SHA3-256", "signature_mismatch",
     signature=entry(algorithm=hashlib.sha3_256))
case("SHA-512", "signature_malformed", signature=entry(algorithm=hashlib.sha512))
case("SHA-1", "signature_malformed", signature=entry(algorithm=hashlib.sha1))
case("truncated to 63 digits", "signature_malformed", signature=valid[:-1])
case("truncated to 62 digits", "signature_malformed", signature=valid[:-2])
case("truncated to half", "signature_malformed", signature=valid[:-32])
case("truncated to two digits", "signature_malformed", signature=valid[:9])
case("65 digits", "signature_malformed", signature=valid + "0")
case("66 digits", "signature_malformed", signature=valid + "00")
case("no hex digits", "signature_malformed", signature="svc-v1=")
case("no scheme", "signature_malformed", signature=tag())
case("scheme without tag", "signature_malformed", signature="svc-v1")
case("a digit that is not hexadecimal", "signature_malformed", signature=valid[:-1] + "g")
case("hex with 0x prefix", "signature_malformed", signature="svc-v1=0x" + tag()[2:])
case("hex digits in pairs separated by colons", "signature_malformed",
     signature="svc-v1=" + ":".join(tag()[at:at + 2] for at in range(0, 64, 2)))
case("full-width digits", "signature_malformed", signature="svc-v1=" + "０" * 64)
case("64 bytes that are not UTF-8", "signature_malformed", signature=b"svc-v1=" + b"\xff" * 64)
case("base64", "signature_malformed", signature="svc-v1=hJjRkjFJhwtdLSt7L56V7AwSauK+BsSpu3RaNMTYsUI=")
case("space before the tag", "signature_malformed", signature="svc-v1= " + tag())
case("quoted tag", "signature_malformed", signature=f'svc-v1="{tag()}"')
case("newline after the tag", "signature_malformed", signature=valid + "\n")
case("two equals signs", "signature_malformed", signature="svc-v1==" + tag())
case("separated by a semicolon", "signature_malformed", signature=f"{wrong};{valid}")
case("separated by a space", "signature_malformed", signature=f"{wrong} {valid}")
case("header that is not UTF-8", "signature_malformed", signature=b"\xff\xfe\x80")
case("space after the scheme", "signature_unsupported", signature="svc-v1 =" + tag())
case("scheme in upper case", "signature_unsupported", signature="SVC-V1=" + tag())
case("later scheme version", "signature_unsupported", signature="svc-v2=" + tag())
case("earlier scheme version", "signature_unsupported", signature="svc-v0=" + tag())
case("scheme version with a second digit", "signature_unsupported", signature="svc-v10=" + tag())
case("scheme without its version", "signature_unsupported", signature="svc=" + tag())
case("scheme of another service", "signature_unsupported", signature="v1=" + tag())
case("quoted entry", "signature_unsupported", signature=f'"{valid}"')
case("33 entries", "signature_too_many", signature="a=b," * 32 + valid)
case("33 entries, the first matches", "signature_too_many", signature=valid + ",a=b" * 32)
case("33 empty entries", "signature_too_many", signature="," * 32)
case("33 entries in two lines", "signature_too_many", signature=["a=b," * 15 + "a=b", "a=b," * 16 + valid])
case("4097 bytes", "signature_too_long", signature=f"{valid},a=" + "b" * (4097 - len(valid) - 3))
case("4097 bytes in two lines", "signature_too_long",
     signature=[valid, "a=" + "b" * (4097 - len(valid) - 3)])
case("20000 bytes", "signature_too_long", signature=",".join([valid] * 281))

# Secrets.
case("secret of one byte", 0, secrets=("s",))
case("secret of 64 bytes", 0, secrets=("s" * 64,))
case("secret of 65 bytes", 0, secrets=("s" * 65,))
case("secret of 1000 bytes", 0, secrets=("s" * 1000,))
case("secret that is not UTF-8", 0, secrets=(b"\xff\x00\xfe",))
case("secret with a newline, signed with the newline", 0, secrets=("whsec_newest\n",))
case("secret with a newline, signed without the newline", "signature_mismatch", secrets=("whsec_newest\n",),
     signature=valid)
case("secret in upper case", "signature_mismatch", secrets=("WHSEC_NEWEST",), signature=valid)
case("secret without its prefix", "signature_mismatch", secrets=("newest",), signature=valid)
case("secret empty", "secret_empty", secrets=("",))
case("secret of white space", "secret_empty", secrets=(" \n",))
case("secret of a zero byte", "secret_empty", secrets=(b"\0",))
case("second secret empty", "secret_empty", secrets=(NEWEST, ""), signature=valid)
case("no secret", "secret_missing", secrets=(), signature=valid)
case("nine secrets", "secret_too_many", secrets=(NEWEST,) * 9, signature=valid)

names = [row["name"] for row in cases]
assert len(names) == len(set(names)), "duplicate case name"
json.dump({"scheme": "svc-v1", "cases": cases}, sys.stdout, ensure_ascii=True, indent=1)
sys.stdout.write("\n")
