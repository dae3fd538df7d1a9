#!/usr/bin/env python3
"""Writes vectors.json: deliveries, good and hostile, and what a verifier says to each.

    python3 webhook-verify/vectors/generate.py > webhook-verify/vectors/vectors.json

It takes its signatures from the standard library's hmac and its expectations from the
service's specification; it knows nothing of the Rust code. README.md has the format.
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
    """The hex digits that go behind `svc-v1=`."""
    key = secret if isinstance(secret, bytes) else secret.encode()
    start = timestamp if isinstance(timestamp, bytes) else str(timestamp).encode()
    return hmac.new(key, start + b"." + body, algorithm).hexdigest()


def entry(*args, **kwargs):
    return "svc-v1=" + tag(*args, **kwargs)


def as_json(value):
    """Text as it is, and bytes that are no text as hex."""
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
         now=NOW, tolerance=300, fresh_signature=True):
    """One case. `expect` is the index of the matching secret, or the reason of a refusal."""
    if signature is None and fresh_signature:
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


good = entry()
wrong = "svc-v1=" + "0" * 64
previous = entry(secret=PREVIOUS)
both = (NEWEST, PREVIOUS)

# The plain case, and bodies.
case("genuine", 0)
case("empty body", 0, body=b"")
case("binary body", 0, body=b"\x00\xff\xfe\x80")
case("body of every byte", 0, body=bytes(range(256)))
case("body of one newline", 0, body=b"\n")
case("body with CRLF", 0, body=b'{"event":\r\n"x"}')
case("body in UTF-8", 0, body='{"prompt":"ein Fuchs 🦊"}'.encode())
case("body with a byte order mark", 0, body=b"\xef\xbb\xbf{}")
case("body of a lone surrogate", 0, body=b"\xed\xa0\x80")
case("body that is no JSON", 0, body=b"hello")
case("body that begins with a dot", 0, body=b".{}")
case("body that looks like a message", 0, body=b"1700000000.{}")
case("body of 63 bytes", 0, body=b"x" * 63)
case("body of 64 bytes", 0, body=b"x" * 64)
case("body of 65 bytes", 0, body=b"x" * 65)
case("body of 10000 bytes", 0, body=b"x" * 10_000)

# Bodies that are not the ones signed.
case("body cut at its end", "signature_mismatch", signature=good, body=BODY_BYTES[:-1])
case("body cut at its start", "signature_mismatch", signature=good, body=BODY_BYTES[1:])
case("body gone", "signature_mismatch", signature=good, body=b"")
case("body with a newline after it", "signature_mismatch", signature=good, body=BODY_BYTES + b"\n")
case("body with a zero byte after it", "signature_mismatch", signature=good, body=BODY_BYTES + b"\0")
case("body with another job", "signature_mismatch", signature=good,
     body=BODY_BYTES.replace(b"123", b"124"))
case("body parsed and written again", "signature_mismatch", signature=good,
     body=b'{"event": "job.completed", "job_id": "job_123"}')
case("body with its keys in another order", "signature_mismatch", signature=good,
     body=b'{"job_id":"job_123","event":"job.completed"}')
case("body in another encoding", "signature_mismatch", signature=good,
     body=BODY.encode("utf-16"))
case("body with one bit flipped", "signature_mismatch", signature=good,
     body=bytes([BODY_BYTES[0] ^ 1]) + BODY_BYTES[1:])
case("invalid bytes replaced as by a text decoder", "signature_mismatch",
     signature=entry(body=b"\xff"), body="\ufffd".encode())

# Timestamps that are well formed.
case("timestamp of zero", 0, timestamp=0, now=0)
case("timestamp of zero, window off", 0, timestamp=0, tolerance=0)
case("timestamp of the largest 64 bits", 0, timestamp=MAX, now=MAX)
case("leading zeros that were signed", 0, timestamp="0001700000000",
     signature=entry(timestamp=b"0001700000000"))
case("twenty digits with leading zeros", 0, timestamp="00000000001700000000",
     signature=entry(timestamp=b"00000000001700000000"))
case("leading zeros put in on the way", "signature_mismatch", timestamp="0001700000000", signature=good)
case("leading zeros taken away on the way", "signature_mismatch",
     signature=entry(timestamp=b"0001700000000"))
case("timestamp moved by a second", "signature_mismatch", timestamp=NOW + 1, signature=good)
case("digit moved from body to timestamp", "signature_mismatch", timestamp="17000000001",
     signature=entry(body=b"1"), body=b"", tolerance=0)

# The window.
case("299 s ago", 0, timestamp=NOW - 299)
case("300 s ago", 0, timestamp=NOW - 300)
case("301 s ago", "timestamp_too_old", timestamp=NOW - 301)
case("299 s ahead", 0, timestamp=NOW + 299)
case("300 s ahead", 0, timestamp=NOW + 300)
case("301 s ahead", "timestamp_in_future", timestamp=NOW + 301)
case("a year ago", "timestamp_too_old", timestamp=NOW - 31_536_000)
case("a year ahead", "timestamp_in_future", timestamp=NOW + 31_536_000)
case("milliseconds", "timestamp_in_future", timestamp=NOW * 1000)
case("timestamp of zero, now", "timestamp_too_old", timestamp=0)
case("the end of time, now", "timestamp_in_future", timestamp=MAX)
case("window of 1 s, 1 s ago", 0, timestamp=NOW - 1, tolerance=1)
case("window of 1 s, 2 s ago", "timestamp_too_old", timestamp=NOW - 2, tolerance=1)
case("window of 1 s, 1 s ahead", 0, timestamp=NOW + 1, tolerance=1)
case("window of 1 s, 2 s ahead", "timestamp_in_future", timestamp=NOW + 2, tolerance=1)
case("window of 0, a year ago", 0, timestamp=NOW - 31_536_000, tolerance=0)
case("window of 0, a year ahead", 0, timestamp=NOW + 31_536_000, tolerance=0)
case("window of 0, the end of time", 0, timestamp=MAX, now=0, tolerance=0)
case("window of 0, timestamp missing", "timestamp_missing", timestamp=None, signature=good, tolerance=0)
case("window of 0, timestamp malformed", "timestamp_malformed", timestamp="soon",
     signature=entry(timestamp=b"soon"), tolerance=0)
case("window of 0, wrong signature", "signature_mismatch", signature=wrong, tolerance=0)
case("the largest window", 0, timestamp=0, now=MAX, tolerance=MAX)
case("clock at zero", "timestamp_in_future", now=0)
case("clock at the end of time", "timestamp_too_old", now=MAX)
case("stale and forged", "timestamp_too_old", timestamp=NOW - 301, signature=wrong)

# Timestamps that are malformed. Each is signed as it stands, so only its form is at fault.
for name, text in [
    ("negative timestamp", b"-1700000000"),
    ("the lowest 64 bit number", b"-9223372036854775808"),
    ("minus zero", b"-0"),
    ("plus sign", b"+1700000000"),
    ("blank before", b" 1700000000"),
    ("blank after", b"1700000000 "),
    ("tab after", b"1700000000\t"),
    ("blank within", b"1700 000000"),
    ("thousands separated", b"1,700,000,000"),
    ("underscores", b"1_700_000_000"),
    ("decimal point", b"1700000000.0"),
    ("point and nothing", b"1700000000."),
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
    ("64 bits and one", b"18446744073709551616"),
    ("twenty nines", b"9" * 20),
    ("21 digits", b"000000000001700000000"),
    ("4096 digits", b"1" * 4096),
    ("Arabic digits", "١٧٠٠٠٠٠٠٠٠".encode()),
    ("full-width digits", "１７００００００００".encode()),
    ("superscript digit", "170000000²".encode()),
    ("no UTF-8", b"1700000000\xff"),
    ("two in one line", b"1700000000,1700000000"),
    ("timestamp with a unit", b"1700000000s"),
]:
    case("timestamp malformed: " + name, "timestamp_malformed", timestamp=text,
         signature=entry(timestamp=text))
case("timestamp missing", "timestamp_missing", timestamp=None, signature=good)
case("timestamp empty", "timestamp_missing", timestamp="", signature=entry(timestamp=b""))
case("timestamp twice, the same", "timestamp_malformed", timestamp=["1700000000", "1700000000"],
     signature=good)
case("timestamp twice, one stale", "timestamp_malformed", timestamp=["1600000000", "1700000000"],
     signature=good)
case("timestamp and an empty one", "timestamp_malformed", timestamp=["1700000000", ""], signature=good)

# Rotation.
case("rotation: both entries, newest secret held", 0, signature=f"{good},{previous}")
case("rotation: both entries, previous secret held", 0, signature=f"{good},{previous}",
     secrets=(PREVIOUS,))
case("rotation: both entries, both held", 0, signature=f"{good},{previous}", secrets=both)
case("rotation: entries the other way round", 0, signature=f"{previous},{good}", secrets=both)
case("rotation: secrets the other way round", 0, signature=f"{good},{previous}",
     secrets=(PREVIOUS, NEWEST))
case("rotation: only the previous entry, both held", 1, signature=previous, secrets=both)
case("rotation: only the newest entry, both held", 0, signature=good, secrets=both)
case("rotation: over, the previous secret held", "signature_mismatch", signature=good,
     secrets=(PREVIOUS,))
case("rotation: neither held", "signature_mismatch", signature=f"{good},{previous}", secrets=(OTHER,))
case("rotation: the eighth of eight secrets", 7,
     secrets=[f"whsec_{number}" for number in range(7)] + [NEWEST], signature=good)
case("rotation: the same secret twice", 0, signature=good, secrets=(NEWEST, NEWEST))
case("rotation: entries of two moments", 0,
     signature=entry(timestamp=NOW - 5, secret=PREVIOUS) + "," + good, secrets=both)

# The signature header as a list.
case("blank after the comma", 0, signature=f"{wrong}, {good}")
case("blanks and tabs around entries", 0, signature=f" \t{wrong}\t ,\t {good} \t")
case("comma before", 0, signature=f",{good}")
case("comma after", 0, signature=f"{good},")
case("commas all about", 0, signature=f",, ,{good}, ,,")
case("wrong entry before", 0, signature=f"{wrong},{good}")
case("wrong entry after", 0, signature=f"{good},{wrong}")
case("the same entry twice", 0, signature=f"{good},{good}")
case("malformed entry before", 0, signature=f"svc-v1=zz,{good}")
case("malformed entry after", 0, signature=f"{good},garbage")
case("cut entry beside", 0, signature=f"{good[:-2]},{good}")
case("unknown version beside", 0, signature=f"svc-v2=abc,{good}")
case("entry of another service beside", 0, signature=f"t=1700000000,v1={tag()},{good}")
case("no UTF-8 beside", 0, signature=b"\xff\xfe=\x80," + good.encode())
case("hex in upper case", 0, signature="svc-v1=" + tag().upper())
case("hex in mixed case", 0, signature="svc-v1=" + tag()[:32].upper() + tag()[32:])
case("the last of 32 entries", 0, signature="a=b," * 31 + good)
case("the first of 32 entries", 0, signature=good + ",a=b" * 31)
case("a header of 4096 bytes", 0, signature=f"{good},a=" + "b" * (4096 - len(good) - 3))
case("two lines, the first matches", 0, signature=[good, wrong])
case("two lines, the second matches", 0, signature=[wrong, good])
case("two lines, one malformed", 0, signature=["\t", good])
case("two lines, one empty", 0, signature=["", good])
case("two lines of 16 entries", 0, signature=["a=b," * 15 + "a=b", "a=b," * 15 + good])

# Signature headers that are refused.
case("signature missing", "signature_missing", fresh_signature=False)
case("signature empty", "signature_missing", signature="")
case("signature blank", "signature_missing", signature=" \t ")
case("nothing but commas", "signature_missing", signature=", ,\t,")
case("two empty lines", "signature_missing", signature=["", ""])
case("wrong signature", "signature_mismatch", signature=wrong)
case("two wrong signatures", "signature_mismatch", signature=f"{wrong},{wrong}")
case("32 wrong signatures", "signature_mismatch", signature=",".join([wrong] * 32))
case("one bit flipped", "signature_mismatch", signature="svc-v1=%064x" % (int(tag(), 16) ^ 1))
case("highest bit flipped", "signature_mismatch",
     signature="svc-v1=%064x" % (int(tag(), 16) ^ 1 << 255))
case("tag reversed", "signature_mismatch", signature="svc-v1=" + tag()[::-1])
case("tag over the body alone", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), BODY_BYTES, "sha256").hexdigest())
case("tag over body before timestamp", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), BODY_BYTES + b".1700000000", "sha256").hexdigest())
case("tag without the dot", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), b"1700000000" + BODY_BYTES, "sha256").hexdigest())
case("tag with a colon for the dot", "signature_mismatch",
     signature="svc-v1=" + hmac.new(NEWEST.encode(), b"1700000000:" + BODY_BYTES, "sha256").hexdigest())
case("plain SHA-256 of secret and message", "signature_mismatch",
     signature="svc-v1=" + hashlib.sha256(NEWEST.encode() + b"1700000000." + BODY_BYTES).hexdigest())
case("another algorithm of the same length", "signature_mismatch",
     signature=entry(algorithm=hashlib.sha3_256))
case("tag of the SHA-512 family", "signature_malformed", signature=entry(algorithm=hashlib.sha512))
case("SHA-1", "signature_malformed", signature=entry(algorithm=hashlib.sha1))
case("cut to 63 digits", "signature_malformed", signature=good[:-1])
case("cut to 62 digits", "signature_malformed", signature=good[:-2])
case("cut to half", "signature_malformed", signature=good[:-32])
case("cut to two digits", "signature_malformed", signature=good[:9])
case("65 digits", "signature_malformed", signature=good + "0")
case("66 digits", "signature_malformed", signature=good + "00")
case("no digits", "signature_malformed", signature="svc-v1=")
case("no scheme", "signature_malformed", signature=tag())
case("scheme and nothing", "signature_malformed", signature="svc-v1")
case("a digit that is no hex", "signature_malformed", signature=good[:-1] + "g")
case("hex with a prefix", "signature_malformed", signature="svc-v1=0x" + tag()[2:])
case("hex in pairs with colons", "signature_malformed",
     signature="svc-v1=" + ":".join(tag()[at:at + 2] for at in range(0, 64, 2)))
case("full-width digits", "signature_malformed", signature="svc-v1=" + "０" * 64)
case("sixty-four bytes of no text", "signature_malformed", signature=b"svc-v1=" + b"\xff" * 64)
case("base64", "signature_malformed", signature="svc-v1=hJjRkjFJhwtdLSt7L56V7AwSauK+BsSpu3RaNMTYsUI=")
case("blank before the tag", "signature_malformed", signature="svc-v1= " + tag())
case("quoted tag", "signature_malformed", signature=f'svc-v1="{tag()}"')
case("two equals signs", "signature_malformed", signature="svc-v1==" + tag())
case("separated by a semicolon", "signature_malformed", signature=f"{wrong};{good}")
case("separated by a blank", "signature_malformed", signature=f"{wrong} {good}")
case("no UTF-8 at all", "signature_malformed", signature=b"\xff\xfe\x80")
case("blank after the scheme", "signature_unsupported", signature="svc-v1 =" + tag())
case("scheme in upper case", "signature_unsupported", signature="SVC-V1=" + tag())
case("scheme of the future", "signature_unsupported", signature="svc-v2=" + tag())
case("scheme of the past", "signature_unsupported", signature="svc-v0=" + tag())
case("scheme that goes on", "signature_unsupported", signature="svc-v10=" + tag())
case("scheme without its version", "signature_unsupported", signature="svc=" + tag())
case("scheme of another service", "signature_unsupported", signature="v1=" + tag())
case("quoted entry", "signature_unsupported", signature=f'"{good}"')
case("33 entries", "signature_too_many", signature="a=b," * 32 + good)
case("33 entries, the first of which matches", "signature_too_many", signature=good + ",a=b" * 32)
case("33 empty entries", "signature_too_many", signature="," * 32)
case("33 entries in two lines", "signature_too_many", signature=["a=b," * 15 + "a=b", "a=b," * 16 + good])
case("4097 bytes", "signature_too_long", signature=f"{good},a=" + "b" * (4097 - len(good) - 3))
case("4097 bytes in two lines", "signature_too_long",
     signature=[good, "a=" + "b" * (4097 - len(good) - 3)])
case("20000 bytes", "signature_too_long", signature=",".join([good] * 281))

# Secrets.
case("secret of one byte", 0, secrets=("s",))
case("secret of 64 bytes", 0, secrets=("s" * 64,))
case("secret of 65 bytes", 0, secrets=("s" * 65,))
case("secret of 1000 bytes", 0, secrets=("s" * 1000,))
case("secret of bytes that are no text", 0, secrets=(b"\xff\x00\xfe",))
case("secret with a newline, signed with it", 0, secrets=("whsec_newest\n",))
case("secret with a newline, signed without", "signature_mismatch", secrets=("whsec_newest\n",),
     signature=good)
case("secret in upper case", "signature_mismatch", secrets=("WHSEC_NEWEST",), signature=good)
case("secret without its prefix", "signature_mismatch", secrets=("newest",), signature=good)
case("secret empty", "secret_empty", secrets=("",))
case("secret blank", "secret_empty", secrets=(" \n",))
case("secret of a zero byte", "secret_empty", secrets=(b"\0",))
case("second secret empty", "secret_empty", secrets=(NEWEST, ""), signature=good)
case("no secret", "secret_missing", secrets=(), signature=good)
case("nine secrets", "secret_too_many", secrets=(NEWEST,) * 9, signature=good)

names = [row["name"] for row in cases]
assert len(names) == len(set(names)), "two cases have the same name"
json.dump({"scheme": "svc-v1", "cases": cases}, sys.stdout, ensure_ascii=True, indent=1)
sys.stdout.write("\n")
