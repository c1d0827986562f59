//! Which addresses a webhook may reach. All addresses that its name resolves to are checked, and only those are
//! connected to, so that a later change of the name has no effect.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr, ToSocketAddrs};

use portolan_gates::plugins::is_loopback_name;
use reqwest::Url;

/// The destination of a webhook: its host and the host's addresses.
pub(super) struct WebhookTarget {
    pub(super) host: String,
    pub(super) addresses: Vec<SocketAddr>,
}

/// Resolves and checks the address of a webhook. `allow_private` only permits private networks.
pub(super) async fn look(url: &Url, allow_private: bool) -> Result<WebhookTarget, String> {
    let host = url.host_str().ok_or("its address has no host")?.to_owned();
    if !url.username().is_empty() || url.password().is_some() {
        return Err("its address contains a user name or a password; put them elsewhere".to_owned());
    }
    let is_own = is_loopback_name(&host);
    match url.scheme() {
        "https" => {}
        "http" if is_own => {}
        _ => return Err("its address must begin with `https://`; `http://` is for this machine only".to_owned()),
    }
    let port = url.port_or_known_default().ok_or("its address has no port")?;
    let name = host.trim_start_matches('[').trim_end_matches(']').to_owned();
    let resolved = tokio::task::spawn_blocking(move || {
        (name.as_str(), port).to_socket_addrs().map(|found| found.take(32).collect::<Vec<_>>())
    });
    let resolved = resolved.await.map_err(|error| error.to_string())?;
    let addresses = resolved.map_err(|_| "its host is unknown".to_owned())?;
    if addresses.is_empty() {
        return Err("its host has no address".to_owned());
    }
    // All of them must pass, because the client may connect to any.
    for address in &addresses {
        let ip = address.ip();
        let may = match kind(ip) {
            Kind::Public => true,
            Kind::Loopback => is_own,
            Kind::Private => allow_private,
            Kind::Never => false,
        };
        if !may {
            return Err(format!("its host is at {ip}, which is not a public address"));
        }
    }
    Ok(WebhookTarget { host, addresses })
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Public,
    Loopback,
    /// A private network.
    Private,
    /// Link-local addresses, on which clouds serve their secrets, and addresses that are no host.
    Never,
}

fn kind(ip: IpAddr) -> Kind {
    match ip {
        IpAddr::V4(ip) => kind_of_4(ip),
        IpAddr::V6(ip) => kind_of_6(ip),
    }
}

fn kind_of_4(ip: Ipv4Addr) -> Kind {
    let [a, b, c, _] = ip.octets();
    if ip.is_loopback() {
        return Kind::Loopback;
    }
    // The shared address space of providers counts as private. One cloud has its metadata there, at 100.100.100.200.
    if ip.is_private() || (a == 100 && (64..128).contains(&b)) {
        return if ip == Ipv4Addr::new(100, 100, 100, 200) { Kind::Never } else { Kind::Private };
    }
    let is_special = a == 0
        || ip.is_link_local()
        || (a == 192 && b == 0 && c == 0)
        || (a == 198 && (b & 0xfe) == 18)
        || ip.is_documentation()
        || a >= 224
        || (a == 168 && b == 63 && c == 129);
    if is_special { Kind::Never } else { Kind::Public }
}

fn kind_of_6(ip: Ipv6Addr) -> Kind {
    let part = ip.segments();
    if ip.is_loopback() {
        return Kind::Loopback;
    }
    // IPv6 addresses that contain an IPv4 address: mapped, translated (64:ff9b::/96), 6to4.
    let last = Ipv4Addr::from((u32::from(part[6]) << 16) | u32::from(part[7]));
    if let Some(mapped) = ip.to_ipv4_mapped() {
        return match kind_of_4(mapped) {
            Kind::Loopback => Kind::Never,
            kind => kind,
        };
    }
    if part[..6] == [0x64, 0xff9b, 0, 0, 0, 0] {
        return if kind_of_4(last) == Kind::Public { Kind::Public } else { Kind::Never };
    }
    if part[0] == 0x2002 {
        let inner = Ipv4Addr::from((u32::from(part[1]) << 16) | u32::from(part[2]));
        return if kind_of_4(inner) == Kind::Public { Kind::Public } else { Kind::Never };
    }
    match part[0] {
        _ if ip == Ipv6Addr::new(0xfd00, 0xec2, 0, 0, 0, 0, 0, 0x254) => Kind::Never,
        first if first & 0xfe00 == 0xfc00 => Kind::Private,
        first if first & 0xe000 == 0x2000 && !(first == 0x2001 && part[1] == 0xdb8) => Kind::Public,
        _ => Kind::Never,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_are_told_apart() {
        for (kind_of, ips) in [
            (Kind::Public, &["8.8.8.8", "100.63.0.1", "172.32.0.1", "2606:4700::1", "64:ff9b::808:808"][..]),
            (Kind::Loopback, &["127.0.0.1", "127.9.9.9", "::1"]),
            (Kind::Private, &["10.0.0.1", "172.16.0.1", "192.168.1.1", "100.64.0.1", "fc00::1", "::ffff:10.0.0.1"]),
            (
                Kind::Never,
                &[
                    "169.254.169.254",
                    "168.63.129.16",
                    "100.100.100.200",
                    "0.0.0.0",
                    "255.255.255.255",
                    "224.0.0.1",
                    "192.0.2.1",
                    "198.18.0.1",
                    "::",
                    "fe80::1",
                    "ff02::1",
                    "fd00:ec2::254",
                    "::ffff:169.254.169.254",
                    "::ffff:127.0.0.1",
                    "64:ff9b::a9fe:a9fe",
                    "2002:a9fe:a9fe::1",
                    "::7f00:1",
                ],
            ),
        ] {
            for ip in ips {
                assert_eq!(kind(ip.parse().expect("an address")), kind_of, "{ip}");
            }
        }
    }

    #[tokio::test]
    async fn a_webhook_leads_to_public_hosts_or_to_this_machine_by_its_own_name() {
        for (url, private, may) in [
            ("https://8.8.8.8/x", false, true),
            ("http://8.8.8.8/x", false, false),
            ("http://127.0.0.1:9/x", false, true),
            ("http://localhost:9/x", false, true),
            ("https://[::1]/x", false, true),
            ("https://10.0.0.1/x", false, false),
            ("https://10.0.0.1/x", true, true),
            ("http://10.0.0.1/x", true, false),
            ("https://169.254.169.254/latest", true, false),
            ("https://2852039166/latest", true, false),
            ("https://0x7f.1/x", false, true),
            ("https://user:pass@8.8.8.8/", false, false),
            ("file:///etc/passwd", true, false),
            ("ftp://8.8.8.8/", true, false),
        ] {
            let url = Url::parse(url).expect("an address");
            assert_eq!(look(&url, private).await.is_ok(), may, "{url}");
        }
    }
}
