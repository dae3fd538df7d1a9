#!/usr/bin/env python3
"""Decodes the files of the mock with ffmpeg, and compares them with what was requested.

Usage: decode.py MOCK_SERVER

Starts the program, submits jobs in every resolution and aspect ratio of every model and with
durations from the whole range, downloads the artifacts, and has ffprobe decode every frame. Needs
ffprobe. The exit code is 1 if a file cannot be decoded or is not what was requested.
"""

import json
import os
import subprocess
import sys
import tempfile
import urllib.request
from concurrent.futures import ThreadPoolExecutor

SHORT_SIDES = {"480p": 480, "720p": 720, "1080p": 1080, "2K": 1440, "4K": 2160}
FRAME_RATES = range(1, 61)

# The resolutions, aspect ratios and durations of the specification's profiles.
VIDEO_PROFILES = {
    "video-f": (["480p", "720p"],
                ["auto", "adaptive", "21:9", "16:9", "4:3", "1:1", "3:4", "9:16"], (4, 15), True),
    "video-l": (["480p", "720p", "1080p"],
                ["auto", "adaptive", "16:9", "4:3", "1:1", "3:4", "9:16"], (2, 30), True),
    "video-h": (["720p", "1080p", "2K", "4K"], ["16:9", "9:16"], (5, 5), False),
    "video-r": (["720p", "1080p"], ["16:9", "9:16", "4:3", "3:4", "1:1"], (3, 16), True),
}
IMAGE_RATIOS = ["1:1", "16:9", "9:16", "4:3", "3:4", "3:2", "2:3"]
LIP_SYNC_SECONDS = [2, 5, 31, 60]
MUSIC_SECONDS = [5, 6, 30, 61, 300]


def send(url, key=None, body=None):
    headers = {"content-type": "application/json"} if body is not None else {}
    if key:
        headers["x-api-key"] = key
    data = None if body is None else json.dumps(body).encode()
    request = urllib.request.Request(url, data=data, headers=headers)
    with urllib.request.urlopen(request, timeout=300) as response:
        return response.read(), response.headers


class Mock:
    def __init__(self, program):
        command = [program, "--port-base", "0", "--clock", "manual", "--plan", "scale",
                   "--balance-usd", "100000", "--json"]
        self.process = subprocess.Popen(command, stdout=subprocess.PIPE)
        self.at = json.loads(self.process.stdout.readline())

    def stop(self):
        self.process.terminate()
        self.process.wait()

    def submit(self, surface, path, body):
        base, key = {
            "open": ("SVC_BASE_URL", "SVC_OPEN_API_KEY"),
            "developer": ("SVC_DEVELOPER_BASE_URL", "SVC_DEVELOPER_API_KEY"),
        }[surface]
        receipt, _ = send(self.at[base] + path, self.at[key], body)
        return base, key, json.loads(receipt)["data"]["job"]["id"]

    def advance(self, seconds):
        send(self.at["SVC_CONTROL_URL"] + "/clock/advance", None, {"seconds": seconds})

    def artifact(self, job):
        base, key, job_id = job
        result, _ = send(f"{self.at[base]}/v1/jobs/{job_id}/result", self.at[key])
        return json.loads(result)["data"]["artifacts"][0]


def requests():
    """Yields each request with what its file must be."""
    video, image = "/v1/video-router/generate", "/v1/image-router/generate"
    for model, (resolutions, ratios, (shortest, longest), has_audio) in VIDEO_PROFILES.items():
        def body(resolution, ratio, seconds, sound):
            fields = {"model": model, "prompt": "p", "resolution": resolution,
                      "aspect_ratio": ratio, "duration": seconds}
            if sound:
                fields["generate_audio"] = True
            expected = {"resolution": resolution, "ratio": ratio, "seconds": seconds, "sound": sound}
            return "open", video, fields, expected
        number = 0
        for resolution in resolutions:
            for ratio in ratios:
                number += 1
                yield body(resolution, ratio, shortest, has_audio and number % 2 == 0)
        for seconds in range(shortest, longest + 1):
            yield body(resolutions[0], "16:9", seconds, has_audio and seconds % 2 == 1)
    for resolution in ["720p", "1080p"]:
        for ratio in IMAGE_RATIOS:
            fields = {"model": "image-i", "prompt": "p", "resolution": resolution,
                      "aspect_ratio": ratio}
            yield "open", image, fields, {"resolution": resolution, "ratio": ratio, "image": True}
    for seconds in LIP_SYNC_SECONDS:
        fields = {"model": "lipsync-s", "audio_url": "https://cdn.example.com/a.mp3",
                  "image_url": "https://cdn.example.com/a.png", "duration": seconds}
        yield "open", video, fields, {"seconds": seconds}
    for seconds in MUSIC_SECONDS:
        fields = {"prompt": "p", "duration": seconds}
        yield "developer", "/v1/music-1.0/generate", fields, {"seconds": seconds, "music": True}


def probe(path):
    """Decodes every frame of a file and returns what ffprobe says about it."""
    command = ["ffprobe", "-v", "error", "-count_frames", "-of", "json", "-show_format",
               "-show_streams", path]
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode or result.stderr.strip():
        raise ValueError(f"ffprobe: {result.stderr.strip() or result.returncode}")
    return json.loads(result.stdout)


def check_size(stream, expected):
    width, height = stream["width"], stream["height"]
    ratio = expected["ratio"] if ":" in expected["ratio"] else "16:9"
    across, down = map(int, ratio.split(":"))
    short = SHORT_SIDES[expected["resolution"]]
    # The long side is rounded to an even number.
    long = short * max(across, down) / min(across, down)
    if min(width, height) != short or abs(max(width, height) - long) > 1:
        raise ValueError(f"{width}x{height}, expected {expected['resolution']} at {ratio}")
    if (across > down) != (width > height) or (across == down) != (width == height):
        raise ValueError(f"{width}x{height} is not {ratio}")


def check_duration(name, actual, expected):
    if abs(float(actual) - expected) > 0.05:
        raise ValueError(f"{name} of {actual} s, expected {expected} s")


def check(path, expected):
    info = probe(path)
    streams = {stream["codec_type"]: stream for stream in info["streams"]}
    video, audio = streams.get("video"), streams.get("audio")
    if expected.get("image"):
        check_size(video, expected)
        if (video["codec_name"], int(video["nb_read_frames"]), audio) != ("png", 1, None):
            raise ValueError(f"not one PNG image: {streams}")
        return
    seconds = expected["seconds"]
    check_duration("a file", info["format"]["duration"], seconds)
    if audio:
        rate = int(audio["sample_rate"])
        if rate not in (8000, 16000, 22050, 24000, 32000, 44100, 48000):
            raise ValueError(f"an odd sample rate: {rate}")
        # A frame of AAC has 1024 samples; the frames of a WAV file have any number.
        if audio["codec_name"] == "aac":
            decoded = int(audio["nb_read_frames"]) * 1024 / rate
            if abs(decoded - seconds) > 2 * 1024 / rate + 0.05:
                raise ValueError(f"{decoded} s of sound decoded, expected {seconds} s")
        else:
            check_duration("a track", audio["duration"], seconds)
    if expected.get("music"):
        if video or not audio:
            raise ValueError(f"not sound: {streams}")
        return
    if not video or video["codec_name"] != "h264":
        raise ValueError(f"not an H.264 video: {streams}")
    check_duration("a track", video["duration"], seconds)
    count, (frames, per) = int(video["nb_read_frames"]), map(int, video["avg_frame_rate"].split("/"))
    if per * FRAME_RATES[-1] < frames or abs(count * per / frames - seconds) > 0.05:
        raise ValueError(f"{count} frames at {frames}/{per} per second, expected {seconds} s")
    if "ratio" in expected:
        check_size(video, expected)
    if "sound" in expected and bool(audio) != expected["sound"]:
        raise ValueError(f"a sound track: {bool(audio)}, expected {expected['sound']}")


def main(program):
    mock = Mock(program)
    failures, count = [], 0
    try:
        with tempfile.TemporaryDirectory() as folder, ThreadPoolExecutor(os.cpu_count()) as pool:
            def run(job):
                number, request, submitted = job
                try:
                    artifact = mock.artifact(submitted)
                    content, headers = send(artifact["url"])
                    if headers["content-type"] != artifact["content_type"]:
                        raise ValueError(f"served as {headers['content-type']}")
                    path = os.path.join(folder, str(number))
                    with open(path, "wb") as file:
                        file.write(content)
                    check(path, request[3])
                    os.remove(path)
                except (ValueError, KeyError, OSError) as error:
                    failures.append(f"{json.dumps(request[2])}: {error}")

            # A plan has a limit of jobs in flight, so the requests go in batches.
            pending = list(enumerate(requests()))
            count = len(pending)
            for start in range(0, count, 50):
                batch = [(number, request, mock.submit(*request[:3]))
                         for number, request in pending[start:start + 50]]
                mock.advance(60)
                list(pool.map(run, batch))
    finally:
        mock.stop()
    for failure in failures:
        print(failure, file=sys.stderr)
    print(f"{count} files decoded, {len(failures)} failed")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
