//! Scripts of what happens to a bucket, in `windows.txt`.
//!
//! Times are seconds since the bucket began, and a report is `limit/remaining/seconds to the reset`.
//! `send T` takes the place of a request, and `answer SENT T REPORT`, `lose T` (without a response) and
//! `drop` (not counted, `drop all` for all that were taken) give one back. `trip T REPORT` is a request that
//! is answered at once, `refuse REPORT SECONDS` one that gets a 429. `acquire T` is `ok` or when to try again,
//! `places T` is how many requests may be sent at once (at most 200), `poll` the time of
//! the next poll, `resume T REPORT` begins with what an earlier process knew, and `new` begins again. `A..B`
//! is any number of the range.

use std::cell::RefCell;

use futures_util::FutureExt;
use svc_test_script::{Steps, Variables, run_script, scripts_of};

use super::*;
use crate::call::clock;

struct Key {
    bucket: RefCell<Bucket>,
    began: Instant,
}

impl Key {
    fn at(&self, seconds: &str) -> Instant {
        self.began + Duration::from_secs_f64(seconds.parse().unwrap())
    }

    fn since(&self, moment: Instant) -> String {
        (moment - self.began).as_secs_f64().to_string()
    }

    fn acquire(&self, seconds: &str) -> Result<(), Instant> {
        self.bucket.borrow_mut().acquire(self.at(seconds))
    }

    fn answer(&self, sent: &str, seconds: &str, report: &str, retry_after: Option<Duration>) {
        let (sent_at, now) = (self.at(sent), self.at(seconds));
        self.bucket.borrow_mut().release_answered(sent_at, now, limit(report), retry_after);
    }

    /// Runs a step, and returns its result if it has one.
    fn step(&self, words: &[&str]) -> Option<String> {
        match *words {
            ["new"] => *self.bucket.borrow_mut() = Bucket::default(),
            ["send", seconds] => self.acquire(seconds).unwrap(),
            ["answer", sent, seconds, report] => self.answer(sent, seconds, report, None),
            ["trip", seconds, report] => {
                self.acquire(seconds).unwrap();
                self.answer(seconds, seconds, report, None);
            }
            ["refuse", report, retry_after] => {
                self.acquire("0").unwrap();
                self.answer("0", "0", report, Some(self.at(retry_after) - self.began));
            }
            ["lose", seconds] => self.bucket.borrow_mut().release_unreported(self.at(seconds)),
            ["drop"] => self.bucket.borrow_mut().release(),
            ["drop", "all"] => (0..50).for_each(|_| self.bucket.borrow_mut().release()),
            ["resume", seconds, report] => {
                self.bucket.borrow_mut().resume(limit(report).unwrap(), self.at(seconds));
            }
            ["acquire", seconds] => {
                let next = self.acquire(seconds).err();
                return Some(next.map_or_else(|| "ok".to_owned(), |next| self.since(next)));
            }
            ["places", seconds] => {
                let places = (0..200).take_while(|_| self.acquire(seconds).is_ok()).count();
                return Some(places.to_string());
            }
            ["poll"] => return Some(self.since(self.bucket.borrow_mut().reserve_poll(self.began))),
            _ => panic!("no such step: {words:?}"),
        }
        None
    }
}

fn limit(report: &str) -> Option<RateLimit> {
    let mut numbers = report.split('/').map(|number| number.parse().ok());
    let mut next = || numbers.next().flatten();
    Some(RateLimit::new(next()?, next()?, Duration::from_secs(next()?.into())))
}

impl Steps for Key {
    async fn run(&self, step: &str, _: &[String], _: &mut Variables) -> Option<String> {
        let (action, expected) = step.split_once(" => ").unwrap_or((step, ""));
        let result = self.step(&action.split(' ').collect::<Vec<_>>())?;
        let is_met = match expected.split_once("..") {
            Some((least, most)) => {
                let [least, most] = [least, most].map(|bound| bound.parse::<f64>().unwrap());
                result.parse().is_ok_and(|result: f64| (least..=most).contains(&result))
            }
            None => expected.is_empty() || result == expected,
        };
        (!is_met).then(|| format!("{step}: {result}"))
    }
}

#[test]
fn windows() {
    for (title, script) in scripts_of(include_str!("windows.txt")) {
        let key = Key { bucket: RefCell::default(), began: clock::now() };
        let running = std::panic::AssertUnwindSafe(run_script(&key, Variables::new(), script));
        running.catch_unwind().now_or_never().unwrap().expect(title);
    }
}

#[test]
fn the_buckets_are_separate() {
    let (limiter, now) = (RateLimiter::default(), clock::now());
    limiter.bucket(RateLimitBucket::Write).resume(limit("120/0/30").unwrap(), now);
    assert!(limiter.bucket(RateLimitBucket::Write).acquire(now).is_err());
    assert_eq!(limiter.bucket(RateLimitBucket::Read).acquire(now), Ok(()));
}
