//! The hosts that artifacts may be downloaded from.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr};

use url::{Host, Url};

use crate::call::Core;

/// The network that a URL's host belongs to, as far as the URL alone shows it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Network {
    Public,
    /// The local network, or addresses that are not routed on the internet.
    Private,
    /// This machine.
    Loopback,
}

/// Returns `true` if the client may send a request to the URL's host on behalf of the service.
///
/// Host names other than `localhost` are not resolved, and count as public.
pub(super) fn is_allowed(core: &Core, url: &Url) -> bool {
    match network(url) {
        Network::Public => true,
        _ if core.allow_private_artifact_hosts => true,
        Network::Loopback => Url::parse(core.base_url.as_str())
            .is_ok_and(|base_url| network(&base_url) == Network::Loopback),
        Network::Private => false,
    }
}

fn network(url: &Url) -> Network {
    match url.host() {
        Some(Host::Domain(name)) => {
            let name = name.trim_end_matches('.').to_ascii_lowercase();
            let is_localhost = name == "localhost"
                || name.ends_with(".localhost")
                || name == "localhost.localdomain";
            if is_localhost { Network::Loopback } else { Network::Public }
        }
        Some(Host::Ipv4(address)) => ipv4_network(address),
        Some(Host::Ipv6(address)) => ipv6_network(address),
        None => Network::Private,
    }
}

fn ipv4_network(address: Ipv4Addr) -> Network {
    let [a, b, c, _] = address.octets();
    let is_private = match a {
        // "This" network, which the operating system may take for this machine.
        0 => true,
        // Shared address space of carriers.
        100 => b & 0xc0 == 64,
        // Protocol assignments, and benchmarks.
        192 => (b, c) == (0, 0),
        198 => b & 0xfe == 18,
        // Multicast, reserved and broadcast.
        224.. => true,
        _ => false,
    };
    if address.is_loopback() {
        Network::Loopback
    } else if is_private || address.is_private() || address.is_link_local() {
        Network::Private
    } else {
        Network::Public
    }
}

fn ipv6_network(address: Ipv6Addr) -> Network {
    if address.is_loopback() {
        return Network::Loopback;
    }
    if let Some(embedded) = embedded_ipv4(address) {
        return ipv4_network(embedded);
    }
    let [a, b, c, ..] = address.segments();
    let is_private = address.is_unspecified()
        || address.is_unique_local()
        || address.is_unicast_link_local()
        || address.is_multicast()
        // The former site-local addresses.
        || a & 0xffc0 == 0xfec0
        // Local prefixes of NAT64.
        || (a, b, c) == (0x64, 0xff9b, 1);
    if is_private { Network::Private } else { Network::Public }
}

/// Returns the IPv4 address that an IPv6 address stands for: mapped, compatible, NAT64 or 6to4.
fn embedded_ipv4(address: Ipv6Addr) -> Option<Ipv4Addr> {
    let from_segments =
        |high: u16, low: u16| Ipv4Addr::from(u32::from(high) << 16 | u32::from(low));
    match address.segments() {
        _ if address.is_unspecified() => None,
        [0, 0, 0, 0, 0, 0 | 0xffff, high, low] | [0x64, 0xff9b, 0, 0, 0, 0, high, low] => {
            Some(from_segments(high, low))
        }
        [0x2002, high, low, ..] => Some(from_segments(high, low)),
        _ => None,
    }
}

/// Returns the host of the URL for messages.
pub(super) fn name(url: &Url) -> String {
    match url.host() {
        Some(Host::Ipv6(address)) => IpAddr::from(address).to_string(),
        Some(host) => host.to_string(),
        None => String::new(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn hosts_are_classified() {
        let public = "media.example localhost.example notlocalhost 8.8.8.8 172.32.0.1 100.128.0.1 \
                      [2606:4700::1111] [::ffff:8.8.8.8]";
        let loopback = "localhost LOCALHOST. a.localhost 127.0.0.1 127.1 2130706433 0x7f.0.0.1 [::1] \
                        [::ffff:127.0.0.1] [::7f00:1] [64:ff9b::7f00:1] [2002:7f00:1::]";
        let private = "0.0.0.0 10.0.0.1 172.16.0.1 192.168.1.1 169.254.169.254 100.64.0.1 198.18.0.1 \
                       224.0.0.1 255.255.255.255 [::] [::ffff:169.254.169.254] [fc00::1] \
                       [fd12:3456::1] [fe80::1] [fec0::1] [ff02::1] [64:ff9b:1::1]";
        let rows =
            [(public, Network::Public), (loopback, Network::Loopback), (private, Network::Private)];
        for (hosts, expected) in rows {
            for host in hosts.split_whitespace() {
                let url = Url::parse(&format!("https://{host}/a")).unwrap();
                assert_eq!(network(&url), expected, "{host}");
            }
        }
    }
}
