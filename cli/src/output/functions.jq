# Functions of the jq manual that the library does not have.
def input: [limit(1; inputs)] | if length == 0 then error("No more inputs") else .[0] end;
def input_line_number: 0;
def input_filename: null;

def IN(s): . as $x | any(s; . == $x);
def IN(src; s): any(src; IN(s));
def INDEX(stream; f): reduce stream as $row ({}; . + {($row | f | tostring): $row});
def INDEX(f): INDEX(.[]; f);

def toarray: if isarray then . else [.] end;
def ascii: [.] | implode;
def leaf_paths: paths(scalars);
def ltrimstr($s): if isstring and ($s | isstring) and startswith($s) then .[($s | length):] else . end;
def rtrimstr($s): if isstring and ($s | isstring) and endswith($s) then .[:length - ($s | length)] else . end;
def trimstr($s): ltrimstr($s) | rtrimstr($s);
def isvalid(f): try (f | true) catch false;
def have_literal_numbers: true;
def have_decnum: false;
def todate: strftime("%Y-%m-%dT%H:%M:%SZ");
def date: todate;
def dateadd($unit; $n): . + $n;
def datesub($unit; $n): . - $n;

def _cell(text): if isstring then text elif . == null then "" elif isnumber or isboolean then tostring
  else error("\(type) cannot be in a row of text") end;
def _row: if type == "array" then . else error("\(type) is not a row of text: expected an array, such as [.id, .status]") end;
def @csv: _row | map(_cell("\"" + gsub("\""; "\"\"") + "\"")) | join(",");
def @tsv: _row | map(_cell(gsub("\\\\"; "\\\\") | gsub("\t"; "\\t") | gsub("\n"; "\\n") | gsub("\r"; "\\r"))) | join("\t");

# These end, and are those of jq.
def repeat(f): def rec: __check_recursion | ., (f | rec); rec;
def recurse(f): def rec: __check_recursion | ., (f | rec); rec;
def recurse(f; cond): recurse(f | select(cond));
def while(cond; update): def rec: __check_recursion | if cond then ., (update | rec) else empty end; rec;
def until(cond; update): def rec: __check_recursion | if cond then . else update | rec end; rec;

def _alphabet64: "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
def _alphabet32: "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
# The bits of text in an alphabet of 2^$width characters.
def _bits($alphabet; $width): rtrimstr("=") | [gsub("="; "") | explode[] as $c | ($alphabet | explode | index($c)) as $n
  | range($width - 1; -1; -1) as $i | (($n / pow(2; $i)) | floor) % 2];
# Text in an alphabet of 2^$width characters, padded to groups of $group.
def _text($alphabet; $width; $group): . as $bits
  | [range(0; length; $width) as $i | reduce range($width) as $j (0; . * 2 + ($bits[$i + $j] // 0))
    | . as $n | $alphabet[$n:$n + 1]] | join("") as $text
  | $text + ([range(($group - ($text | length) % $group) % $group) | "="] | join(""));
def @base32: tostring | utf8bytelength as $bytes | @base64 | _bits(_alphabet64; 6) | .[:$bytes * 8] | _text(_alphabet32; 5; 8);
def @base32d: tostring | if test("^[A-Z2-7]*=*$") then . else error("\(.) is not valid base32 data") end
  | _bits(_alphabet32; 5) | .[:(length / 8 | floor) * 8] | _text(_alphabet64; 6; 4) | @base64d;

def _closing: . as $root | def walk_($p): ($root | getpath($p)) as $v
    | if ($v | isarray or isobject) and ($v | length) > 0
      then ($v | keys_unsorted) as $keys | ($keys[] | walk_($p + [.])), [$p + [$keys[-1]]]
      else [$p, $v] end;
  walk_([]);
def tostream: _closing;
def _set($p; $v): if ($p | length) == 0 then $v
  else $p[0] as $k | (if . == null then (if ($k | isnumber) then [] else {} end) else . end)
  | if ($k | isobject) then .[$k] = (.[$k] | _set($p[1:]; $v))
    elif isarray then (if $k < 0 then $k + length else $k end) as $k | . as $list | [range([length, $k + 1] | max) as $i | if $i == $k then ($list[$i] | _set($p[1:]; $v)) else $list[$i] end]
    elif ($k | isstring) then . + {($k): (.[$k] | _set($p[1:]; $v))}
    else error("cannot index an object with \($k)") end
  end;
def setpath($p; $v): _set($p; $v);
def pick(f): . as $top | reduce path(f) as $p (null; setpath($p; $top | getpath($p)));
def fromstream(f): foreach f as $e ({x: null, e: false};
  (if .e then {x: null, e: false} else . end) | . as $s
  | if ($e | length) == 2 then {x: ($s.x | _set($e[0]; $e[1])), e: (($e[0] | length) == 0)}
    else {x: $s.x, e: (($e[0] | length) == 1)} end;
  if .e then .x else empty end);
def truncate_stream(stream): . as $n | stream
  | if (.[0] | length) > $n then [.[0][$n:]] + .[1:] else empty end;
