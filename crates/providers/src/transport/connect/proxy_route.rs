//! Decides whether an origin is reached directly or through a proxy.

use std::net::IpAddr;

use http::{HeaderValue, Uri};
use hyper_util::client::proxy::matcher::{Intercept, Matcher};
use secrecy::SecretString;

use crate::transport::Proxies;

/// The route to one origin.
#[derive(Clone, Debug)]
pub(crate) enum ProxyRoute {
    /// Without a proxy.
    Direct,
    /// A forward proxy that receives requests in absolute form (plain HTTP only;
    /// RFC 9112, section 3.2.2).
    Forward {
        proxy: Uri,
        authorization: Option<HeaderValue>,
    },
    /// A CONNECT tunnel (RFC 9110, section 9.3.6).
    Tunnel {
        proxy: Uri,
        authorization: Option<HeaderValue>,
    },
    /// A SOCKS 5 proxy (RFC 1928).
    Socks {
        proxy: Uri,
        local_dns: bool,
        login: Option<(String, SecretString)>,
    },
}

pub(crate) struct ProxyRoutes(Option<Matcher>);

impl ProxyRoutes {
    pub(crate) fn new(proxies: &Proxies) -> Self {
        Self(match proxies {
            Proxies::Environment => Some(Matcher::from_env()),
            Proxies::Direct => None,
            Proxies::Fixed { proxy, no_proxy } => {
                let matcher = Matcher::builder().all(proxy.as_str()).no(no_proxy.as_str());
                Some(matcher.build())
            }
        })
    }

    pub(crate) fn to(&self, uri: &Uri) -> ProxyRoute {
        let host = uri.host().unwrap_or_default();
        let matcher = self.0.as_ref().filter(|_| !is_loopback(host));
        match matcher.and_then(|matcher| matcher.intercept(uri)) {
            None => ProxyRoute::Direct,
            Some(intercept) => via_proxy(&intercept, uri),
        }
    }
}

fn via_proxy(intercept: &Intercept, uri: &Uri) -> ProxyRoute {
    let proxy = intercept.uri().clone();
    let authorization = intercept.basic_auth().cloned();
    let scheme = proxy.scheme_str().unwrap_or("http");
    if scheme.starts_with("socks") {
        let login = intercept.raw_auth();
        return ProxyRoute::Socks {
            local_dns: scheme == "socks5",
            login: login.map(|(user, password)| (user.to_owned(), password.to_owned().into())),
            proxy,
        };
    }
    if uri.scheme_str() == Some("https") {
        ProxyRoute::Tunnel {
            proxy,
            authorization,
        }
    } else {
        ProxyRoute::Forward {
            proxy,
            authorization,
        }
    }
}

fn is_loopback(host: &str) -> bool {
    let bare = host.trim_start_matches('[').trim_end_matches(']');
    host.eq_ignore_ascii_case("localhost")
        || bare.parse::<IpAddr>().is_ok_and(|ip| ip.is_loopback())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn name(route: &ProxyRoute) -> &'static str {
        match route {
            ProxyRoute::Direct => "direct",
            ProxyRoute::Forward { .. } => "forward",
            ProxyRoute::Tunnel { .. } => "tunnel",
            ProxyRoute::Socks { .. } => "socks",
        }
    }

    #[test]
    fn the_route_depends_on_the_proxy_the_scheme_and_no_proxy() {
        let rows = [
            ("http://proxy:3128", "https://api.example", "tunnel"),
            ("http://proxy:3128", "http://api.example", "forward"),
            ("https://proxy", "https://api.example", "tunnel"),
            ("socks5h://proxy:1080", "https://api.example", "socks"),
            ("socks5://proxy:1080", "http://api.example", "socks"),
            ("http://proxy:3128", "https://inside.example", "direct"),
            ("http://proxy:3128", "https://deep.inside.example", "direct"),
            ("http://proxy:3128", "http://10.1.2.3:8000", "direct"),
            ("http://proxy:3128", "http://localhost:11434", "direct"),
            ("http://proxy:3128", "http://127.0.0.1:11434", "direct"),
            ("http://proxy:3128", "http://[::1]:11434", "direct"),
            ("", "https://api.example", "direct"),
        ];
        for (proxy, uri, expected) in rows {
            let routes = ProxyRoutes::new(&Proxies::Fixed {
                proxy: proxy.to_owned(),
                no_proxy: "inside.example,10.0.0.0/8".to_owned(),
            });
            let route = routes.to(&uri.parse().unwrap());
            assert_eq!(name(&route), expected, "{uri} via {proxy:?}");
        }
    }

    #[test]
    fn debug_output_hides_the_proxy_password() {
        for proxy in ["http://me:CANARY@proxy", "socks5://me:CANARY@proxy"] {
            let routes = ProxyRoutes::new(&Proxies::Fixed {
                proxy: proxy.to_owned(),
                no_proxy: String::new(),
            });
            let route = routes.to(&Uri::from_static("https://api.example"));
            assert!(!format!("{route:?}").contains("CANARY"), "{route:?}");
        }
    }
}
