"""Requests go to vetted addresses only, and end in time and bytes, whatever the other side does."""

from __future__ import annotations

import gzip
import json
import random
import socket
import ssl
import subprocess
import sys
import time
from collections.abc import Sequence
from ipaddress import IPv4Address, IPv6Address, ip_address, ip_network
from pathlib import Path
from threading import Thread

import pytest

from tests.unit.egress.forms import forbidden
from tests.unit.egress.receivers import answering, receiver
from triplecast.egress import Egress, EgressRules, is_refused, read_url
from triplecast.egress.addresses import _PRIVATE_4, _SPECIAL_4, _SPECIAL_6
from triplecast.errors import EgressFailed, EgressRefused

HERE = Egress(EgressRules(private=True, ports=frozenset()))
OK = b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi"


@pytest.fixture
def no_connection(monkeypatch: pytest.MonkeyPatch) -> list[object]:
    """Connections that were begun; none is made."""
    begun: list[object] = []

    def connect(_: socket.socket, address: object) -> None:
        begun.append(address)
        raise OSError("not in this test")

    monkeypatch.setattr(socket.socket, "connect", connect)
    return begun


def test_no_form_of_a_forbidden_address_is_connected_to(no_connection: list[object]) -> None:
    urls = forbidden()
    assert len(urls) >= 500
    egress = Egress(resolve=lambda host, _: [host])  # a name that looks like an address means it
    reached = []
    for url in urls:
        try:
            egress.send("GET", url)
        except EgressRefused:
            continue
        except EgressFailed:
            pass
        reached.append(url)
    assert reached == []
    assert no_connection == []


def test_a_name_with_any_forbidden_address_is_refused(no_connection: list[object]) -> None:
    for answers in (["10.0.0.1"], ["93.184.216.34", "127.0.0.1"], ["2606:2800::1", "::1"], ["fe80::1%eth0"], ["x"]):
        with pytest.raises(EgressRefused):
            Egress(resolve=lambda *_, answers=answers: answers).send("GET", "http://example.org/")
    assert no_connection == []


def test_a_name_is_looked_up_once_so_nothing_can_rebind(no_connection: list[object]) -> None:
    asked = []

    def rebind(host: str, _: int) -> Sequence[str]:
        asked.append(host)
        return ["93.184.216.34"] if len(asked) == 1 else ["127.0.0.1"]

    with pytest.raises(EgressFailed):
        Egress(resolve=rebind).send("GET", "http://example.org/")
    assert asked == ["example.org"]
    assert no_connection == [("93.184.216.34", 80)]


def test_the_peer_must_be_the_vetted_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(socket.socket, "connect", lambda *_: None)
    monkeypatch.setattr(socket.socket, "getpeername", lambda _: ("10.0.0.1", 80))
    with pytest.raises(EgressRefused, match="another address"):
        Egress(resolve=lambda *_: ["93.184.216.34"]).send("GET", "http://example.org/")


def test_allowed_addresses_are_global_for_ipaddress_too(seed: int) -> None:
    chance = random.Random(seed)
    edges = [each for network in (*_SPECIAL_4, *_PRIVATE_4, *_SPECIAL_6) for each in (network[0], network[-1])]
    near = [type(each)(int(each) + step) for each in edges for step in (-1, 1) if 0 < int(each) < each._ALL_ONES - 1]
    some = [IPv4Address(chance.getrandbits(32)) for _ in range(5_000)]
    some += [IPv6Address(chance.getrandbits(125) | (1 << 125)) for _ in range(5_000)]
    allowed = [each for each in (*edges, *near, *some) if not is_refused(each)]
    assert [each for each in edges if not is_refused(each)] == []
    assert [each for each in allowed if not each.is_global or each.is_multicast or each.is_reserved] == []
    refused_though_global = [each for each in some if is_refused(each) and each.is_global and each.version == 4]
    networks = [network for network in _SPECIAL_4 if network[0].is_global or network[0].is_multicast]
    assert [each for each in refused_though_global if not any(each in network for network in networks)] == []


def test_private_networks_are_allowed_where_asked_and_nothing_else() -> None:
    allowed = ("127.0.0.1", "10.1.1.1", "192.168.1.1", "::1", "fd12::1", "::ffff:10.0.0.1", "64:ff9b::a00:1")
    never = ("169.254.169.254", "fd00:ec2::254", "0.0.0.0", "224.0.0.1", "fe80::1", "::", "100.64.0.1", "2002:7f00:1::")
    assert [text for text in allowed if is_refused(ip_address(text), private=True)] == []
    assert [text for text in never if not is_refused(ip_address(text), private=True)] == []
    with pytest.raises(EgressRefused, match="never allowed"):
        Egress(EgressRules(private=True)).check("http://169.254.169.254/")
    with pytest.raises(EgressRefused, match="allow private networks"):
        Egress().check("http://127.0.0.1/")
    assert not is_refused(ip_address("::ffff:8.8.8.8"))
    assert not is_refused(ip_address("64:ff9b::808:808"))


def test_a_url_is_read_once_for_host_and_request() -> None:
    target = read_url("HTTP://Example.ORG?a=%20b#part")
    assert (target.host, target.port, target.path, target.authority) == ("example.org", 80, "/?a=%20b", "example.org")
    assert read_url("https://[2606:2800::0:1]:8443/").authority == "[2606:2800::1]:8443"


def test_an_answer_is_whole_and_the_request_is_plain() -> None:
    with receiver(answering(OK)) as there:
        answer = HERE.send("POST", there.url + "?x=1", [("X-Own", "é")], b"body")
    assert (answer.status, answer.body, answer.truncated, answer.header("content-length")) == (200, b"hi", False, "2")
    head, _, body = there.requests[0].partition(b"\r\n\r\n")
    assert head.split(b"\r\n")[0] == b"POST /hook?x=1 HTTP/1.1"
    assert {b"Host: 127.0.0.1:%d" % there.port, b"Content-Length: 4", b"X-Own: \xe9"} <= {*head.split(b"\r\n")}
    assert body == b"body"


def test_a_redirection_is_an_answer() -> None:
    with receiver(answering(b"HTTP/1.1 302 Found\r\nLocation: http://127.0.0.1:1/\r\n\r\n")) as there:
        assert HERE.send("GET", there.url).status == 302
    assert len(there.requests) == 1


def test_the_environment_names_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("http_proxy", "HTTP_PROXY", "all_proxy", "ALL_PROXY"):
        monkeypatch.setenv(name, "http://127.0.0.1:1")
    with receiver(answering(OK)) as there:
        assert HERE.send("GET", there.url).body == b"hi"


@pytest.mark.parametrize(
    "headers", [[("X\r\nY", "1")], [("X", "1\r\nY: 2")], [("Host", "other")], [("Content-Length", "1")], [("X", "€")]]
)
def test_headers_that_could_be_read_otherwise_are_refused(headers: list[tuple[str, str]]) -> None:
    with receiver(answering(OK)) as there, pytest.raises(EgressRefused):
        HERE.send("GET", there.url, headers)
    assert there.requests == []


def trickle(part: bytes, seconds: float):
    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n")
        while True:
            connection.sendall(part)
            time.sleep(seconds)

    return behave


def hang(connection: socket.socket, _: bytes) -> None:
    connection.recv(1)


def reset(connection: socket.socket, _: bytes) -> None:
    connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")


@pytest.mark.parametrize(
    "behave", [trickle(b"X: y\r\n", 0.02), trickle(b"\r\n\r\nx", 0.02), hang], ids=["headers", "body", "silence"]
)
def test_whoever_is_slow_is_left_at_the_deadline(behave) -> None:
    with receiver(behave) as there:
        begun = time.monotonic()
        with pytest.raises(EgressFailed, match="within"):
            HERE.send("GET", there.url, seconds=0.3)
        assert time.monotonic() - begun < 1.5


def test_a_receiver_that_takes_nothing_is_left_at_the_deadline() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listening:
        url = f"http://127.0.0.1:{listening.getsockname()[1]}/"
        with pytest.raises(EgressFailed, match="within"):
            HERE.send("POST", url, body=bytes(32 << 20), seconds=0.3)


def test_a_look_up_that_hangs_is_left_at_the_deadline() -> None:
    with pytest.raises(EgressFailed, match="not found in time"):
        Egress(resolve=lambda *_: time.sleep(5) or []).send("GET", "http://example.org/", seconds=0.1)


@pytest.mark.parametrize(
    "answer",
    [
        b"", b"nonsense\r\n\r\n", b"HTTP/1.1 200 OK\r\nContent-Length: 9\r\n\r\nshort", b"HTTP/1.1 103 Early\r\n\r\n",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n5\r\nab",
        b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\nno gzip at all",
        b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\n\r\n" + gzip.compress(b"x" * 9999, mtime=0)[:30],
        b"HTTP/1.1 200 OK\r\n" + b"X: " + b"y" * 70_000 + b"\r\n\r\n", b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 500,
        b"HTTP/1.1 100 Continue\r\n\r\n" * 50_000,
    ],
)  # fmt: skip
def test_what_is_no_whole_answer_is_a_failure(answer: bytes) -> None:
    with receiver(answering(answer)) as there, pytest.raises(EgressFailed):
        HERE.send("GET", there.url, seconds=5)


def test_a_connection_that_is_reset_or_refused_is_a_failure() -> None:
    with receiver(reset) as there, pytest.raises(EgressFailed):
        HERE.send("GET", there.url)
    with pytest.raises(EgressFailed):
        HERE.send("GET", "http://127.0.0.1:1/")


def test_of_an_endless_answer_the_first_bytes_are_kept() -> None:
    def behave(connection: socket.socket, _: bytes) -> None:
        connection.sendall(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            connection.sendall(b"z" * 65536)

    with receiver(behave) as there:
        answer = HERE.send("GET", there.url, most_bytes=100_000)
    assert (len(answer.body), answer.truncated) == (100_000, True)


def test_a_packed_body_is_unpacked_no_further_than_is_kept() -> None:
    members = gzip.compress(b"one") + gzip.compress(b"two")
    bomb = gzip.compress(bytes(50 << 20))
    for packed, most, expected in ((members, 100, (b"onetwo", False)), (bomb, 10, (bytes(10), True))):
        head = b"HTTP/1.1 200 OK\r\nContent-Encoding: gzip\r\nContent-Length: %d\r\n\r\n" % len(packed)
        with receiver(answering(head + packed)) as there:
            answer = HERE.send("GET", there.url, most_bytes=most)
        assert (answer.body, answer.truncated) == expected


def test_tls_is_for_the_name_at_the_vetted_address(tmp_path: Path) -> None:
    key, certificate = tmp_path / "key.pem", tmp_path / "certificate.pem"
    made = ["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-days", "9", "-subj", "/CN=hook.example"]
    made += ["-addext", "subjectAltName=DNS:hook.example", "-keyout", str(key), "-out", str(certificate)]
    try:
        subprocess.run(made, check=True, capture_output=True)
    except FileNotFoundError:
        pytest.skip("openssl, which makes the certificate, is not on this machine")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    names = []
    context.sni_callback = lambda _, name, __: names.append(name)

    with socket.create_server(("127.0.0.1", 0)) as listening:

        def serve() -> None:
            while True:
                try:
                    connection, _ = listening.accept()
                    with context.wrap_socket(connection, server_side=True) as secure:
                        secure.recv(65536)
                        secure.sendall(OK)
                except OSError:
                    if listening.fileno() < 0:
                        return

        Thread(target=serve, daemon=True).start()
        rules = EgressRules(private=True, ports=frozenset())
        trusting = Egress(rules, lambda *_: ["127.0.0.1"], ssl.create_default_context(cafile=str(certificate)))
        port = listening.getsockname()[1]
        assert trusting.send("GET", f"https://hook.example:{port}/").body == b"hi"
        with pytest.raises(EgressFailed, match=r"(?i)certificate"):
            trusting.send("GET", f"https://other.example:{port}/")
        with pytest.raises(EgressFailed, match=r"(?i)certificate"):
            Egress(rules, lambda *_: ["127.0.0.1"]).send("GET", f"https://hook.example:{port}/")
    assert names[0] == "hook.example"


def test_ports_are_those_that_are_allowed() -> None:
    """A webhook's hint named `poll`, which has nothing to do with it."""
    for rules, option in ((EgressRules(), "--webhook-port"), (EgressRules(option="--source-port"), "--source-port")):
        with pytest.raises(
            EgressRefused, match=f"port 8080 .*; use one of 80, 443, or allow this one by `{option} 8080`"
        ):
            Egress(rules).check("http://example.org:8080/")
    assert Egress(EgressRules(ports=frozenset({8080}))).check("http://example.org:8080/").port == 8080


def test_messages_show_no_secret_of_a_url() -> None:
    with pytest.raises(EgressRefused) as refused:
        Egress().check("http://127.0.0.1/hook/secret?token=secret")
    assert "secret" not in str(refused.value)


def test_forbidden_urls_cause_no_packet() -> None:
    command = ["unshare", "-n", sys.executable, "-m", "tests.unit.egress.packets"]
    done = subprocess.run(command, capture_output=True, text=True)
    if done.returncode != 0 and any(each in done.stderr for each in ("unshare", "RTNETLINK", "'ip'")):
        pytest.skip("no network namespace can be made here")
    counted = json.loads(done.stdout)
    assert {*counted["doors"]} == {"send", "deliver", "poll", "call_back", "publish"}
    for urls, forbidden_packets in counted["doors"].values():
        assert urls >= 500
        assert forbidden_packets == 0
    assert counted["allowed"] > 0


ANOTHER_LIST = (
    "0.0.0.0/8", "10.0.0.0/8", "100.64.0.0/10", "127.0.0.0/8", "168.63.129.16/32", "169.254.0.0/16", "172.16.0.0/12",
    "192.0.0.0/24", "192.0.2.0/24", "192.31.196.0/24", "192.52.193.0/24", "192.88.99.0/24", "192.168.0.0/16",
    "192.175.48.0/24", "198.18.0.0/15", "198.51.100.0/24", "203.0.113.0/24", "224.0.0.0/4", "240.0.0.0/4", "::1/128",
    "::/128", "64:ff9b:1::/48", "100::/64", "100:0:0:1::/64", "2001::/23", "2001:db8::/32", "2002::/16",
    "2620:4f:8000::/48", "3fff::/20", "5f00::/16", "fc00::/7", "fe80::/10", "fec0::/10", "ff00::/8",
)  # fmt: skip
"""What microsoft-antissrf 1.0.0 refuses (`recommended_v1`), but 64:ff9b::/96: there the IPv4 address decides here."""


def test_what_another_library_refuses_is_refused(seed: int) -> None:
    chance = random.Random(seed)
    networks = [ip_network(each) for each in ANOTHER_LIST]
    some = [each[chance.randrange(each.num_addresses)] for each in networks for _ in range(50)]
    assert [each for each in (*some, *(each[0] for each in networks)) if not is_refused(each)] == []
    assert is_refused(IPv6Address("64:ff9b::10.0.0.1"))
    assert not is_refused(IPv6Address("64:ff9b::8.8.8.8"))


def test_a_receiver_keeps_whole_requests_alone() -> None:
    whole = b"POST /hook HTTP/1.1\r\ncontent-length: 2\r\n\r\nhi"
    with receiver(answering(OK)) as hook:
        for sent in (b"", whole[:10], whole[:-3], whole[:-1], whole):
            with socket.create_connection(("127.0.0.1", hook.port), timeout=30) as sender:
                sender.sendall(sent)
                sender.shutdown(socket.SHUT_WR)
                answer = b"".join(iter(lambda: sender.recv(100), b""))
                assert answer == (OK if sent == whole else b"")
        assert hook.requests == [whole]
