"""The one guarded door to web pages. Nothing else in Lumina fetches an address that a person,
a model, a search engine or a page has named.

What it promises
- only http and https, no name or password in the address, ports 80 and 443;
- a host is resolved at the moment of connecting, every address that it resolves to is checked, and
  the connection goes to a checked address: there is no second look-up that could answer otherwise;
- private, loopback, link-local, shared (CGNAT), multicast, reserved, documentation and unspecified
  addresses are refused, and every IPv6 form that carries an IPv4 address inside, and the usual
  names and addresses of cloud metadata services;
- each redirect is a new address with the same checks, five at the most;
- size is counted on decoded bytes while they arrive, and one clock runs over everything;
- no cookies, no referrer, no proxy from the environment, no retry.

What it does not cover
- hosts in the list of allowed hosts are exempt from the checks of address and port, also when a
  public page redirects to them or a model names them: list only what anyone may read;
- a service of your own that answers on a public address is a public page;
- a router that forwards public addresses inwards (hairpin or tunnel routes, ISATAP);
- a page that is dangerous to a person who opens it, or that tells the model what to do: page text
  is untrusted, whoever uses it must quote it as data;
- a parser that hangs: extraction runs in a thread that is given up after its time, not killed;
- a slow name server: a look-up that is given up still ends in its own thread.
"""

from chat.providers.fetch.reader import GuardedReader

__all__ = ["GuardedReader"]
